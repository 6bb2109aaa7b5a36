package sim

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	// restartWait is how long the host waits before it starts a container
	// again whose main process ended; it doubles up to restartMost.
	restartWait = 500 * time.Millisecond
	restartMost = 10 * time.Second
	// heldPoll is how often a pod that a fault holds back looks again.
	heldPoll = 100 * time.Millisecond
	// maxLine is where longer lines of a container's output are cut in two.
	maxLine = 1 << 20
)

// start lets a pod begin its life: pull, then the container, again and again.
// mu is held. pull false leaves out the image's download.
func (s *server) start(p *pod, pull bool) {
	ctx, cancel := context.WithCancel(context.Background())
	run := &podRun{cancel: cancel, done: make(chan struct{})}
	p.run, p.started, p.port = run, nil, 0
	go func() {
		defer close(run.done)
		s.live(ctx, p, pull)
	}()
}

// halt ends a pod's present life and waits until its processes are dead.
func (p *pod) halt() {
	if p.run != nil {
		p.run.cancel()
		<-p.run.done
	}
}

// end ends a pod that was dropped from the account, and removes its disk.
func (p *pod) end() {
	p.halt()
	p.log.end()
	_ = removeDisk(p.dir)
}

// drop takes a pod out of the account; its bill ends. mu is held.
func (s *server) drop(p *pod) {
	if p.gone {
		return
	}
	p.gone, p.status = true, statusTerminated
	delete(s.pods, p.id)
	s.rebill(p.id, rates{})
}

// deletePod removes a pod and returns when it is dead.
func (s *server) deletePod(p *pod) {
	s.mu.Lock()
	s.drop(p)
	s.mu.Unlock()
	p.end()
	s.logf("pod %s deleted", p.id)
}

// stopPod ends the container and wipes its disk; the pod stays, EXITED.
func (s *server) stopPod(p *pod) {
	s.mu.Lock()
	if p.gone || p.status == statusExited {
		s.mu.Unlock()
		return
	}
	p.status = statusExited
	s.rebill(p.id, p.rates())
	s.mu.Unlock()
	p.halt()
	p.wipe()
	s.mu.Lock()
	p.started, p.port = nil, 0
	s.mu.Unlock()
}

// restartPod starts the container again on the same host with a fresh disk.
func (s *server) restartPod(p *pod) {
	p.halt()
	p.wipe()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !p.gone && !s.closed {
		p.log.system("restart container")
		s.start(p, false)
	}
}

// crash kills the main process; the host will start it again. With wipe the
// container's disk is lost, as when a host makes the container anew.
func (s *server) crash(p *pod, wipe bool) {
	if wipe {
		s.restartPod(p)
		return
	}
	s.mu.Lock()
	proc := p.proc
	s.mu.Unlock()
	if proc != nil {
		proc.kill()
	}
}

// wipe removes the container's disk, not what is mounted.
func (p *pod) wipe() {
	for _, name := range []string{"root", "upper", "work"} {
		_ = removeDisk(filepath.Join(p.dir, name))
	}
}

// live is a pod's life from its start to ctx's end.
func (s *server) live(ctx context.Context, p *pod, pull bool) {
	if pull {
		p.log.system("create pod network")
		p.log.system("create container %s", p.req.Image)
		p.log.system("%s Pulling", p.req.Image)
		s.mu.Lock()
		wait := s.pull + p.knobs.pull
		s.mu.Unlock()
		if !pause(ctx, s.scaled(wait)) {
			return
		}
	}
	for s.faults.holds(p) {
		if !pause(ctx, heldPoll) {
			return
		}
	}
	if pull {
		p.log.system("Status: Downloaded newer image for %s", p.req.Image)
	}
	over := s.turns.take(ctx)
	if over == nil {
		return
	}
	defer over()
	fwd, err := newForwarder(p.knobs.sshPort, over)
	if err != nil {
		p.log.system("error creating container: %v", err)
		return
	}
	defer fwd.close()
	s.mu.Lock()
	now := time.Now()
	p.fwd, p.started = fwd, &now
	if p.wantsSSH() {
		p.port = fwd.port()
	}
	s.mu.Unlock()
	s.keepRunning(ctx, p)
}

// keepRunning starts the main process, and again whenever it ends.
func (s *server) keepRunning(ctx context.Context, p *pod) {
	wait := restartWait
	for {
		p.log.system("start container for %s: begin", p.req.Image)
		begun := time.Now()
		proc, err := s.launch(p)
		if err != nil {
			p.log.system("error starting container: %v", err)
		} else {
			s.mu.Lock()
			p.proc = proc
			p.boots++
			s.mu.Unlock()
			for _, w := range s.faults.awaited() {
				s.acts.Go(func() { w.act(s, p) }) // it may end the pod, and wait for us then
			}
			select {
			case <-proc.done:
			case <-ctx.Done():
				proc.kill()
				return
			}
			p.log.system("container exited with code %d", proc.code)
		}
		if time.Since(begun) > restartMost {
			wait = restartWait
		}
		if !pause(ctx, s.scaled(wait)) {
			return
		}
		wait = min(2*wait, restartMost)
	}
}

// launch starts the container's main process on its disk.
func (s *server) launch(p *pod) (*process, error) {
	// The system's sshd opens its port itself, our own is handed one.
	var target *net.TCPListener
	var port int
	release, err := func() {}, error(nil)
	if s.form == FormRoot {
		port, release, err = reservePort()
	} else if target, err = freeListener(); err == nil {
		port = portOf(target)
	}
	if err != nil {
		return nil, err
	}
	s.tools() // not under the lock
	s.mu.Lock()
	spec := s.spec(p, port)
	fwd := p.fwd
	s.mu.Unlock()
	if err := spec.prepare(); err != nil {
		release()
		_ = target.Close()
		return nil, err
	}
	fwd.to(port)
	proc, err := startProcess(s.opt.Init, spec, target, func(out io.Reader) {
		in := bufio.NewReaderSize(out, 64<<10)
		for {
			line, err := readLine(in)
			if line != "" || err == nil {
				p.log.add("container", line)
			}
			if err != nil {
				return
			}
		}
	})
	if err != nil {
		release()
		return nil, err
	}
	go func() {
		<-proc.done
		release()
	}()
	return proc, nil
}

// readLine reads up to the end of a line, or maxLine bytes of one.
func readLine(in *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return string(line[:len(line)-1]), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return string(line), err
		case len(line) >= maxLine:
			return string(line), nil
		}
	}
}

// pause waits; false means that ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return ctx.Err() == nil
	}
}

// mkdir makes a directory with exactly this mode, whatever the umask.
func mkdir(path string, mode os.FileMode) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}
