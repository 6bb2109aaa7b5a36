package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Options says how a simulator runs.
type Options struct {
	// Home is the simulator's directory; see the function Home.
	Home string
	// Addr is the loopback address to listen on; empty means any free port.
	Addr string
	// Build is the version of the binary that serves, told in the address.
	Build string
	// Speed makes billing and the simulated delays so many times as fast.
	// Clocks stay real. 0 means 1.
	Speed float64
	// Form is how pods run: FormRoot, FormRelocated, or empty for the first
	// where it works.
	Form string
	// Shell is the program that pods have under the name bash; empty means the
	// machine's own. A small one starts faster.
	Shell string
	// Log takes what the simulator has to say; nil discards it.
	Log io.Writer
	// Idle ends Serve after so long without a pod and without a request;
	// 0 means 15 minutes, a negative value never.
	Idle time.Duration
	// Init is the command that holds one pod's processes, given the pod's ID
	// and its file descriptors 3 to 5. Empty means this executable with "sim
	// pod-init"; what it runs must come to PodInit.
	Init []string
}

// Forms of a pod.
const (
	// FormRoot gives a pod mount and process namespaces, a writable layer over
	// the machine's own file system and the system's sshd.
	FormRoot = "root"
	// FormRelocated keeps a pod's files under one directory, told to it as
	// OVERBRAINER_POD_ROOT, and reaches it through a built-in SSH server. It
	// needs no privilege.
	FormRelocated = "relocated"
)

const (
	defaultIdle = 15 * time.Minute
	// tickEvery is how often balance, idleness and the account file are looked
	// at.
	tickEvery = time.Second
)

// Serve runs a simulator until ctx ends, the control API stops it or it was
// idle for long enough; these return nil. Every pod has ended by then. The
// home's address.json says where it answers, from when it does.
func Serve(ctx context.Context, opt Options) error {
	if err := supported(); err != nil {
		return err
	}
	if opt.Home == "" {
		return errors.New("the simulator needs a home directory")
	}
	home, err := filepath.Abs(opt.Home)
	if err != nil {
		return err
	}
	opt.Home = home
	opt = opt.withDefaults()
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	unlock, err := lockHome(home)
	if err != nil {
		return err
	}
	defer unlock()
	if err := prepareHome(home); err != nil {
		return err
	}

	ln, err := net.Listen("tcp", opt.Addr)
	if err != nil {
		return err
	}
	defer ln.Close()
	if !ln.Addr().(*net.TCPAddr).IP.IsLoopback() {
		return fmt.Errorf("the simulator listens on loopback only, not on %s", opt.Addr)
	}
	url := "http://" + ln.Addr().String()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := newServer(opt, url, cancel)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.writeAddress(); err != nil {
		return err
	}
	defer os.Remove(filepath.Join(home, addressFile))
	fmt.Fprintf(opt.Log, "simulator answers at %s, pods in their %s form\n", url, s.form)

	web := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 30 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	go s.ticks(ctx, cancel)
	stop := context.AfterFunc(ctx, func() {
		s.killAll()
		short, done := context.WithTimeout(context.Background(), time.Second)
		defer done()
		if web.Shutdown(short) != nil {
			_ = web.Close()
		}
	})
	defer stop()
	if err := web.Serve(ln); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

func (o Options) withDefaults() Options {
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	if o.Speed <= 0 {
		o.Speed = 1
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	if o.Idle == 0 {
		o.Idle = defaultIdle
	}
	if len(o.Init) == 0 {
		o.Init = []string{selfExe, "sim", "pod-init"}
	}
	return o
}

// ticks does what time alone brings about.
func (s *server) ticks(ctx context.Context, stop func()) {
	t := time.NewTicker(tickEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			s.enforceBalance()
			s.save()
			if s.idleFor() >= s.opt.Idle && s.opt.Idle > 0 {
				fmt.Fprintln(s.opt.Log, "idle, stopping")
				stop()
				return
			}
		}
	}
}
