package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/internal/remote/remotetest"
)

// A download that is cut again and again goes on where it was.
func TestPullCut(t *testing.T) {
	size, cuts := 40<<20, 5
	if !testing.Short() {
		size, cuts = 200<<20, 20
	}
	s := remotetest.StartBuiltin(t, remotetest.Options{})
	p := remotetest.StartProxy(t, s, 0)
	src, dst := t.TempDir(), t.TempDir()
	files := map[string][]byte{"big": content(1, size), "a": []byte("a"), "d/b": content(2, 1<<20)}
	list := tree(t, src, files)
	for i := range cuts + 1 {
		c := near(dial(t, s, p))
		if i < cuts {
			p.CutAfter(int64(size / (cuts + 2)))
		}
		err := c.Pull(within(t, time.Minute), Pull{Dir: src, Files: list, Dest: dst})
		_ = c.Close()
		if i < cuts && err == nil {
			t.Fatalf("pull %d was not cut", i)
		}
		if i < cuts && !errors.Is(err, c.Err()) {
			t.Fatalf("pull %d: %v, connection: %v", i, err, c.Err())
		}
		if i == cuts && err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(filepath.Join(dst, "big")); i < cuts && err == nil {
			t.Fatal("an incomplete file under its final name")
		}
	}
	same(t, dst, files)
	if sent := p.Down(); float64(sent) > 1.3*float64(size) {
		t.Errorf("%d bytes sent for %d", sent, size)
	}
}

// An upload that is cut does not send again what is there, compressed or not.
func TestPushCut(t *testing.T) {
	for _, test := range []struct {
		zipped, whole bool
		of            func(seed uint64, size int) []byte
		step, most    int64 // bytes until a cut; in all
	}{
		{false, true, content, 15 << 20, 52 << 20},
		{false, false, content, 15 << 20, math.MaxInt64},
		{true, true, remotetest.Text, 5 << 20, 18 << 20},
		{true, false, remotetest.Text, 5 << 20, math.MaxInt64},
	} {
		s := remotetest.StartBuiltin(t, remotetest.Options{})
		p := remotetest.StartProxy(t, s, 0)
		src, dst := t.TempDir(), t.TempDir()
		files := map[string][]byte{"big": test.of(1, 40<<20), "a": []byte("a"), "d/b": test.of(2, 1<<20)}
		list := tree(t, src, files)
		for i := range 3 {
			c := near(dial(t, s, p))
			if _, err := c.findTools(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.tools.whole = test.whole
			if test.zipped {
				slow(c)
			}
			limit := p.Up() + test.step
			open := func(f File) (io.ReadSeekCloser, error) {
				r, err := os.Open(filepath.Join(src, f.Path))
				return &cutter{File: r, cut: func() {
					if i < 2 && p.Up() > limit {
						p.Cut()
					}
				}}, err
			}
			err := c.Push(within(t, time.Minute), Push{Dir: dst, Staging: dst + "/.s", Files: list, Open: open})
			_ = c.Close()
			if (err == nil) != (i == 2) {
				t.Fatalf("push %d: %v", i, err)
			}
			if _, err := os.Lstat(filepath.Join(dst, "a")); i < 2 && err == nil {
				t.Fatal("files in their places before all are verified")
			}
		}
		same(t, dst, files)
		if sent := p.Up(); sent > test.most {
			t.Errorf("%d bytes sent", sent)
		}
	}
}

type cutter struct {
	*os.File
	cut func()
}

func (c *cutter) Read(p []byte) (int, error) { c.cut(); return c.File.Read(p) }

// What lies in the staging directory is checked again.
func TestPullRechecks(t *testing.T) {
	s := remotetest.StartBuiltin(t, remotetest.Options{})
	src, dst := t.TempDir(), t.TempDir()
	files := map[string][]byte{"a": []byte("aaaa"), "b": []byte("bbbb"), "c": content(1, 12<<20), "x/y": []byte("y")}
	list := tree(t, src, files)
	c := dial(t, s, nil)
	pull := Pull{Dir: src, Files: list, Dest: dst}
	if err := c.Pull(within(t, time.Minute), pull); err != nil {
		t.Fatal(err)
	}
	put(t, dst, "a", []byte("aaab"), false)
	flip(t, filepath.Join(dst, "c"), 11<<20)
	outside := filepath.Join(t.TempDir(), "outside")
	put(t, filepath.Dir(outside), "outside", []byte("bbbb"), false)
	replaceByLink(t, filepath.Join(dst, "b"), outside)
	_ = os.RemoveAll(filepath.Join(dst, "x"))
	if err := c.Pull(within(t, time.Minute), pull); err != nil {
		t.Fatal(err)
	}
	same(t, dst, files)
	if info, err := os.Lstat(filepath.Join(dst, "b")); err != nil || !info.Mode().IsRegular() {
		t.Error("the link is still there")
	}
}

// A name of our own on the machine is no reason to refuse a file.
func TestPullOfTakenNames(t *testing.T) {
	s := remotetest.StartBuiltin(t, remotetest.Options{})
	for _, files := range []map[string][]byte{
		{partsDir: []byte("a"), "big": content(1, 12<<20)},
		{partsDir + "/x": content(1, 12<<20), partsDir + "_": []byte("a"), "b": []byte("b")},
	} {
		src, dst := t.TempDir(), t.TempDir()
		list := tree(t, src, files)
		if err := dial(t, s, nil).Pull(within(t, time.Minute), Pull{Dir: src, Files: list, Dest: dst}); err != nil {
			t.Fatal(err)
		}
		same(t, dst, files)
	}
}

// A partial file that was changed here is fetched anew, and no more than that.
func TestPullWrongPart(t *testing.T) {
	s := remotetest.StartBuiltin(t, remotetest.Options{})
	p := remotetest.StartProxy(t, s, 0)
	src, dst := t.TempDir(), t.TempDir()
	files := map[string][]byte{"big": content(1, 30<<20)}
	list := tree(t, src, files)
	c := dial(t, s, p)
	p.CutAfter(20 << 20)
	if err := c.Pull(within(t, time.Minute), Pull{Dir: src, Files: list, Dest: dst}); err == nil {
		t.Fatal("not cut")
	}
	parts, _ := filepath.Glob(filepath.Join(dst, partsDir, "*"))
	changed := false
	for _, part := range parts {
		if !strings.HasSuffix(part, ".have") {
			flip(t, part, 1000)
			changed = true
		}
	}
	if !changed {
		t.Fatal("no partial file")
	}
	c = dial(t, s, nil)
	if err := c.Pull(within(t, time.Minute), Pull{Dir: src, Files: list, Dest: dst}); err != nil {
		t.Fatal(err)
	}
	same(t, dst, files)
}

// Files that differ from the list are errors that name them.
func TestPullMismatch(t *testing.T) {
	s := remotetest.StartSSHD(t, remotetest.Options{})
	for _, size := range []int{100, 12 << 20} {
		for name, change := range map[string]func(t *testing.T, file string){
			"flipped":   func(t *testing.T, file string) { flip(t, file, 50) },
			"shorter":   func(t *testing.T, file string) { must(t, os.Truncate(file, int64(size-1))) },
			"longer":    func(t *testing.T, file string) { must(t, os.WriteFile(file, content(2, size+1), 0o600)) },
			"missing":   func(t *testing.T, file string) { must(t, os.Remove(file)) },
			"directory": func(t *testing.T, file string) { must(t, os.Remove(file)); must(t, os.Mkdir(file, 0o700)) },
			"link":      func(t *testing.T, file string) { replaceByLink(t, file, "/etc/passwd") },
		} {
			t.Run(name, func(t *testing.T) {
				src, dst := t.TempDir(), t.TempDir()
				list := []File{put(t, src, "d/model.bin", content(1, size), false)}
				change(t, filepath.Join(src, "d/model.bin"))
				err := dial(t, s, nil).Pull(within(t, time.Minute), Pull{Dir: src, Files: list, Dest: dst})
				var verify *VerifyError
				if !errors.As(err, &verify) || verify.Path != "d/model.bin" {
					t.Errorf("size %d: %v", size, err)
				}
				if _, err := os.Lstat(filepath.Join(dst, "d/model.bin")); err == nil {
					t.Errorf("size %d: something under the final name", size)
				}
			})
		}
	}
}

func TestPullMissingDirectory(t *testing.T) {
	c := dial(t, remotetest.StartBuiltin(t, remotetest.Options{}), nil)
	list := []File{put(t, t.TempDir(), "f", []byte("x"), false)}
	err := c.Pull(t.Context(), Pull{Dir: "/no/such place", Files: list, Dest: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "/no/such place") {
		t.Error(err)
	}
}

// Hard links are files like others.
func TestPullHardLinks(t *testing.T) {
	c := dial(t, remotetest.StartSSHD(t, remotetest.Options{}), nil)
	src, dst := t.TempDir(), t.TempDir()
	files := map[string][]byte{"a": []byte("same"), "b": []byte("same"), "c": {}, "d": {}}
	list := tree(t, src, files)
	for _, pair := range [][2]string{{"a", "b"}, {"c", "d"}} {
		must(t, os.Remove(filepath.Join(src, pair[1])))
		must(t, os.Link(filepath.Join(src, pair[0]), filepath.Join(src, pair[1])))
	}
	if err := c.Pull(within(t, time.Minute), Pull{Dir: src, Files: list, Dest: dst}); err != nil {
		t.Fatal(err)
	}
	same(t, dst, files)
}

func TestPushMismatch(t *testing.T) {
	s := remotetest.StartBuiltin(t, remotetest.Options{})
	for _, size := range []int{100, 12 << 20} {
		for name, reader := range map[string]func([]byte) []byte{
			"flipped": func(b []byte) []byte { b = bytes.Clone(b); b[50] ^= 1; return b },
			"shorter": func(b []byte) []byte { return b[:len(b)-1] },
		} {
			t.Run(name, func(t *testing.T) {
				dst := lingering(t)
				data := content(1, size)
				list := []File{put(t, t.TempDir(), "d/model.bin", data, false)}
				err := dial(t, s, nil).Push(within(t, time.Minute), Push{
					Dir: dst, Staging: dst + "/.s", Files: list,
					Open: func(File) (io.ReadSeekCloser, error) { return nopCloser{bytes.NewReader(reader(data))}, nil },
				})
				var verify *VerifyError
				if !errors.As(err, &verify) || verify.Path != "d/model.bin" {
					t.Errorf("size %d: %v", size, err)
				}
				if _, err := os.Lstat(filepath.Join(dst, "d")); err == nil {
					t.Errorf("size %d: something under the final name", size)
				}
			})
		}
	}
}

type nopCloser struct{ io.ReadSeeker }

func (nopCloser) Close() error { return nil }

// A line on which nothing moves ends the transfer, and the next one goes on.
func TestStall(t *testing.T) {
	s := remotetest.StartBuiltin(t, remotetest.Options{})
	const size = 40 << 20
	src := t.TempDir()
	files := map[string][]byte{"big": content(1, size)}
	list := tree(t, src, files)
	transfers := map[string]func(c *Client, dst string, progress Progress) error{
		"pull": func(c *Client, dst string, progress Progress) error {
			return c.Pull(within(t, time.Minute), Pull{Dir: src, Files: list, Dest: dst, Progress: progress, Stall: time.Second})
		},
		"push": func(c *Client, dst string, progress Progress) error {
			return c.Push(within(t, time.Minute), Push{Dir: dst, Staging: dst + "/.s", Files: list, Open: opener(src),
				Progress: progress, Stall: time.Second})
		},
	}
	for name, transfer := range transfers {
		t.Run(name, func(t *testing.T) {
			p := remotetest.StartProxy(t, s, 0)
			dst := t.TempDir()
			done := make(chan struct{})
			go func() {
				for p.Up()+p.Down() < size/2 {
					select {
					case <-done:
						return
					case <-time.After(time.Millisecond):
					}
				}
				p.Freeze()
			}()
			c := dial(t, s, p)
			err := transfer(c, dst, nil)
			close(done)
			var stall *StallError
			if !errors.As(err, &stall) || stall.Total != size || stall.Done <= 0 || stall.Done >= size {
				t.Fatalf("%v", err)
			}
			_ = c.Close()
			var first atomic.Int64
			first.Store(-1)
			err = transfer(dial(t, s, nil), dst, func(done, _ int64, _ float64) { first.CompareAndSwap(-1, done) })
			if err != nil {
				t.Fatal(err)
			}
			same(t, dst, files)
		})
	}
}

func TestTransferCancelled(t *testing.T) {
	s := remotetest.StartBuiltin(t, remotetest.Options{})
	src, dst := t.TempDir(), t.TempDir()
	list := []File{put(t, src, "big", content(1, 30<<20), false)}
	c := dial(t, s, nil)
	ctx, cancel := context.WithCancel(t.Context())
	err := c.Push(ctx, Push{Dir: dst, Staging: dst + "/.s", Files: list, Open: func(f File) (io.ReadSeekCloser, error) {
		cancel()
		return opener(src)(f)
	}})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if c.Err() != nil {
		t.Errorf("the connection ended: %v", c.Err())
	}
}

func TestMissingTools(t *testing.T) {
	for _, test := range []struct {
		without []string
		want    string
	}{
		{[]string{"tar"}, "tar"},
		{[]string{"sha256sum"}, "openssl, python3 or sha256sum"},
	} {
		path := remotetest.Busybox(t, test.without...)
		c := dial(t, remotetest.StartBuiltin(t, remotetest.Options{Path: path}), nil)
		src := t.TempDir()
		list := []File{put(t, src, "f", []byte("x"), false)}
		err := c.Push(t.Context(), Push{Dir: t.TempDir(), Staging: t.TempDir(), Files: list, Open: opener(src)})
		var missing *MissingToolError
		if !errors.As(err, &missing) || missing.Tool != test.want {
			t.Errorf("without %v: %v", test.without, err)
		}
		switch err = c.Pull(t.Context(), Pull{Dir: src, Files: list, Dest: t.TempDir()}); {
		case test.want != "tar" && err != nil: // a download needs no digest there
			t.Errorf("download without %v: %v", test.without, err)
		case test.want == "tar" && (!errors.As(err, &missing) || missing.Tool != test.want):
			t.Errorf("download without %v: %v", test.without, err)
		}
	}
}

func TestPathsRefused(t *testing.T) {
	c := dial(t, remotetest.StartBuiltin(t, remotetest.Options{}), nil)
	for _, path := range []string{"", ".", "..", "/etc/passwd", "../x", "a/../b", "a//b", "./a", "a/", "a\x00b"} {
		list := []File{{Path: path, SHA256: emptyDigest}}
		dst := t.TempDir()
		if err := c.Pull(t.Context(), Pull{Dir: "/", Files: list, Dest: dst}); err == nil {
			t.Errorf("pull of %q", path)
		}
		if err := c.Push(t.Context(), Push{Dir: dst, Staging: dst + "/s", Files: list}); err == nil {
			t.Errorf("push of %q", path)
		}
	}
	for _, staging := range []string{"", "/", ".", "/a", "/a/b", "/a/b/../b"} {
		if err := c.Push(t.Context(), Push{Dir: "/a/b", Staging: staging}); err == nil {
			t.Errorf("staging in %q", staging)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func flip(t *testing.T, file string, at int) {
	t.Helper()
	data, err := os.ReadFile(file)
	must(t, err)
	data[at] ^= 1
	must(t, os.WriteFile(file, data, 0o600))
}

func replaceByLink(t *testing.T, file, target string) {
	t.Helper()
	must(t, os.Remove(file))
	must(t, os.Symlink(target, file))
}

// A download ahead of its digests tells what came, goes on under the same key, and
// begins nothing once it is not wanted.
func TestPullAhead(t *testing.T) {
	s := remotetest.StartBuiltin(t, remotetest.Options{})
	p := remotetest.StartProxy(t, s, 0)
	src, dst := t.TempDir(), t.TempDir()
	files := map[string][]byte{"big": content(1, 30<<20), "small": []byte("a")}
	list := tree(t, src, files)
	var mu sync.Mutex
	var came map[string]string
	until := make(chan struct{})
	pull := Pull{Dir: src, Dest: dst, Keys: map[string]string{"big": "30 1", "small": "1 1"}, Ahead: &Ahead{Until: until, Arrived: func(f File) {
		mu.Lock()
		defer mu.Unlock()
		came[f.Path] = f.SHA256
	}}}
	for _, f := range list {
		f.SHA256 = ""
		pull.Files = append(pull.Files, f)
	}
	try := func() error {
		came = map[string]string{}
		c := near(dial(t, s, p))
		defer c.Close()
		return c.Pull(within(t, time.Minute), pull)
	}
	p.CutAfter(15 << 20)
	if err := try(); err == nil {
		t.Fatal("it was not cut")
	}
	if err := try(); err != nil {
		t.Fatal(err)
	}
	same(t, dst, files)
	for _, f := range list {
		if got, told := came[f.Path]; told && got != f.SHA256 || !told && f.Path == "big" {
			t.Errorf("%s came as %q", f.Path, got)
		}
	}
	if sent := p.Down(); float64(sent) > 1.3*30*(1<<20) {
		t.Errorf("%d bytes sent", sent)
	}
	// The same key goes on with what is not the same content any more.
	dst = t.TempDir()
	pull.Dest = dst
	p.CutAfter(15 << 20)
	if err := try(); err == nil {
		t.Fatal("it was not cut")
	}
	pull.Files, pull.Ahead = tree(t, src, map[string][]byte{"big": content(2, 30<<20)}), nil
	if err := try(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dst, "big")); err != nil || !bytes.Equal(got, content(2, 30<<20)) {
		t.Errorf("mixed content, %v", err)
	}
	close(until)
	dst = t.TempDir()
	pull.Dest, pull.Ahead = dst, &Ahead{Until: until, Arrived: func(f File) { t.Errorf("%s came", f.Path) }}
	if err := try(); err != nil {
		t.Fatal(err)
	}
	same(t, dst, nil)
}
