package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/overbrainer/overbrainer/providers/runpod/sim"
)

// world is one project at a time with a simulator of its own, in which lives
// follow each other.
type world struct {
	binary  string
	dir     string // of the project
	environ []string
	keep    string
	server  *exec.Cmd
	sim     *sim.Client
}

// open makes a world below base and starts its simulator.
func (o options) open(ctx context.Context, base string, n int) (*world, error) {
	root, err := filepath.EvalSymlinks(base)
	if err != nil {
		return nil, err
	}
	root = filepath.Join(root, fmt.Sprint("w", n))
	w := &world{binary: o.binary, dir: filepath.Join(root, "project"), keep: o.keep}
	home := filepath.Join(root, "home")
	for _, dir := range []string{w.dir, home} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	variables := map[string]string{"HOME": home, "XDG_STATE_HOME": filepath.Join(home, "state")}
	w.environ = []string{
		"PATH=" + os.Getenv("PATH") + ":/usr/sbin:/sbin", "HOME=" + home,
		"XDG_STATE_HOME=" + variables["XDG_STATE_HOME"], "OVERBRAINER_INPUT=0", "TMPDIR=" + os.TempDir(),
	}
	simHome := sim.Home(func(name string) string { return variables[name] }, w.dir)
	// The jobs write down what they do on this machine, which a pod with a file
	// system of its own could not.
	args := []string{"sim", "serve", "-home=" + simHome, fmt.Sprintf("-speed=%g", o.speed), "-form=" + sim.FormRelocated, "-idle=24h"}
	if dash, err := exec.LookPath("dash"); err == nil {
		// The scripts on a pod are for every sh. This one takes half the time.
		args = append(args, "-shell="+dash)
	}
	w.server = exec.Command(w.binary, args...)
	w.server.Env, w.server.Dir = w.environ, root
	w.server.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := w.server.Start(); err != nil {
		return nil, err
	}
	for limit := time.Now().Add(time.Minute); ; {
		if w.sim, err = sim.Find(ctx, simHome); err == nil {
			return w, nil
		}
		if ctx.Err() != nil || time.Now().After(limit) {
			w.close()
			return nil, fmt.Errorf("the simulator does not answer: %w", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (w *world) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	ended := make(chan struct{})
	go func() { _ = w.server.Wait(); close(ended) }()
	if w.sim == nil || w.sim.Stop(ctx) != nil {
		_ = w.server.Process.Kill()
	}
	select {
	case <-ended:
	case <-ctx.Done():
		_ = w.server.Process.Kill()
		<-ended
	}
}

// each gives every name to one of several worlds, and stops with the first
// error that is none of a life but of what it is lived in.
func (o options) each(ctx context.Context, base string, names []string, live func(context.Context, *world, string) (found, error), t *tally) error {
	o.log.expect(len(names))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo := make(chan string)
	var wg sync.WaitGroup
	for n := range min(o.workers, len(names)) {
		wg.Go(func() {
			w, err := o.open(ctx, base, n)
			if err != nil {
				cancel(err)
				return
			}
			defer w.close()
			for name := range todo {
				f, err := live(ctx, w, name)
				if err != nil {
					cancel(fmt.Errorf("%s: %w", name, err))
					return
				}
				w.keepAside(name, f)
				t.add(f)
				o.log.step(name, f)
			}
		})
	}
	for _, name := range names {
		select {
		case todo <- name:
		case <-ctx.Done():
		}
	}
	close(todo)
	wg.Wait()
	return context.Cause(ctx)
}
