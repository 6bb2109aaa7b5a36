package apply

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/overbrainer/overbrainer/internal/safetext"
)

// However a log comes in pieces, and whoever goes on with it after each of them:
// every line is told once and whole, what is kept is the same, and no secret is in
// it, not where a poll ends within one nor where a line is too long.
func TestTailInPieces(t *testing.T) {
	const secret = "sk-Fq83nvLw0aXz"
	const block = "-----BEGIN PRIVATE KEY-----" // what takes all that is behind it along
	words := strings.Repeat("word ", maxLogLine/5-1)
	log := "first\n" + block + "\n\nkey " + secret + " refused\n 10%\r 20%\r 30%\n" +
		words + secret + " and on\n" + // cut within the secret if anywhere
		strings.Repeat("x", maxLogLine+10) + "\nlast without an end"
	masked := strings.NewReplacer(secret, safetext.Mask, block, safetext.Mask).Replace(log)
	lines := []string{
		"first", "***", "", "key *** refused", " 30%", words, "*** and on",
		strings.Repeat("x", maxLogLine), strings.Repeat("x", 10), "last without an end",
	}
	for _, size := range []int{1, 7, 4 << 10, maxLogLine - 1, maxLogLine, maxLogLine + 1, len(log)} {
		for _, anew := range []bool{false, true} {
			if anew && size < maxLogLine { // a line may be that long, and is read from its beginning
				continue
			}
			t.Run(fmt.Sprintf("%d bytes, another follower each time %v", size, anew), func(t *testing.T) {
				dir := t.TempDir()
				redact := safetext.NewRedactor(secret)
				var told []string
				line := func(s string) { told = append(told, s) }
				open := func(shown int64) *tail {
					f, err := openTail(dir, "pod", "", redact, false)
					if err != nil {
						t.Fatal(err)
					}
					f.shown = shown
					return f
				}
				follower := open(0)
				for at := 0; at < len(log); {
					if anew {
						follower.close()
						follower = open(int64(at - len(follower.pending)))
						at = int(follower.next.Log)
					}
					n := size
					if at > 100 {
						n = max(size, 4<<10)
					}
					part := []byte(log[at:min(len(log), at+n)])
					at += len(part)
					follower.take(Poll{Log: part, Next: Offsets{Log: int64(at)}}, line, nil)
					for i := range part {
						part[i] = '#' // the next poll takes the same place
					}
				}
				follower.flush(line)
				follower.close()
				if got, want := strings.Join(told, "|"), strings.Join(lines, "|"); got != want {
					t.Errorf("told %d lines:\n%s", len(told), firstDifference(got, want))
				}
				kept, err := os.ReadFile(filepath.Join(dir, jobLog))
				if err != nil || string(kept) != masked {
					t.Errorf("kept: %v\n%s", err, firstDifference(string(kept), masked))
				}
			})
		}
	}
}

// firstDifference shows where two long texts part.
func firstDifference(got, want string) string {
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	from := max(0, at-20)
	return fmt.Sprintf("at %d: got %q, want %q", at, safetext.Cut(got[from:], 60), safetext.Cut(want[from:], 60))
}

// A log that pours costs its own lines and next to nothing else.
func TestTailAllocates(t *testing.T) {
	f, err := openTail(t.TempDir(), "pod", "", safetext.NewRedactor("a-secret-that-is-known-here"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	data := bytes.Repeat([]byte("epoch 12 batch 3456/9000: loss=0.12345 tokens=512, and so on for eighty bytes.\n"), 1<<20/80)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const polls = 8
	for n := range int64(polls) {
		f.take(Poll{Log: data[:len(data)-10], Next: Offsets{Log: (n + 1) * int64(len(data))}}, func(string) {}, nil)
	}
	runtime.ReadMemStats(&after)
	if took, most := after.TotalAlloc-before.TotalAlloc, uint64(polls*len(data)*13/10); took > most {
		t.Errorf("%d polls of %d bytes took %d bytes of memory, more than %d", polls, len(data), took, most)
	}
}
