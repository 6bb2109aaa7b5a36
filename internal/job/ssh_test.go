package job

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/internal/remote"
	"golang.org/x/crypto/ssh"
)

// content is a local file of an upload.
type content struct{ *bytes.Reader }

func (content) Close() error { return nil }

// newKey makes a key: for a client, its line, its private part as a host gets it.
func newKey(t *testing.T) (signer ssh.Signer, line, private string) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if signer, err = ssh.NewSignerFromKey(key); err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	line = strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
	return signer, line, base64.StdEncoding.EncodeToString(pem.EncodeToMemory(block))
}

// The whole protocol over the sshd that the bootstrap starts.
func TestOverSSH(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the system's sshd serves other users only as root")
	}
	need(t, "sshd")
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()

	p := newPod(t, machine{name: "bash", sh: need(t, "bash"), path: os.Getenv("PATH")})
	client, clientLine, _ := newKey(t)
	host, hostLine, private := newKey(t)
	p.spec.AuthorizedKey, p.spec.Claim, p.spec.HostKeyPlaceholder = clientLine, hostLine, private
	p.env["OVERBRAINER_SSHD"] = ""
	p.env["OVERBRAINER_SSHD_PORT"] = strconv.Itoa(port)
	p.start()
	p.ready()
	t.Cleanup(func() {
		text, _ := os.ReadFile(filepath.Join(p.root, "run/overbrainer-sshd.pid"))
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			if proc, err := os.FindProcess(pid); err == nil {
				_ = proc.Kill()
			}
		}
	})
	conn, err := remote.Dial(t.Context(), remote.Config{
		Host: "127.0.0.1", Port: port, User: "root", Signer: client, HostKey: host.PublicKey(),
		HandshakeTimeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	pod := At(conn, p.root, p.spec.RunDir)
	if v, err := pod.Verdict(t.Context()); err != nil || v.State != VerdictReady {
		t.Fatalf("%+v %v", v, err)
	}
	if err := pod.Reserve(t.Context(), hostLine); err != nil {
		t.Fatal(err)
	}
	script := []byte("mkdir -p output && cp train.sh output/ && ln -s train.sh output/link && ln -s output again && echo \"$FOO\" && echo '{\"step\":1}' >>\"$OVERBRAINER_METRICS\"\n")
	digest, size, _ := hashAll(bytes.NewReader(script))
	files := []remote.File{{Path: "train.sh", Size: size, SHA256: digest, Exec: true}}
	open := func(remote.File) (io.ReadSeekCloser, error) { return content{bytes.NewReader(script)}, nil }
	var edited *EditedError
	other := func(remote.File) (io.ReadSeekCloser, error) {
		return content{bytes.NewReader(bytes.ToUpper(script))}, nil
	}
	if err := pod.Upload(t.Context(), files, other, nil); !errors.As(err, &edited) || edited.Path != "train.sh" {
		t.Errorf("a file that was changed meanwhile: %v", err)
	}
	for _, gone := range []error{fs.ErrNotExist, fs.ErrPermission} {
		none := func(remote.File) (io.ReadSeekCloser, error) {
			return nil, &fs.PathError{Op: "open", Path: "train.sh", Err: gone}
		}
		err := pod.Upload(t.Context(), files, none, nil)
		if !errors.As(err, &edited) || !errors.Is(err, gone) || !strings.HasPrefix(err.Error(), `"train.sh" cannot be read here any more: open `) {
			t.Errorf("a file with %v meanwhile: %v", gone, err)
		}
	}
	busy := func(remote.File) (io.ReadSeekCloser, error) { return nil, syscall.EMFILE }
	if err := pod.Upload(t.Context(), files, busy, nil); errors.As(err, &edited) || !errors.Is(err, syscall.EMFILE) {
		t.Errorf("too many open files: %v", err)
	}
	if err := pod.Upload(t.Context(), files, open, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := pod.Launch(t.Context(), Launch{RunID: "run-1", Command: []string{"sh", "train.sh"}, Env: map[string]string{"FOO": "bär"}}); err != nil {
		t.Fatal(err)
	}
	var log, metrics bytes.Buffer
	at := Offsets{}
	p.eventually("the end", func() bool {
		poll, err := pod.Poll(t.Context(), at, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		at = poll.Next
		log.Write(poll.Log)
		metrics.Write(poll.Metrics)
		return poll.Drained()
	})
	if log.String() != "bär\n" || metrics.String() != "{\"step\":1}\n" {
		t.Errorf("log %q, metrics %q", &log, &metrics)
	}
	dir := filepath.Join(t.TempDir(), "runs/run-1")
	m, err := pod.Collect(t.Context(), Collect{Dir: dir, Globs: []string{"output/**", "again/**"}})
	if err != nil || m.Matched != 4 {
		t.Fatalf("%+v %v", m, err)
	}
	for _, name := range []string{"output/train.sh", "output/link", "again/train.sh", "again/link"} {
		info, _ := os.Lstat(filepath.Join(dir, name))
		if got, _ := os.ReadFile(filepath.Join(dir, name)); !bytes.Equal(got, script) || !info.Mode().IsRegular() {
			t.Errorf("%s: %q", name, got)
		}
	}
	if err := pod.MarkRetrieved(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.deleted("retrieved")
}
