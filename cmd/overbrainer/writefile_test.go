//go:build unix

package main

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestReplaceFileWritesWhereAPathLeads: what a path is stays what it is, and what
// it leads to has the text.
func TestReplaceFileWritesWhereAPathLeads(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, dir string){
		"new file": func(*testing.T, string) {},
		"file":     func(t *testing.T, dir string) { put(t, dir, "path") },
		"link":     func(t *testing.T, dir string) { put(t, dir, "other/real"); link(t, "other/real", dir, "path") },
		"link to a link": func(t *testing.T, dir string) {
			put(t, dir, "real")
			link(t, "real", dir, "next")
			link(t, "next", dir, "path")
		},
		"dangling link": func(t *testing.T, dir string) { put(t, dir, "other/x"); link(t, "other/real", dir, "path") },
		"second name": func(t *testing.T, dir string) {
			put(t, dir, "real")
			if err := os.Link(filepath.Join(dir, "real"), filepath.Join(dir, "path")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		dir := t.TempDir()
		prepare(t, dir)
		path := filepath.Join(dir, "path")
		before, _ := os.Lstat(path)
		if err := replaceFile(path, []byte("text"), 0o640); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		after, err := os.Lstat(path)
		if err != nil || before != nil && after.Mode() != before.Mode() {
			t.Errorf("%s: it is %v now, %v", name, after.Mode(), err)
		}
		for _, file := range []string{"path", "real", "other/real"} {
			if data, err := os.ReadFile(filepath.Join(dir, file)); err == nil && string(data) != "text" {
				t.Errorf("%s: %s holds %q", name, file, data)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*", ".overbrainer-*")); len(left) > 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
}

// TestReplaceFileFeedsAPipe and leaves it there.
func TestReplaceFileFeedsAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string, 1)
	go func() {
		f, err := os.Open(path)
		if err != nil {
			read <- err.Error()
			return
		}
		defer f.Close()
		data, _ := io.ReadAll(f)
		read <- string(data)
	}()
	if err := replaceFile(path, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Fatalf("the pipe is replaced: %v, %v", info, err)
	}
	if got := <-read; got != "text" {
		t.Errorf("%q came", got)
	}
}

// TestReplaceFileRefusesADirectory with what it is, not with a rename's words.
func TestReplaceFileRefusesADirectory(t *testing.T) {
	if err := reason(replaceFile(t.TempDir(), []byte("text"), 0o644)); err != syscall.EISDIR {
		t.Errorf("%v", err)
	}
}

func put(t *testing.T, dir, name string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, dir, name string) {
	t.Helper()
	if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}
