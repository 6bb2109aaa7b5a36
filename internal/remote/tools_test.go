package remote

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/internal/remote/remotetest"
)

// Each hash program will do, also with names that it would write differently.
func TestHashTools(t *testing.T) {
	for _, tool := range []string{"openssl", "python3", "sha256sum"} {
		t.Run(tool, func(t *testing.T) {
			remotetest.Need(t, tool)
			path := remotetest.Busybox(t, "sha256sum", "openssl")
			program, err := exec.LookPath(tool)
			must(t, err)
			if tool == "python3" { // the one on PATH may be a script that needs more
				out, err := exec.Command(tool, "-c", "import sys; print(sys.executable)").Output()
				must(t, err)
				program = strings.TrimSpace(string(out))
			}
			must(t, os.Symlink(program, filepath.Join(path, tool)))
			if tool == "openssl" { // a python3 that has no OpenSSL
				must(t, os.WriteFile(filepath.Join(path, "python3"), []byte("#!/bin/sh\nexit 1\n"), 0o755))
			}
			c := dial(t, remotetest.StartBuiltin(t, remotetest.Options{Path: path}), nil)
			box, err := c.findTools(t.Context())
			must(t, err)
			if !strings.Contains(box.hash, tool) {
				t.Fatalf("found %s", box.hash)
			}
			src, dst := t.TempDir(), t.TempDir()
			files := map[string][]byte{"a b": []byte("1"), "line\nbreak": []byte("2"), `back\slash`: []byte("3"), "-x": {},
				"large": content(1, worthPython+1)}
			list := tree(t, src, files)
			push := Push{Dir: dst, Staging: filepath.Join(dst, ".s"), Files: list, Open: opener(src)}
			for range 2 {
				must(t, c.Push(within(t, time.Minute), push))
				same(t, dst, files)
			}
		})
	}
}

// Several tars unpack into one directory at once, and GNU tar fails where another
// one makes it first: it is there before any of them begins.
func TestPushMakesDirectoriesFirst(t *testing.T) {
	path := remotetest.Busybox(t, "tar")
	tar, err := exec.LookPath("tar")
	must(t, err)
	script := fmt.Sprintf("#!/bin/sh\n[ -d \"it's a/b\" ] || exit 9\nexec %s \"$@\"\n", tar)
	must(t, os.WriteFile(filepath.Join(path, "tar"), []byte(script), 0o755))
	c := dial(t, remotetest.StartBuiltin(t, remotetest.Options{Path: path}), nil)
	src, dst := t.TempDir(), t.TempDir()
	files := map[string][]byte{"it's a/b/c": []byte("1"), "d": []byte("2")}
	must(t, c.Push(within(t, time.Minute), Push{Dir: dst, Staging: filepath.Join(dst, ".s"), Files: tree(t, src, files), Open: opener(src)}))
	same(t, dst, files)
}
