package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/internal/remote"
	"github.com/overbrainer/overbrainer/state"
)

func runSSHCommand(a *app) *command {
	var in inputs
	return &command{
		name:     "run ssh",
		synopsis: "a shell on a run's pod, or one command there",
		usage:    "ADDR|RUN [-- CMD...]",
		text: `Connects with ssh to the pod of a run, with the run's own key and the pod's
		pinned host key; nothing of your ssh configuration or agent is used. It starts
		in the run's directory. The exit status is that of ssh. One word behind -- goes
		to the pod's shell as it is; of several each arrives as one word, whatever is
		in it. With OVERBRAINER_KEY the key is in no file: an agent of its own lends it
		to ssh while that runs.`,
		example: "$ overbrainer run ssh run.iris -- nvidia-smi\n$ overbrainer run ssh run.iris -- 'du -sh output/*'",
		exits:   []int{exitInterrupted},
		least:   1, most: -1,
		register: in.register,
		run: func(ctx context.Context, args []string) error {
			st, err := a.readState(ctx)
			if err != nil {
				return err
			}
			address, run, err := findRun(st, args[0])
			if err != nil {
				return err
			}
			if run.Pod == nil || run.Pod.Gone() {
				return &problem{code: "no_pod", address: address, id: run.ID, message: "run " + run.ID + " has no pod: it is " + string(run.Phase)}
			}
			program, err := exec.LookPath("ssh")
			if err != nil {
				return &problem{code: "no_ssh", message: "there is no ssh on this machine", hint: "install an OpenSSH client"}
			}
			config, host, end, err := a.sshTo(st, address, run)
			if err != nil {
				return err
			}
			defer end()
			at, err := a.sshAt(ctx, in, st, address, run)
			if err != nil {
				return err
			}
			argv := append(append([]string{"-F", config}, at...), host)
			if words := podWords(run.Pod.WorkDir, args[1:]); words != "" {
				if len(args) == 1 && isTerminal(a.in) {
					argv = append([]string{"-t"}, argv...)
				}
				argv = append(argv, "--", words)
			}
			cmd := exec.CommandContext(ctx, program, argv...)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = a.in, os.Stdout, os.Stderr
			err = cmd.Run()
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				if exit.ExitCode() < 0 {
					return status(exitError)
				}
				return status(exit.ExitCode())
			}
			return err
		},
	}
}

// sshAt gives the options by which ssh goes to another address than the
// configuration's: the pod is looked for first, because ssh itself only says that
// nothing answers.
func (a *app) sshAt(ctx context.Context, in inputs, st *state.State, address string, run *state.Run) ([]string, error) {
	if run.Pod.SSH == nil {
		return nil, nil
	}
	var opened *project
	was := *run.Pod.SSH
	defer func() {
		if opened != nil {
			opened.close()
		}
	}()
	pod := a.finder(st, address, run, func(ctx context.Context) (*project, error) {
		p, err := a.openLoosely(ctx, in, reading{ending: true, unread: true})
		opened = p
		return p, err
	})
	m, err := pod.reach(ctx)
	switch {
	case err == nil:
		_ = m.Close()
	case podOver(err) || ctx.Err() != nil:
		return nil, err
	default:
		pod.say("the pod of " + address + " cannot be reached: " + err.Error())
	}
	at := pod.run.Pod.SSH
	if err != nil || *at == was {
		return nil, nil
	}
	return []string{"-o", "HostName=" + at.Host, "-o", fmt.Sprintf("Port=%d", at.Port), "-o", "User=" + at.User}, nil
}

// podWords is what the pod's shell is given: a command, or none for a shell of
// its own, in the run's directory where there is one still.
func podWords(dir string, command []string) string {
	words := ""
	switch len(command) {
	case 0:
		if dir != "" {
			words = `exec "${SHELL:-/bin/sh}" -l`
		}
	case 1:
		words = command[0]
	default:
		words = remote.Quote(command...)
	}
	if dir == "" {
		return words
	}
	return `cd "${OVERBRAINER_POD_ROOT-}"` + remote.Quote(dir) + " 2>/dev/null; " + words
}

// sshTo gives the configuration by which ssh reaches a run's pod, and the pod's
// name in it. end takes away what was only for this.
func (a *app) sshTo(st *state.State, address string, run *state.Run) (config, host string, end func(), err error) {
	wrong := func(code, message, hint string) (string, string, func(), error) {
		return "", "", nil, &problem{code: code, address: address, id: run.ID, message: message, hint: hint}
	}
	me := holder().Name()
	noKey := func(message string, why error) (string, string, func(), error) {
		return wrong("no_key", message, apply.WithoutKey(address, run, me, why))
	}
	dir := a.path(filepath.FromSlash(run.Dir))
	keys, err := a.keys()
	if err != nil {
		return "", "", nil, err
	}
	if run.KeySource != (apply.DerivedKeys{}).Kind() {
		config = filepath.Join(dir, "ssh", "config") // beside the key, by who made it
		if _, err := os.Stat(config); err != nil {
			return noKey("the private key of run "+run.ID+" is not here; "+apply.WhoHasKey(run, me), apply.ErrNoKey)
		}
		return config, "overbrainer-" + run.ID, func() {}, nil
	}
	if keys.Kind() != run.KeySource {
		return noKey("run "+run.ID+" was started with an OVERBRAINER_KEY, which is not set here; "+apply.WhoHasKey(run, me), apply.ErrNoKey)
	}
	key, err := keys.ClientKey(dir, st.Lineage, run.ID)
	if err == nil {
		err = apply.KeyFits(run, key)
	}
	switch {
	case err != nil:
		return noKey(err.Error(), err)
	case run.Pod.SSH == nil:
		return wrong("no_address", "pod "+run.Pod.ID+" of run "+run.ID+" has no address yet", "overbrainer run list shows how far it is")
	}
	at, socket, end, err := lend(key)
	if err != nil {
		return wrong("no_agent", "the key of run "+run.ID+" cannot be lent to ssh: "+err.Error(), "")
	}
	if config, host, err = apply.LendSSH(at, socket, run); err != nil {
		end()
		return "", "", nil, err
	}
	return config, host, end, nil
}
