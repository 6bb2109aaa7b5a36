package remote

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/internal/remote/remotetest"
)

// load is a set of files that a benchmark moves.
type load struct {
	name  string
	count int
	size  int
	delay time.Duration // each way
}

func loads() []load {
	return []load{
		{"small", 10_000, 4 << 10, 0},
		{"mid", 200, 5 << 20, 0},
		{"big", 1, 2 << 30, 0},
		{"half", 1, 512 << 20, 0},
		{"farbig", 1, 256 << 20, 25 * time.Millisecond},
		{"farsmall", 200, 4 << 10, 25 * time.Millisecond},
	}
}

// make writes the files of a load, in directories of a hundred, without
// leaving a heap behind that a client would not have.
func (l load) make(b *testing.B) (dir string, files []File) {
	b.Helper()
	dir = b.TempDir()
	chunk := content(1, min(l.size, 1<<20))
	for i := range l.count {
		name := fmt.Sprintf("d%02d/file-%05d.bin", i/100, i)
		files = append(files, put(b, dir, name, nil, false))
		out, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			b.Fatal(err)
		}
		h := newHash()
		for n := 0; n < l.size; n += len(chunk) {
			chunk[0], chunk[1] = byte(i), byte(i>>8)
			h.Write(chunk)
			if _, err := out.Write(chunk); err != nil {
				b.Fatal(err)
			}
		}
		if err := out.Close(); err != nil {
			b.Fatal(err)
		}
		files[i].Size, files[i].SHA256 = int64(l.size), h.hex()
	}
	debug.FreeOSMemory()
	return dir, files
}

// BenchmarkTransfer measures this package beside OpenSSH's programs on the same
// files and the same server. Ratios are what counts.
func BenchmarkTransfer(b *testing.B) {
	for _, l := range loads() {
		b.Run(l.name, func(b *testing.B) {
			s := remotetest.StartSSHD(b, remotetest.Options{})
			dir, files := l.make(b)
			port := s.Port
			var proxy *remotetest.Proxy
			if l.delay > 0 {
				proxy = remotetest.StartProxy(b, s, l.delay)
				port = proxy.Port
			}
			peers(b, l, s, port, dir)
			c := dial(b, s, proxy)
			b.Run("up/ours", func(b *testing.B) {
				l.measure(b, func(target string) error {
					return c.Push(context.Background(), Push{Dir: target, Staging: target + "/.staging", Files: files, Open: opener(dir)})
				})
			})
			b.Run("down/ours", func(b *testing.B) {
				l.measure(b, func(target string) error {
					return c.Pull(context.Background(), Pull{Dir: dir, Files: files, Dest: target})
				})
			})
		})
	}
}

// measure runs a transfer into a new directory each time.
func (l load) measure(b *testing.B, transfer func(target string) error) {
	b.SetBytes(int64(l.count) * int64(l.size))
	base := b.TempDir()
	for i := range b.N {
		target := filepath.Join(base, fmt.Sprint(i))
		if err := transfer(target); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		_ = os.RemoveAll(target)
		b.StartTimer()
	}
}

// peers measures OpenSSH's programs.
func peers(b *testing.B, l load, s *remotetest.Server, port int, dir string) {
	args := s.SSHArgs(port)
	ssh := "ssh " + Quote(append(args, "-o", "Ciphers=aes128-gcm@openssh.com", s.Host)...)
	scp := "scp -q -r " + Quote(args...)
	remote := Quote(s.Host + ":")
	programs := map[string]string{
		"up/scp":   scp + " SRC/. " + remote + "DST",
		"down/scp": scp + " " + remote + "SRC/. DST",
		"up/tar":   "tar -C SRC -cf - . | " + ssh + " 'tar -C DST -xf -'",
		"down/tar": ssh + " 'tar -C SRC -cf - .' | tar -C DST -xf -",
	}
	if l.count == 1 {
		programs["up/cat"] = ssh + " 'cat > DST/f' < SRC/d00/file-00000.bin"
		programs["down/cat"] = ssh + " 'cat SRC/d00/file-00000.bin' > DST/f"
		programs["hash/openssl"] = "openssl dgst -sha256 SRC/d00/file-00000.bin"
		programs["hash/sha256sum"] = "sha256sum SRC/d00/file-00000.bin"
	}
	if _, err := exec.LookPath("rsync"); err == nil {
		rsh := Quote("ssh " + Quote(args...))
		programs["up/rsync"] = "rsync -r -e " + rsh + " SRC/ " + remote + "DST"
		programs["down/rsync"] = "rsync -r -e " + rsh + " " + remote + "SRC/ DST"
	}
	for name, program := range programs {
		b.Run(name, func(b *testing.B) {
			l.measure(b, func(target string) error {
				if err := os.MkdirAll(target, 0o755); err != nil {
					return err
				}
				line := strings.NewReplacer("SRC", dir, "DST", target).Replace(program)
				if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
					return fmt.Errorf("%w: %s", err, out)
				}
				return nil
			})
		})
	}
}
