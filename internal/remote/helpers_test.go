package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/internal/remote/remotetest"
)

func config(s *remotetest.Server) Config {
	return Config{Host: s.Host, Port: s.Port, User: s.User, Signer: s.Signer, HostKey: s.HostKey}
}

func dial(t testing.TB, s *remotetest.Server, p *remotetest.Proxy) *Client {
	t.Helper()
	cfg := config(s)
	if p != nil {
		cfg.Port = p.Port
	}
	c, err := Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// servers runs a test against each kind of server and shell.
func servers(t *testing.T, test func(t *testing.T, s *remotetest.Server)) {
	t.Run("openssh", func(t *testing.T) { test(t, remotetest.StartSSHD(t, remotetest.Options{})) })
	t.Run("builtin", func(t *testing.T) { test(t, remotetest.StartBuiltin(t, remotetest.Options{})) })
	t.Run("busybox", func(t *testing.T) {
		path := remotetest.Busybox(t)
		test(t, remotetest.StartBuiltin(t, remotetest.Options{Path: path, Shell: filepath.Join(path, "sh")}))
	})
}

// lingering gives a directory in which the server may still write for a moment
// after a transfer has failed.
func lingering(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "lingering")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for end := time.Now().Add(10 * time.Second); os.RemoveAll(dir) != nil; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Errorf("%s is still written to", dir)
				return
			}
		}
	})
	return dir
}

// content is random bytes, the same for the same seed.
func content(seed uint64, size int) []byte {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(b)
	return b
}

// tree writes files into a directory and returns their list.
func tree(t testing.TB, dir string, files map[string][]byte) []File {
	t.Helper()
	var list []File
	for name, data := range files {
		list = append(list, put(t, dir, name, data, false))
	}
	return list
}

func put(t testing.TB, dir, name string, data []byte, exec bool) File {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	perm := os.FileMode(0o644)
	if exec {
		perm = 0o755
	}
	if err := os.WriteFile(file, data, perm); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return File{Path: name, Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:]), Exec: exec}
}

// same checks that a directory holds the files, and leftovers of nothing.
func same(t testing.TB, dir string, files map[string][]byte) {
	t.Helper()
	for name, data := range files {
		got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, data) {
			t.Errorf("%q: %d bytes differ from %d", name, len(got), len(data))
		}
	}
	count := 0
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			count++
		}
		return nil
	})
	if count != len(files) {
		t.Errorf("%d files instead of %d", count, len(files))
	}
}

func opener(dir string) func(File) (io.ReadSeekCloser, error) {
	return func(f File) (io.ReadSeekCloser, error) { return os.Open(filepath.Join(dir, f.Path)) }
}

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// strange are files with names that shells, tar and hash programs stumble
// over, and sizes around the bounds.
func strange() map[string][]byte {
	files := map[string][]byte{
		"plain.txt": []byte("plain\n"), "empty": {}, "-rf": []byte("dash"), "--help": []byte("dashes"),
		"with space": []byte("1"), "with  two": []byte("2"), "quote'": []byte("3"), `double"`: []byte("4"),
		"line\nbreak": []byte("5"), `back\slash`: []byte("6"), `\`: []byte("7"), "carriage\rreturn": []byte("8"),
		"$HOME": []byte("9"), "`id`": []byte("10"), "*": []byte("11"), "tab\t": []byte("12"), "ümlaut": []byte("13"),
		"latin\xff1": []byte("14"), "dir/.hidden": []byte("15"), ".dot/x": []byte("16"), "...": []byte("17"),
		"a/b/c/d/e": []byte("18"), "dir\n2/-x": []byte("19"), "@list": []byte("20"), "trailing ": []byte("21"),
		"file .have": []byte("22"), "h": []byte("23"),
		"small.bin": content(1, 300_000), "edge.bin": content(2, smallFile), "large.bin": content(3, smallFile+1),
		"dir/large 'too'\n.bin": content(4, smallFile+blockSize+5), "block.bin": content(5, 9<<20),
	}
	if testing.Short() {
		delete(files, "edge.bin")
		delete(files, "block.bin")
	}
	long := "long/"
	for range 30 {
		long += "0123456789/"
	}
	files[long+"end"] = []byte("far down")
	return files
}

func writeScript(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// near makes a client believe that the machine is near, however busy both are.
func near(c *Client) *Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.distance = time.Nanosecond
	return c
}
