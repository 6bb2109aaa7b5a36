package statetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// S3 is a real S3 server on a loopback port.
type S3 struct {
	Addr                 string // host:port
	AccessKey, SecretKey string
	Bucket               string // one that is there

	cmd   *exec.Cmd
	stdin io.Closer
	dir   string
}

// Env is what programs need to use it.
func (s *S3) Env() []string {
	return []string{
		"AWS_ACCESS_KEY_ID=" + s.AccessKey, "AWS_SECRET_ACCESS_KEY=" + s.SecretKey,
		"AWS_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true",
	}
}

// ErrNoS3 says that the server cannot be built here: its modules are missing.
var ErrNoS3 = errors.New("tools/s3server cannot be built: its modules are neither here nor to be had")

// HaveS3 reports whether StartS3 has something to build.
func HaveS3() bool {
	list := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}}", ".")
	list.Dir, list.Env = s3Source(), s3Env()
	return list.Run() == nil
}

func s3Source() string {
	_, here, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(here), "..", "..", "tools", "s3server")
}

// s3Env builds it as the program is built, whatever the tests are built with.
func s3Env() []string {
	return append(os.Environ(), "GOFLAGS=-buildvcs=false", "GOWORK=off", "CGO_ENABLED=0")
}

// StartS3 builds tools/s3server and starts it.
func StartS3() (*S3, error) {
	dir, err := os.MkdirTemp("", "ob-s3")
	if err != nil {
		return nil, err
	}
	s := &S3{AccessKey: "tester", SecretKey: "the-key-of-the-tester", Bucket: "states", dir: dir}
	if err := s.start(); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func (s *S3) start() error {
	binary := filepath.Join(s.dir, "s3server")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Dir, build.Env = s3Source(), s3Env()
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building tools/s3server: %w\n%s", err, out)
	}
	if err := os.MkdirAll(filepath.Join(s.dir, "data", s.Bucket), 0o700); err != nil {
		return err
	}
	var err error
	if s.Addr, err = freeAddress(); err != nil {
		return err
	}
	var said bytes.Buffer
	s.cmd = exec.Command(binary, s.Addr, s.dir)
	s.cmd.Env = append(os.Environ(), s.Env()...)
	s.cmd.Stdout, s.cmd.Stderr = &said, &said
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	if err := answers(s.Addr); err != nil {
		s.Stop()
		return fmt.Errorf("s3server: %w\n%s", err, said.String())
	}
	return nil
}

// Stop ends the server and removes what it holds.
func (s *S3) Stop() {
	if s.cmd != nil && s.cmd.Process != nil {
		s.stdin.Close()
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
	os.RemoveAll(s.dir)
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// answers waits until somebody listens.
func answers(addr string) error {
	var err error
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var c net.Conn
		if c, err = net.Dial("tcp", addr); err == nil {
			return c.Close()
		}
	}
	return err
}
