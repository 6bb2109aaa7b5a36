package main

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/posener/complete"

	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/examples"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/runpod/sim"
	"github.com/overbrainer/overbrainer/state"
)

// completionWait is how long somebody who pressed a key waits for names.
const completionWait = 2 * time.Second

// complete answers a shell that asks how its command line may go on.
func (a *app) complete(line typedLine) error {
	words := slices.DeleteFunc(a.following(line), func(word string) bool { return !line.begins(word) })
	slices.Sort(words)
	var answer strings.Builder // for one write
	for _, word := range slices.Compact(words) {
		answer.WriteString(line.answer(word, a.environ("COMP_TYPE") != "") + "\n")
	}
	_, err := io.WriteString(a.out, answer.String())
	return err
}

// following are the words that may stand where the last one is being typed.
func (a *app) following(line typedLine) []string {
	flag, _, valued := strings.Cut(line.last, "=")
	if len(a.args) == 0 && flag == "-chdir" && valued {
		return prefixed("-chdir=", complete.PredictDirs("*").Predict(complete.Args{Last: line.last[len("-chdir="):]}))
	}
	given := a.args
	helping := len(given) > 0 && given[0] == "help"
	if helping {
		given = given[1:]
	}
	all, _ := a.all()
	var names []string
	for _, c := range all {
		words := strings.Fields(c.name)
		n := len(given)
		switch {
		case n < len(words) && slices.Equal(words[:n], given):
			names = append(names, words[n])
		case n >= len(words) && slices.Equal(words, given[:len(words)]) && !helping:
			return a.ofCommand(c, line, given[len(words):])
		}
	}
	if len(a.args) == 0 && strings.HasPrefix(line.last, "-") {
		names = append(names, "-chdir", "-help", "-version")
	}
	return names
}

// ofCommand are the flags, values and arguments that may stand behind a command
// and what follows it already.
func (a *app) ofCommand(c *command, line typedLine, given []string) []string {
	if slices.Contains(given, "--") {
		return nil // the words of a command elsewhere
	}
	names := []string{"-help"}
	flag, value, valued := strings.Cut(line.last, "=")
	for _, f := range c.flagSet().list {
		names = append(names, "-"+f.name)
		takes := strings.TrimPrefix(f.arg, "=")
		switch f.name {
		case "provider":
			takes = "PROVIDER"
		case "data-center":
			takes = "PLACE"
		}
		switch {
		case valued && flag == "-"+f.name:
			return prefixed(flag+"=", a.standingFor(c, takes, value))
		case len(given) > 0 && given[len(given)-1] == "-"+f.name && f.takes != "true or false":
			return a.standingFor(c, takes, line.last)
		}
	}
	if strings.HasPrefix(line.last, "-") {
		return names
	}
	return a.standingFor(c, c.argument(), line.last)
}

// argument is what the usage calls the command's last argument.
func (c *command) argument() string {
	for _, word := range slices.Backward(strings.Fields(c.usage)) {
		word, _, _ = strings.Cut(strings.Trim(word, "[]."), "[")
		if word == "NAME" { // of what, the command tells
			word = map[string]string{"output": "OUTPUT", "sim fault": "FAULT"}[c.name]
		}
		if !strings.HasPrefix(word, "-") && word != "ID" && word != "TO" && word != "CMD" {
			return word
		}
	}
	return ""
}

// standingFor are the words that a placeholder stands for.
func (a *app) standingFor(c *command, placeholder, typed string) []string {
	switch placeholder {
	case "FILE":
		return complete.PredictFiles("*").Predict(complete.Args{Last: typed})
	case "DIR":
		return complete.PredictDirs("*").Predict(complete.Args{Last: typed})
	}
	return a.candidates(c.name, placeholder)
}

func prefixed(prefix string, words []string) []string {
	for i, word := range words {
		words[i] = prefix + word
	}
	return words
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
			out = a.completeAddresses()
		default: // -target, -replace
			out = append(a.completeAddresses(), a.declared("volume", "run")...)
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
		out = slices.Clone(podSources)
	case "CLOUD":
		out = []string{string(providers.Secure), string(providers.Community)}
	case "PLACE":
		out = a.seenPlaces()
	case "FORM":
		out = []string{sim.FormRoot, sim.FormRelocated}
	case "WHO":
		out = []string{"account", "pod"}
	}
	return out
}

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

// seenPlaces gives the data centers that the last plan and the last apply saw.
func (a *app) seenPlaces() []string {
	var out []string
	for _, c := range a.seenCatalogs() {
		for _, gpu := range c.GPUs {
			out = slices.AppendSeq(out, maps.Keys(gpu.DataCenters))
		}
	}
	for _, c := range a.completionState().Catalogs {
		for _, gpu := range c.GPUs {
			out = slices.AppendSeq(out, maps.Keys(gpu.DataCenters))
		}
	}
	return out
}

// completeRuns gives the addresses of runs in the state, and their IDs.
func (a *app) completeRuns(ids bool) []string {
	var out []string
	for _, n := range a.completionNames() {
		if !n.Run {
			continue
		}
		out = append(out, n.Address)
		if ids && n.Current != "" {
			out = append(out, n.Current)
		}
	}
	return out
}

// completeAddresses gives the addresses in the state.
func (a *app) completeAddresses() []string {
	var out []string
	for _, n := range a.completionNames() {
		out = append(out, n.Address)
	}
	return out
}

// completionNames gives what is in the state, by the short way where there is one.
func (a *app) completionNames() []state.Name {
	if names, ok := a.store(0).Names(); ok {
		return names
	}
	return state.NamesOf(a.completionState())
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
