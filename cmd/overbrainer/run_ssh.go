package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/overbrainer/overbrainer/internal/remote"
)

func runSSHCommand(a *app) *command {
	return &command{
		name:     "run ssh",
		synopsis: "a shell on a run's pod, or one command there",
		usage:    "ADDR|RUN [-- CMD...]",
		text: `Connects with ssh to the pod of a run, with the run's own key and the pod's
		pinned host key; nothing of your ssh configuration or agent is used. It starts
		in the run's directory. The exit status is that of ssh. One word behind -- goes
		to the pod's shell as it is; of several each arrives as one word, whatever is
		in it.`,
		example: "$ overbrainer run ssh run.iris -- nvidia-smi\n$ overbrainer run ssh run.iris -- 'du -sh output/*'",
		exits:   []int{exitInterrupted},
		least:   1, most: -1,
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
			config := filepath.Join(a.dir, filepath.FromSlash(run.Dir), "ssh", "config")
			if _, err := os.Stat(config); err != nil {
				return &problem{code: "no_key", address: address, id: run.ID, message: "the keys of run " + run.ID + " are not on this machine",
					hint: "they are with " + run.Holder}
			}
			program, err := exec.LookPath("ssh")
			if err != nil {
				return &problem{code: "no_ssh", message: "there is no ssh on this machine", hint: "install an OpenSSH client"}
			}
			argv := []string{"-F", config, "overbrainer-" + run.ID}
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
