package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/providers/runpod/sim"
)

// simHome is the directory of this project's simulator.
func (a *app) simHome() string { return sim.Home(a.environ, a.dir) }

// simulator finds the one that runs.
func (a *app) simulator(ctx context.Context) (*sim.Client, error) {
	c, err := sim.Find(ctx, a.simHome())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &problem{code: "no_simulator", message: "no simulator runs for this project",
			hint: "overbrainer sim start starts it, and so does a plan with simulator = true"}
	}
	return c, err
}

// simCommand is a command on the running simulator.
func simCommand(a *app, c *command, do func(ctx context.Context, s *sim.Client, args []string) error) *command {
	c.run = func(ctx context.Context, args []string) error {
		s, err := a.simulator(ctx)
		if err != nil {
			return err
		}
		return do(ctx, s, args)
	}
	return c
}

func simServeCommand(a *app) *command {
	opt := sim.Options{Home: "", Build: buildID(), Log: os.Stderr}
	opt.Home = a.simHome()
	return &command{
		name:     "sim serve",
		synopsis: "run the simulator in the foreground",
		usage:    "[-home=DIR] [-speed=N] [-addr=HOST:PORT]",
		text: `Answers Runpod's API on a loopback port until it is stopped, with pods that are
		processes of this machine. DIR/address.json tells where it answers.`,
		example: "$ overbrainer sim serve -home=/tmp/sim -speed=60",
		register: func(f *flags) {
			f.text(&opt.Home, "home", "DIR", "what it keeps (default: this project's)")
			f.text(&opt.Addr, "addr", "HOST:PORT", "loopback address to answer on (default: any free port)")
			simFlags(f, &opt)
		},
		run: func(ctx context.Context, _ []string) error {
			opt.Init = []string{a.exe, "sim", "pod-init"}
			err := sim.Serve(ctx, opt)
			if errors.Is(err, sim.ErrRunning) {
				return &problem{code: "held", message: err.Error(), exit: exitLocked}
			}
			return err
		},
	}
}

// simFlags are what a simulator is started with.
func simFlags(f *flags, opt *sim.Options) {
	f.float(&opt.Speed, "speed", "N", "how many times as fast hours pass")
	f.text(&opt.Shell, "shell", "PROGRAM", "what pods have under the name bash (default: this machine's)")
	f.text(&opt.Form, "form", "FORM", "root or relocated pods (default: the first that works)")
	f.duration(&opt.Idle, "idle", "end after so long without a pod and a request (default 15m)")
}

func (a *app) podInit(args []string) int { return sim.PodInit(args) }

func simStartCommand(a *app) *command {
	var opt sim.Options
	asJSON := false
	return &command{
		name:     "sim start",
		synopsis: "start the simulator of this project",
		usage:    "[-speed=N] [-form=FORM] [-shell=PROGRAM]",
		text: `Starts the simulator in the background. It ends by itself after 15 minutes
		without a pod and a request. With -speed=N hours take 1/N of their time and are
		billed as if they were whole; one that runs already changes its speed.`,
		example: "$ overbrainer sim start -speed=60",
		register: func(f *flags) {
			simFlags(f, &opt)
			f.boolean(&asJSON, "json", "as JSON")
		},
		run: func(ctx context.Context, _ []string) error {
			s, err := sim.Find(ctx, a.simHome())
			switch {
			case err == nil && (opt.Form != "" || opt.Shell != "" || opt.Idle != 0):
				return &problem{code: "running", message: "the simulator runs already: of one that runs only the speed can be changed", hint: "overbrainer sim stop, and start it anew"}
			case err == nil && opt.Speed > 0:
				err = s.Adjust(ctx, sim.Settings{Speed: &opt.Speed})
			case errors.Is(err, fs.ErrNotExist):
				s, err = a.startSimulator(ctx, opt)
			}
			if err != nil {
				return err
			}
			st, err := s.Status(ctx)
			if err != nil {
				return err
			}
			if asJSON {
				return ui.JSONLine(a.out, st)
			}
			_, err = fmt.Fprintf(a.out, "The simulator answers at %s, %s, pods in their %s form.\n", st.URL, pace(st.Speed), st.Form)
			return err
		},
	}
}

// pace says how fast hours pass.
func pace(speed float64) string {
	if speed == 1 || speed == 0 {
		return "as fast as a clock"
	}
	return fmt.Sprintf("%g times as fast as a clock", speed)
}

// startSimulator starts the server so that it outlives this command.
func (a *app) startSimulator(ctx context.Context, opt sim.Options) (*sim.Client, error) {
	home := a.simHome()
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	logName := filepath.Join(home, "serve.log")
	log, err := os.OpenFile(logName, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args := []string{"sim", "serve", "-home=" + home}
	if opt.Speed > 0 {
		args = append(args, fmt.Sprintf("-speed=%g", opt.Speed))
	}
	if opt.Form != "" {
		args = append(args, "-form="+opt.Form)
	}
	if opt.Shell != "" {
		args = append(args, "-shell="+opt.Shell)
	}
	if opt.Idle != 0 {
		args = append(args, "-idle="+opt.Idle.String())
	}
	cmd := exec.Command(a.exe, args...)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	for {
		if s, err := sim.Find(ctx, home); err == nil {
			return s, nil
		}
		select {
		case <-ended:
			said, _ := os.ReadFile(logName)
			return nil, &problem{code: "no_simulator", message: "the simulator did not start: " + strings.TrimSpace(string(lastLines(said, 3)))}
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func simStopCommand(a *app) *command {
	return &command{
		name:     "sim stop",
		synopsis: "end the simulator and its pods",
		text:     "Ends the simulator of this project, and every pod with it. Its account and volumes stay.",
		example:  "$ overbrainer sim stop",
		run: func(ctx context.Context, _ []string) error {
			s, err := sim.Find(ctx, a.simHome())
			if errors.Is(err, fs.ErrNotExist) {
				fmt.Fprintln(a.out, "No simulator runs for this project.")
				return nil
			}
			if err != nil {
				return err
			}
			if err := s.Stop(ctx); err != nil {
				return err
			}
			for {
				if _, err := sim.ReadAddress(a.simHome()); errors.Is(err, fs.ErrNotExist) {
					fmt.Fprintln(a.out, "The simulator has ended.")
					return nil
				}
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(20 * time.Millisecond):
				}
			}
		},
	}
}

func simResetCommand(a *app) *command {
	return simCommand(a, &command{
		name:     "sim reset",
		synopsis: "empty the simulator's account",
		text:     "Removes every pod, secret and volume, the bill, faults and changes of the catalog.",
		example:  "$ overbrainer sim reset",
	}, func(ctx context.Context, s *sim.Client, _ []string) error {
		if err := s.Reset(ctx); err != nil {
			return err
		}
		_, err := fmt.Fprintln(a.out, "The simulator's account is empty.")
		return err
	})
}

func simStatusCommand(a *app) *command {
	asJSON := false
	return &command{
		name:     "sim status",
		synopsis: "what the simulator holds, and what it has cost",
		usage:    "[-json]",
		text:     "Shows the simulator's pods, secrets and volumes, its spend and how many requests it had.",
		example:  "$ overbrainer sim status -json | jq .spend_usd",
		register: func(f *flags) { f.boolean(&asJSON, "json", "as JSON") },
		run: func(ctx context.Context, _ []string) error {
			var st sim.Status
			s, err := sim.Find(ctx, a.simHome())
			switch {
			case err == nil:
				st, err = s.Status(ctx)
			case errors.Is(err, fs.ErrNotExist):
				st, err = sim.LastStatus(a.simHome())
			}
			if err != nil {
				return err
			}
			if asJSON {
				return ui.JSONLine(a.out, st)
			}
			return a.writeSimStatus(st)
		},
	}
}

func (a *app) writeSimStatus(st sim.Status) error {
	if st.Running {
		fmt.Fprintf(a.out, "The simulator answers at %s, %s, pods in their %s form.\n", st.URL, pace(st.Speed), st.Form)
	} else {
		fmt.Fprintln(a.out, "No simulator runs for this project.")
	}
	fmt.Fprintf(a.out, "Spent %s in %d requests.\n", money.USD(st.SpendUSD), st.Requests)
	look := a.outLook()
	tables := []ui.Table{
		{Columns: []string{"POD", "NAME", "STATUS", "GPU", ">$/H", ">SPENT"}, Empty: "No pods."},
		{Columns: []string{"SECRET", "NAME"}, Empty: "No secrets."},
		{Columns: []string{"VOLUME", "NAME", ">SIZE GB", "DATA CENTER"}, Empty: "No volumes."},
	}
	for _, p := range st.Pods {
		tables[0].Add(p.ID, p.Name, p.Status, p.GPUType, figure(p.HourlyUSD), money.USD(p.SpendUSD))
	}
	for _, s := range st.Secrets {
		tables[1].Add(s.ID, s.Name)
	}
	for _, v := range st.Volumes {
		tables[2].Add(v.ID, v.Name, fmt.Sprint(v.SizeGB), v.DataCenter)
	}
	for i := range tables {
		if err := tables[i].Write(a.out, look); err != nil {
			return err
		}
	}
	return nil
}
