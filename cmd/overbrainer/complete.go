package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/examples"
	"github.com/overbrainer/overbrainer/providers/runpod/sim"
	"github.com/overbrainer/overbrainer/state"
)

// completionWait is how long somebody who pressed a key waits for names.
const completionWait = 2 * time.Second

// completing reports whether a shell asks for completions, and of which line.
func (a *app) completing() (line string, yes bool) {
	line = a.environ("COMP_LINE")
	return line, line != ""
}

// candidates are the words that may stand for a placeholder of a command's
// usage or of a flag's value. No provider is started for them, and nothing of
// the configuration is evaluated.
func (a *app) candidates(command, placeholder string) []string {
	var out []string
	switch placeholder {
	case "ADDR|RUN", "RUN":
		out = a.completeRuns(true)
	case "ADDR", "FROM":
		switch {
		case command == "run accept":
			out = a.completeRuns(false)
		case command == "import":
			out = a.declared("volume", "run")
		case strings.HasPrefix(command, "state "):
			out = a.completionState().Addresses()
		default: // -target, -replace
			out = append(a.completionState().Addresses(), a.declared("volume", "run")...)
		}
	case "NAME=VALUE":
		for _, name := range config.Declared(a.dir)["variable"] {
			out = append(out, name+"=")
		}
	case "PROVIDER":
		out = config.Declared(a.dir)["provider"]
	case "OUTPUT":
		out = config.Declared(a.dir)["output"]
	case "EXAMPLE":
		out = examples.Names()
	case "FAULT":
		for _, n := range sim.FaultNames() {
			name, _, _ := strings.Cut(n.Name, ":")
			out = append(out, name)
		}
	case "SHELL":
		out = []string{"bash", "zsh", "fish"}
	case "SOURCE":
		out = []string{"container", "system", "overbrainer", "raw"}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if a.environ("COMP_TYPE") != "" { // bash puts a word into the line as it comes
		for i, word := range out {
			out[i] = shellWord.Replace(word)
		}
	}
	return out
}

// shellWord escapes what addresses hold and shells interpret.
var shellWord = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `[`, `\[`, `]`, `\]`, ` `, `\ `, `'`, `\'`, `$`, `\$`, `&`, `\&`, `;`, `\;`, `(`, `\(`, `)`, `\)`)

// declared gives addresses of what the configuration declares.
func (a *app) declared(types ...string) []string {
	var out []string
	names := config.Declared(a.dir)
	for _, t := range types {
		for _, name := range names[t] {
			out = append(out, t+"."+name)
		}
	}
	return out
}

// completeRuns gives the addresses of runs in the state, and their IDs.
func (a *app) completeRuns(ids bool) []string {
	var out []string
	st := a.completionState()
	for _, address := range st.Addresses() {
		r := st.Resources[address].Run
		if r == nil {
			continue
		}
		out = append(out, address)
		if run := r.CurrentRun(); ids && run != nil {
			out = append(out, run.ID)
		}
	}
	return out
}

// completionState reads the state; an empty one where that fails or takes long.
func (a *app) completionState() *state.State {
	ctx, cancel := context.WithTimeout(context.Background(), completionWait)
	defer cancel()
	st, err := a.readState(ctx)
	if err != nil {
		return state.New("")
	}
	return st
}
