package sim

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// selfExe is this very program, even after its file was replaced.
const selfExe = "/proc/self/exe"

// killPatience is how long the holder of a container gets to end it.
const killPatience = 5 * time.Second

// supported reports whether pods can run here.
func supported() error { return nil }

// lockHome makes sure that one process serves the home. The lock goes with the
// process, however that ends.
func lockHome(home string) (func(), error) {
	f, err := os.OpenFile(home+"/"+lockFile, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, ErrRunning
	}
	return func() { _ = f.Close() }, nil
}

// process is a running container: the program that holds it (see PodInit) and
// the pipe whose end tells that program that we are gone.
type process struct {
	cmd      *exec.Cmd
	lifeline *os.File
	done     chan struct{}
	code     int // valid after done
	once     sync.Once
}

// startProcess starts a container. Its holder gets the spec on file descriptor
// 3, the lifeline on 4 and the listener for the built-in SSH server on 5.
func startProcess(init []string, spec containerSpec, ln *net.TCPListener, output func(io.Reader)) (*process, error) {
	defer ln.Close()
	config, configW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer config.Close()
	life, lifeW, err := os.Pipe()
	if err != nil {
		_ = configW.Close()
		return nil, err
	}
	defer life.Close()
	out, outW, err := os.Pipe()
	if err != nil {
		_ = configW.Close()
		_ = lifeW.Close()
		return nil, err
	}
	defer outW.Close()

	cmd := exec.Command(init[0], append(append([]string(nil), init[1:]...), spec.ID)...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=" + imagePath}
	cmd.Stdout, cmd.Stderr = outW, outW
	cmd.ExtraFiles = []*os.File{config, life}
	attr := &syscall.SysProcAttr{Setsid: true}
	if spec.Form == FormRoot {
		attr.Cloneflags = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC
	} else if f, err := ln.File(); err == nil {
		defer f.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	cmd.SysProcAttr = attr
	if err := cmd.Start(); err != nil {
		for _, f := range []*os.File{configW, lifeW, out} {
			_ = f.Close()
		}
		return nil, fmt.Errorf("pod process: %w", err)
	}
	go func() {
		_ = json.NewEncoder(configW).Encode(spec)
		_ = configW.Close()
	}()
	p := &process{cmd: cmd, lifeline: lifeW, done: make(chan struct{})}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer out.Close()
		output(out)
	}()
	go func() {
		_ = cmd.Wait()
		p.code = exitCode(cmd.ProcessState)
		p.cutLifeline()
		select {
		case <-read:
		case <-time.After(time.Second):
		}
		close(p.done)
	}()
	return p, nil
}

// kill ends the container and waits until all of it is dead.
func (p *process) kill() {
	p.cutLifeline()
	t := time.NewTimer(killPatience)
	defer t.Stop()
	select {
	case <-p.done:
	case <-t.C:
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

func (p *process) cutLifeline() { p.once.Do(func() { _ = p.lifeline.Close() }) }

func exitCode(st *os.ProcessState) int {
	if ws, is := st.Sys().(syscall.WaitStatus); is && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return st.ExitCode()
}
