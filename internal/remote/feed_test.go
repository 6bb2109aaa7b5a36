package remote

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/overbrainer/overbrainer/internal/remote/remotetest"
)

// slow makes a client believe that its line is slow, whatever it measures.
func slow(c *Client) *Client {
	c.pace.mu.Lock()
	defer c.pace.mu.Unlock()
	c.pace.slow, c.pace.head = true, math.MinInt64
	return c
}

// texts are small and large files that shrink.
func texts(large, small, count int) map[string][]byte {
	files := map[string][]byte{}
	if large > 0 {
		files["large.jsonl"] = remotetest.Text(1, large)
	}
	for i := range count {
		files[fmt.Sprintf("d%d/%d.jsonl", i%3, i)] = remotetest.Text(uint64(i+2), small)
	}
	return files
}

func sizeOf(files map[string][]byte) (sum int64) {
	for _, data := range files {
		sum += int64(len(data))
	}
	return sum
}

// pushed uploads files through a proxy and tells how many bytes went through it.
func pushed(t *testing.T, c *Client, p *remotetest.Proxy, files map[string][]byte) int64 {
	t.Helper()
	src, dst := t.TempDir(), t.TempDir()
	var done, total int64
	before := p.Up()
	must(t, c.Push(within(t, time.Minute), Push{Dir: dst, Staging: dst + "/.s", Files: tree(t, src, files), Open: opener(src),
		Progress: func(d, n int64, _ float64) { done, total = d, n }}))
	same(t, dst, files)
	if done != total || total != sizeOf(files) {
		t.Errorf("progress ended at %d of %d", done, total)
	}
	return p.Up() - before
}

// An upload over a slow line begins as it is and goes on compressed.
func TestPushOverSlowLine(t *testing.T) {
	servers(t, func(t *testing.T, s *remotetest.Server) {
		p := remotetest.StartProxy(t, s, 0)
		p.Limit(10e6)
		c := near(dial(t, s, p))
		files := texts(24<<20, 100<<10, 40)
		if sent := pushed(t, c, p, files); float64(sent) > 0.75*float64(sizeOf(files)) {
			t.Errorf("%d bytes sent for %d", sent, sizeOf(files))
		}
		files = texts(0, 100<<10, 40) // the connection knows its line by now
		if sent := pushed(t, c, p, files); float64(sent) > 0.5*float64(sizeOf(files)) {
			t.Errorf("%d bytes of small files sent for %d", sent, sizeOf(files))
		}
	})
}

// A machine far away with many small files: the first batches are small.
func TestPushOfSmallFilesOverSlowLine(t *testing.T) {
	s := remotetest.StartSSHD(t, remotetest.Options{})
	p := remotetest.StartProxy(t, s, 20*time.Millisecond)
	p.Limit(10e6)
	files := texts(0, 640<<10, 60)
	if sent := pushed(t, dial(t, s, p), p, files); float64(sent) > 0.6*float64(sizeOf(files)) {
		t.Errorf("%d bytes sent for %d", sent, sizeOf(files))
	}
}

// A line that carries more than it pays for carries files as they are.
func TestPushOverFastLine(t *testing.T) {
	s := remotetest.StartSSHD(t, remotetest.Options{})
	p := remotetest.StartProxy(t, s, 0)
	files := texts(24<<20, 100<<10, 40)
	c := near(dial(t, s, p))
	if sent := pushed(t, c, p, files); sent < sizeOf(files) && !c.pace.isSlow() {
		t.Errorf("%d bytes sent for %d", sent, sizeOf(files))
	}
}

// Where it does not pay, or the machine cannot unpack, files travel as they are.
func TestPushAsItIs(t *testing.T) {
	noise := map[string][]byte{"large.bin": content(1, 10<<20), "small.bin": content(2, 1<<20), "empty": {}}
	broken := remotetest.Busybox(t, "gzip")
	writeScript(t, filepath.Join(broken, "gzip"), "#!/bin/sh\nexit 1\n")
	noting, notes := remotetest.Busybox(t, "gzip"), filepath.Join(t.TempDir(), "notes")
	writeScript(t, filepath.Join(noting, "gzip"), "#!/bin/sh\necho >>"+notes+"\nexec gunzip -c\n")
	for name, test := range map[string]struct {
		path  string
		files map[string][]byte
	}{
		"random":      {noting, noise},
		"no gzip":     {remotetest.Busybox(t, "gzip"), texts(10<<20, 1<<20, 1)},
		"broken gzip": {broken, texts(10<<20, 1<<20, 1)},
		"nothing":     {noting, map[string][]byte{"empty": {}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := remotetest.StartBuiltin(t, remotetest.Options{Path: test.path})
			p := remotetest.StartProxy(t, s, 0)
			if sent := pushed(t, slow(dial(t, s, p)), p, test.files); sent < sizeOf(test.files) {
				t.Errorf("%d bytes sent for %d", sent, sizeOf(test.files))
			}
		})
	}
	// Once for each connection it was looked whether there is one.
	if used, err := os.ReadFile(notes); err != nil || len(used) != 2 {
		t.Errorf("gzip was started %d times for two uploads: %v", len(used), err)
	}
}

// Names and sizes of all kinds travel compressed as well.
func TestPushCompressed(t *testing.T) {
	servers(t, func(t *testing.T, s *remotetest.Server) {
		files := strange()
		for i, name := range []string{"large.bin", "dir/large 'too'\n.bin", "small.bin", "block.bin"} {
			if old, ok := files[name]; ok {
				files[name] = remotetest.Text(uint64(i), len(old))
			}
		}
		p := remotetest.StartProxy(t, s, 0)
		if sent := pushed(t, slow(dial(t, s, p)), p, files); sent >= sizeOf(files) {
			t.Errorf("%d bytes sent for %d", sent, sizeOf(files))
		}
	})
}

// A line may change while a file is on its way: its pieces go one way or the other.
func TestPushChangesItsWay(t *testing.T) {
	for _, whole := range []bool{true, false} {
		s := remotetest.StartBuiltin(t, remotetest.Options{})
		src, dst := t.TempDir(), t.TempDir()
		files := texts(20<<20, 0, 0)
		c := slow(dial(t, s, nil))
		_, err := c.findTools(t.Context())
		must(t, err)
		c.tools.whole = whole
		reads := 0
		push := Push{Dir: dst, Staging: dst + "/.s", Files: tree(t, src, files), Open: func(f File) (io.ReadSeekCloser, error) {
			r, err := os.Open(filepath.Join(src, f.Path))
			return &cutter{File: r, cut: func() {
				if reads++; reads%80 == 0 {
					c.pace.mu.Lock()
					c.pace.slow = !c.pace.slow
					c.pace.mu.Unlock()
				}
			}}, err
		}}
		near(c)
		must(t, c.Push(within(t, time.Minute), push))
		same(t, dst, files)
		if reads < 640 {
			t.Errorf("%d reads", reads)
		}
	}
}

// What comes out of the machine's gzip is what is verified.
func TestPushVerifiesWhatWasUnpacked(t *testing.T) {
	for name, gzip := range map[string]string{
		"changed":  `gunzip -c | tr q Q`,
		"cut":      `gunzip -c | head -c 500000`,
		"more":     `gunzip -c; echo more`,
		"much":     `gunzip -c; head -c 50000000 /dev/zero`,
		"in front": `echo more; gunzip -c`,
	} {
		for _, files := range []map[string][]byte{texts(9<<20, 0, 0), texts(0, 1<<20, 2)} {
			t.Run(fmt.Sprintf("%s, %d files", name, len(files)), func(t *testing.T) {
				path := remotetest.Busybox(t, "gzip")
				writeScript(t, filepath.Join(path, "gzip"), "#!/bin/sh\n"+gzip+"\n")
				c := slow(dial(t, remotetest.StartBuiltin(t, remotetest.Options{Path: path}), nil))
				_, err := c.findTools(t.Context())
				must(t, err)
				c.tools.gzip = true
				src, dst := t.TempDir(), lingering(t)
				err = c.Push(within(t, time.Minute), Push{Dir: dst, Staging: dst + "/.s", Files: tree(t, src, files), Open: opener(src)})
				if err == nil {
					same(t, dst, files)
					return
				}
				var verify *VerifyError
				if name == "changed" && !errors.As(err, &verify) {
					t.Errorf("%v", err)
				}
				for file := range files {
					if _, err := os.Lstat(filepath.Join(dst, file)); err == nil {
						t.Errorf("%s is in its place", file)
					}
				}
			})
		}
	}
}

// Nothing moves on a frozen line, however much the compressor still takes in.
func TestStallCompressed(t *testing.T) {
	s := remotetest.StartBuiltin(t, remotetest.Options{})
	p := remotetest.StartProxy(t, s, 0)
	src, dst := t.TempDir(), lingering(t)
	list := tree(t, src, texts(40<<20, 0, 0))
	frozen := func(d, _ int64, _ float64) {
		if d > 0 {
			p.Freeze()
		}
	}
	err := slow(dial(t, s, p)).Push(within(t, time.Minute), Push{Dir: dst, Staging: dst + "/.s", Files: list, Open: opener(src),
		Progress: frozen, Stall: time.Second})
	var stall *StallError
	if !errors.As(err, &stall) || stall.Done <= 0 || stall.Done >= stall.Total {
		t.Fatalf("%v", err)
	}
}

// sink is a channel that takes everything.
type sink struct {
	ssh.Channel
	bytes.Buffer
}

func (s *sink) Write(b []byte) (int, error) { return s.Buffer.Write(b) }
func (s *sink) Read(b []byte) (int, error)  { return s.Buffer.Read(b) }
func (s *sink) CloseWrite() error           { return nil }

// Claimed are bytes of files that are behind all that may still be under way.
func TestFeedClaims(t *testing.T) {
	noise, zeros := content(1, 6<<20), make([]byte, 40<<20)
	for name, test := range map[string]struct {
		data         []byte
		zipped       bool
		least, most  int64
		leastSent    int
		beyondBuffer bool
	}{
		"as it is":         {data: noise, least: 3 << 20, most: 4<<20 - blockSize, leastSent: 6 << 20},
		"noise":            {data: noise, zipped: true, least: 3 << 20, most: 4<<20 - blockSize, leastSent: 6 << 20},
		"zeros":            {data: zeros, zipped: true},
		"noise then zeros": {data: append(noise[:3<<20:3<<20], zeros...), zipped: true, least: 1 << 19, most: 3 << 20, leastSent: 3 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			answered, out := make(chan struct{}), &sink{}
			close(answered)
			p := &process{Channel: out, answered: answered}
			m := &meter{total: int64(len(test.data))}
			f := newFeed(&upload{c: &Client{}, meter: m}, p, test.zipped)
			_, err := io.CopyBuffer(onlyWriter{f}, onlyReader{bytes.NewReader(test.data)}, make([]byte, hashBuffer))
			must(t, err)
			must(t, f.end())
			if done := m.done.Load(); done != f.claimed || done < test.least || done > test.most {
				t.Errorf("%d claimed, of %d that went out as %d", done, len(test.data), out.Len())
			}
			if out.Len() < test.leastSent {
				t.Errorf("%d bytes went out", out.Len())
			}
			r := io.Reader(out)
			if test.zipped {
				r, err = gzip.NewReader(r)
				must(t, err)
			}
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, test.data) {
				t.Errorf("%d of %d bytes come out: %v", len(got), len(test.data), err)
			}
		})
	}
}

// The sample is of all of the bytes, not of the beginnings of files.
func TestShrink(t *testing.T) {
	text, noise := remotetest.Text(1, 4<<20), content(1, 4<<20)
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for name, test := range map[string]struct {
		files map[string][]byte
		want  bool
	}{
		"text":                  {map[string][]byte{"a": text}, true},
		"noise":                 {map[string][]byte{"a": noise}, false},
		"noise with a header":   {map[string][]byte{"a": join(text[:100_000], noise)}, false},
		"text behind a picture": {map[string][]byte{"a": join(noise[:300_000], text)}, true},
		"many small texts":      {texts(0, 5000, 50), true},
		"texts and one picture": {map[string][]byte{"a": text[:5000], "b": text[:5000], "c": text[:7000], "d": noise}, false},
		"pictures and one text": {map[string][]byte{"a": noise[:5000], "b": noise[:6000], "c": text, "d": noise[:7000]}, true},
		"a few bytes":           {map[string][]byte{"a": []byte("abc")}, false},
		"nothing":               {map[string][]byte{"a": {}, "b": {}}, false},
		"empty ones and a text": {map[string][]byte{"a": {}, "b": text, "c": {}}, true},
	} {
		dir := t.TempDir()
		u := &upload{Push: Push{Open: opener(dir)}}
		if got := u.shrink(tree(t, dir, test.files)); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// Where the machine is far each channel begins with a small batch; elsewhere, without
// gzip or with little to send batches are as large as pays. None leaves out a file.
func TestFirstBatches(t *testing.T) {
	var files []File
	for i := range 400 {
		files = append(files, File{Path: fmt.Sprint(i), Size: 256 << 10})
	}
	const channels = 7
	for name, test := range map[string]struct {
		files []File
		far   bool
		gzip  bool
		small int // batches of at most 2 MiB at the beginning
	}{
		"far":         {files, true, true, channels},
		"near":        {files, false, true, 0},
		"no gzip":     {files, true, false, 0},
		"few files":   {files[:20], true, true, 5},
		"a large one": {[]File{{Path: "a", Size: smallFile}}, true, true, 0},
	} {
		u := &upload{tools: &toolbox{gzip: test.gzip}}
		var all []File
		small, counting := 0, true
		for _, batch := range u.batches(test.files, channels, test.far) {
			sum := int64(0)
			for _, f := range batch {
				sum += f.Size
			}
			if counting = counting && sum <= 2<<20; counting {
				small++
			}
			all = append(all, batch...)
		}
		if small != test.small || !slices.Equal(all, test.files) {
			t.Errorf("%s: %d small batches, %d of %d files", name, small, len(all), len(test.files))
		}
	}
}
