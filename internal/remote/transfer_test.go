package remote

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/internal/remote/remotetest"
)

func TestPull(t *testing.T) {
	servers(t, func(t *testing.T, s *remotetest.Server) {
		src, dst := t.TempDir(), filepath.Join(t.TempDir(), "new", "dest")
		files := strange()
		list := tree(t, src, files)
		files["run.sh"] = []byte("#!/bin/sh\n")
		list = append(list, put(t, src, "run.sh", files["run.sh"], true))
		put(t, src, "unlisted", []byte("x"), false)
		// A link that is listed stands for what it leads to.
		large := content(11, smallFile*2)
		small := put(t, src, "elsewhere/small", []byte("behind a link"), false)
		big := put(t, src, "elsewhere/large", large, false)
		for link, target := range map[string]string{"to-small": "elsewhere/small", "to-large": "elsewhere/large", "to-dir": "elsewhere"} {
			if err := os.Symlink(target, filepath.Join(src, link)); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"to-small", "to-dir/small", "to-large", "to-dir/large"} {
			f := small
			files[name] = []byte("behind a link")
			if strings.HasSuffix(name, "large") {
				f, files[name] = big, large
			}
			f.Path = name
			list = append(list, f)
		}
		c := dial(t, s, nil)
		var done, total int64
		err := c.Pull(within(t, time.Minute), Pull{Dir: src, Files: list, Dest: dst,
			Progress: func(d, n int64, _ float64) { done, total = d, n }})
		if err != nil {
			t.Fatal(err)
		}
		same(t, dst, files)
		if done != total || total == 0 {
			t.Errorf("progress ended at %d of %d", done, total)
		}
		isExec(t, filepath.Join(dst, "run.sh"), true)
		isExec(t, filepath.Join(dst, "plain.txt"), false)
		for _, name := range []string{"to-small", "to-dir", "to-large"} {
			if info, err := os.Lstat(filepath.Join(dst, name)); err != nil || info.Mode()&os.ModeSymlink != 0 {
				t.Errorf("%s: %v %v", name, info, err)
			}
		}
	})
}

// TestPullOfWhatGrows: where a file may have grown since it was listed, what it
// held then comes; where not, it is not what was listed.
func TestPullOfWhatGrows(t *testing.T) {
	servers(t, func(t *testing.T, s *remotetest.Server) {
		src := t.TempDir()
		list := []File{put(t, src, "log", []byte("line\n"), false), put(t, src, "x", []byte("x"), false)}
		put(t, src, "log", []byte("line\nanother\n"), false)
		c := dial(t, s, nil)
		dst := t.TempDir()
		if err := c.Pull(within(t, time.Minute), Pull{Dir: src, Files: list, Dest: dst, Grows: func(name string) bool { return name == "log" }}); err != nil {
			t.Fatal(err)
		}
		same(t, dst, map[string][]byte{"log": []byte("line\n"), "x": []byte("x")})
		var wrong *VerifyError
		if err := c.Pull(within(t, time.Minute), Pull{Dir: src, Files: list, Dest: t.TempDir()}); !errors.As(err, &wrong) || wrong.Path != "log" {
			t.Errorf("%v", err)
		}
	})
}

func TestPush(t *testing.T) {
	servers(t, func(t *testing.T, s *remotetest.Server) {
		src, dst := t.TempDir(), filepath.Join(t.TempDir(), "run dir's", "x")
		files := strange()
		list := tree(t, src, files)
		files["run.sh"], files["big.sh"] = []byte("#!/bin/sh\n"), content(9, smallFile*2)
		list = append(list, put(t, src, "run.sh", files["run.sh"], true), put(t, src, "big.sh", files["big.sh"], true))
		c := dial(t, s, nil)
		var done, total int64
		push := Push{Dir: dst, Staging: dst + "/.staging", Files: list, Open: opener(src),
			Progress: func(d, n int64, _ float64) { done, total = d, n }}
		for range 2 { // the second finds everything in its place
			if err := c.Push(within(t, time.Minute), push); err != nil {
				t.Fatal(err)
			}
			same(t, dst, files)
			if done != total || total == 0 {
				t.Errorf("progress ended at %d of %d", done, total)
			}
		}
		isExec(t, filepath.Join(dst, "run.sh"), true)
		isExec(t, filepath.Join(dst, "big.sh"), true)
		isExec(t, filepath.Join(dst, "plain.txt"), false)
		if _, err := os.Lstat(dst + "/.staging"); err == nil {
			t.Error("the staging directory is still there")
		}
	})
}

// TestPushIntoFilledDirectory: new directories come beside those that are there,
// of which nothing else is touched.
func TestPushIntoFilledDirectory(t *testing.T) {
	servers(t, func(t *testing.T, s *remotetest.Server) {
		src, dst := t.TempDir(), t.TempDir()
		files := map[string][]byte{"a/x": []byte("new"), "a/in/y": []byte("1"), "a/in 2/z": []byte("2"), "-b'/c/d": []byte("3"), "e/f": []byte("4")}
		list := tree(t, src, files)
		files["a/kept"], files["a/in 2/kept"] = []byte("old"), []byte("old")
		put(t, dst, "a/kept", files["a/kept"], false)
		put(t, dst, "a/in 2/kept", files["a/in 2/kept"], false)
		put(t, dst, "a/x", []byte("replaced"), false)
		push := Push{Dir: dst, Staging: dst + "/.staging", Files: list, Open: opener(src)}
		if err := dial(t, s, nil).Push(within(t, time.Minute), push); err != nil {
			t.Fatal(err)
		}
		same(t, dst, files)
	})
}

func isExec(t *testing.T, file string, want bool) {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode()&0o111 != 0; got != want {
		t.Errorf("%s has mode %s", file, info.Mode())
	}
}
