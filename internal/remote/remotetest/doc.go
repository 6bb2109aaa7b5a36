// Package remotetest has what tests of SSH need: real and built-in servers on
// the loopback interface, and a proxy that delays, freezes and cuts.
package remotetest

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"
)

// T is what these parts need of a test; *testing.T is one. A program that is
// no test can bring its own.
type T interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
	Failed() bool
	Cleanup(func())
	TempDir() string
}

// Server is a running SSH server and the keys to use it.
type Server struct {
	Host    string
	Port    int
	User    string
	Signer  ssh.Signer    // the client key it accepts
	HostKey ssh.PublicKey // its host key
	// KeyFile and KnownHosts are the same keys for OpenSSH's programs.
	KeyFile, KnownHosts string
}

// Options says how programs run on a server.
type Options struct {
	Path  string // PATH of what is run; empty: the test's own
	Shell string // login shell of the built-in server; empty: /bin/sh
}

// Key makes an ed25519 key and, if file is not empty, writes it there in
// OpenSSH's form.
func Key(t T, file string) ssh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if file != "" {
		block, err := ssh.MarshalPrivateKey(private, "test")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// Need finds programs. Where one is missing the test is skipped, and fails
// under CI, where everything should be there.
func Need(t T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("%s is needed: %v", name, err)
			}
			t.Skipf("%s is not installed", name)
		}
	}
}

// Busybox makes a directory of busybox's applets and returns it, to be used as
// the whole PATH of a machine that has nothing else. Programs to be left out
// can be named.
func Busybox(t T, without ...string) string {
	t.Helper()
	Need(t, "busybox")
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal(err)
	}
	list, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	skip := map[string]bool{}
	for _, name := range without {
		skip[name] = true
	}
	dir := t.TempDir()
	for _, name := range strings.Fields(string(list)) {
		if !skip[name] {
			if err := os.Symlink(busybox, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

func currentUser(t T) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}
