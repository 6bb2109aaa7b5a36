package apply

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// repeated gives text again and again, n bytes in all.
type repeated struct {
	text string
	n    int64
	most int // asked for at once
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.n <= 0 {
		return 0, io.EOF
	}
	r.most = max(r.most, len(p))
	n := 0
	for n < len(p) && r.n > 0 {
		k := copy(p[n:min(len(p), n+int(min(r.n, 1<<30)))], r.text)
		n, r.n = n+k, r.n-int64(k)
	}
	return n, nil
}

// TestMaskingIsBounded: however long a log or a line of it is, it is looked at in
// pieces, and a secret between two of them is masked.
func TestMaskingIsBounded(t *testing.T) {
	const secret = "hunter2"
	for _, text := range []string{"all is well\n", "all is well ", "x"} {
		most := 0
		log := &repeated{text: text, n: 32 << 20}
		lines, err := maskLines(io.Discard, log, func(s string) string {
			most = max(most, len(s))
			return s
		})
		if err != nil || lines != 0 || most > maxMasked+8<<10 || log.most > maxMasked {
			t.Errorf("%q: %d masked, %d bytes at once, %d read, %v", text, lines, most, log.most, err)
		}
	}
	mask := func(s string) string { return strings.ReplaceAll(s, secret, "***") }
	for _, tt := range []struct {
		in, want string
		lines    int
	}{
		{"", "", 0},
		{"a\n\nb", "a\n\nb", 0},
		{"a hunter2 hunter2\nb\nhunter2", "a *** ***\nb\n***", 2},
		{strings.Repeat("x", maxMasked-4) + " hunter2\nhunter2\n", strings.Repeat("x", maxMasked-4) + " ***\n***\n", 2},
		{strings.Repeat("word ", maxMasked) + "hunter2", strings.Repeat("word ", maxMasked) + "***", 1},
	} {
		var out bytes.Buffer
		if lines, err := maskLines(&out, strings.NewReader(tt.in), mask); err != nil || lines != tt.lines || out.String() != tt.want {
			t.Errorf("%.20q: %d lines, %d bytes of %d, %v", tt.in, lines, out.Len(), len(tt.want), err)
		}
	}
}

// TestMaskedLogIsTold: that the log here is not the one on the pod, and its digest
// is that of what is here.
func TestMaskedLogIsTold(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.job.log = "begins\nAPI_KEY=sk-proj-0123456789abcdefghijklmnop\nends\n"
		w.apply(oneRun(spec()), Options{})
		run := w.run("run.train")
		path := filepath.Join(w.dir, run.Dir, "job.log")
		text, err := os.ReadFile(path)
		if err != nil || strings.Contains(string(text), "0123456789") || !strings.Contains(string(text), "begins\n") {
			t.Errorf("%q %v", text, err)
		}
		if !w.said(EventRetrieved, "verified, in "+run.Dir+"; 1 line of job.log masked") {
			t.Error("it was not told")
		}
	})
}

// TestNotFetchedIsNotSaidToBeThere: of a run whose results wait on its pod.
func TestNotFetchedIsNotSaidToBeThere(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.boot = func(_ int, p *fakePod) { p.collect = func(int) error { return ErrNoSpace } }
		w.apply(oneRun(spec()), Options{})
		n := 0
		for _, e := range w.events {
			if e.Kind == EventEnded {
				n++
				if e.Dir != "" || !strings.Contains(e.Message, "could not be fetched") {
					t.Errorf("%+v", e)
				}
			}
		}
		if n != 1 {
			t.Errorf("it ended %d times", n)
		}
	})
}
