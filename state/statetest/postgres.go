//go:build unix

package statetest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// Postgres is a real PostgreSQL server on a loopback port.
type Postgres struct {
	Addr               string // host:port
	User, Password, DB string

	dir string
	bin string
	as  *syscall.SysProcAttr
}

// ErrNoPostgres says that PostgreSQL is not installed.
var ErrNoPostgres = errors.New("PostgreSQL is not installed; scripts/setup.sh installs it")

// ConnStr gives a connection string without a password, for a server behind
// addr.
func (p *Postgres) ConnStr(addr string) string {
	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", p.User, addr, p.DB)
}

// Env is what programs need to connect.
func (p *Postgres) Env() []string { return []string{"PGPASSWORD=" + p.Password} }

// StartPostgres makes a database cluster and starts it, as an unprivileged user
// where this one is root, which PostgreSQL does not run as.
func StartPostgres() (*Postgres, error) {
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "ob-pg")
	if err != nil {
		return nil, err
	}
	p := &Postgres{User: "keeper", Password: "the-word-of-the-keeper", DB: "postgres", dir: dir, bin: bin, as: &syscall.SysProcAttr{}}
	if err := p.start(); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

// HavePostgres reports whether StartPostgres has something to start.
func HavePostgres() bool {
	_, err := postgresBin()
	return err == nil
}

func postgresBin() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(found) == 0 {
		return "", ErrNoPostgres
	}
	return found[len(found)-1], nil
}

func (p *Postgres) start() error {
	password := filepath.Join(p.dir, "password")
	if err := os.WriteFile(password, []byte(p.Password), 0o600); err != nil {
		return err
	}
	if err := p.unprivileged(p.dir, password); err != nil {
		return err
	}
	addr, err := freeAddress()
	if err != nil {
		return err
	}
	p.Addr = addr
	_, port, _ := net.SplitHostPort(addr)
	if err := p.run("initdb", "-D", p.data(), "-U", p.User, "--pwfile="+password, "-A", "scram-sha-256", "-E", "UTF8", "--locale=C", "--no-sync"); err != nil {
		return err
	}
	// What a test writes need not outlive the machine.
	options := fmt.Sprintf("-p %s -c listen_addresses=127.0.0.1 -c unix_socket_directories=%s -c fsync=off -c max_connections=200", port, p.dir)
	return p.run("pg_ctl", "-D", p.data(), "-w", "-t", "60", "-l", filepath.Join(p.dir, "log"), "-o", options, "start")
}

// unprivileged gives the files to another user, when this one is root.
func (p *Postgres) unprivileged(paths ...string) error {
	if os.Getuid() != 0 {
		return nil
	}
	other, err := user.Lookup("postgres")
	if err != nil {
		if other, err = user.Lookup("nobody"); err != nil {
			return err
		}
	}
	uid, _ := strconv.Atoi(other.Uid)
	gid, _ := strconv.Atoi(other.Gid)
	p.as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	for _, path := range paths {
		if err := os.Chown(path, uid, gid); err != nil {
			return err
		}
	}
	return nil
}

func (p *Postgres) data() string { return filepath.Join(p.dir, "data") }

func (p *Postgres) run(name string, args ...string) error {
	cmd := exec.Command(filepath.Join(p.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = p.dir, p.as
	cmd.Env = append(os.Environ(), "HOME="+p.dir)
	// pg_ctl hands its output to the server, which would keep a pipe open.
	said, err := os.CreateTemp("", "ob-pg-out")
	if err != nil {
		return err
	}
	defer os.Remove(said.Name())
	defer said.Close()
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(said.Name())
		return fmt.Errorf("%s: %w\n%s", name, err, text)
	}
	return nil
}

// Stop ends the server and removes what it holds.
func (p *Postgres) Stop() {
	if _, err := os.Stat(filepath.Join(p.data(), "postmaster.pid")); err == nil {
		_ = p.run("pg_ctl", "-D", p.data(), "-m", "immediate", "-w", "stop")
	}
	os.RemoveAll(p.dir)
}
