package remotetest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/overbrainer/overbrainer/internal/remote/sshd"
)

// StartSSHD starts the system's OpenSSH server, with fresh keys, for the user
// who runs the test. It ends with the test.
func StartSSHD(t T, o Options) *Server {
	t.Helper()
	path := "/usr/sbin/sshd"
	if _, err := os.Stat(path); err != nil {
		Need(t, "sshd")
		path, _ = exec.LookPath("sshd")
	}
	dir := t.TempDir()
	host := Key(t, filepath.Join(dir, "host"))
	s := &Server{Host: "127.0.0.1", Port: freePort(t), User: currentUser(t), HostKey: host.PublicKey()}
	s.clientFiles(t, dir)
	keys := filepath.Join(dir, "authorized_keys")
	writeFile(t, keys, string(ssh.MarshalAuthorizedKey(s.Signer.PublicKey())))
	if o.Path == "" {
		o.Path = os.Getenv("PATH")
	}
	config := filepath.Join(dir, "sshd_config")
	writeFile(t, config, fmt.Sprintf(`ListenAddress 127.0.0.1:%d
HostKey %s
AuthorizedKeysFile %s
PidFile none
StrictModes no
UsePAM no
UseDNS no
PasswordAuthentication no
KbdInteractiveAuthentication no
PrintMotd no
PermitRootLogin yes
MaxStartups 100
Subsystem sftp internal-sftp
SetEnv PATH=%s HOME=%s
`, s.Port, filepath.Join(dir, "host"), keys, o.Path, dir))
	if os.Getuid() == 0 {
		// Where the server drops its privileges; packages make it at boot.
		_ = os.MkdirAll("/run/sshd", 0o755)
	}
	var log lockedBuffer
	cmd := exec.Command(path, "-D", "-e", "-f", config)
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("sshd:\n%s", log.String())
		}
	})
	s.await(t, &log)
	return s
}

// StartBuiltin starts the project's own SSH server. It ends with the test.
func StartBuiltin(t T, o Options) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := Key(t, "")
	s := &Server{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, User: "root", HostKey: host.PublicKey()}
	s.clientFiles(t, t.TempDir())
	if o.Path == "" {
		o.Path = os.Getenv("PATH")
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- sshd.Serve(ctx, sshd.Config{
			Listener: l, HostKey: host,
			AuthorizedKeys: ssh.MarshalAuthorizedKey(s.Signer.PublicKey()),
			Env:            []string{"PATH=" + o.Path, "HOME=/", "LANG=C"},
			Dir:            t.TempDir(), Shell: o.Shell,
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return s
}

// clientFiles makes the client's key, also for OpenSSH's programs.
func (s *Server) clientFiles(t T, dir string) {
	s.KeyFile = filepath.Join(dir, "client")
	s.Signer = Key(t, s.KeyFile)
	s.KnownHosts = filepath.Join(dir, "known_hosts")
	writeFile(t, s.KnownHosts, "pinned "+string(ssh.MarshalAuthorizedKey(s.HostKey)))
}

// SSHArgs are the options with which ssh and scp reach the server, or a proxy
// before it at the given port (0: the server itself).
func (s *Server) SSHArgs(port int) []string {
	if port == 0 {
		port = s.Port
	}
	return []string{"-F", "none", "-o", "Port=" + strconv.Itoa(port), "-o", "User=" + s.User,
		"-o", "IdentityFile=" + s.KeyFile, "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none",
		"-o", "UserKnownHostsFile=" + s.KnownHosts, "-o", "GlobalKnownHostsFile=none",
		"-o", "HostKeyAlias=pinned", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR"}
}

// await waits until the server answers.
func (s *Server) await(t T, log *lockedBuffer) {
	t.Helper()
	addr := net.JoinHostPort(s.Host, strconv.Itoa(s.Port))
	limit := time.Now().Add(10 * time.Second)
	for {
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			_ = conn.SetDeadline(limit)
			head := make([]byte, 4)
			_, err = conn.Read(head)
			_ = conn.Close()
			if err == nil {
				return
			}
		}
		if time.Now().After(limit) {
			t.Fatalf("sshd does not answer: %v\n%s", err, log.String())
		}
		<-time.After(5 * time.Millisecond)
	}
}

func freePort(t T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func writeFile(t T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// lockedBuffer is a buffer that a program writes and a test reads.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
