package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/state"
)

// Current is what is here when a plan file is to be executed.
type Current struct {
	Version string // of overbrainer
	State   *state.State
	Where   string // of the state
	// Project is the name of the project here. Together with Where it tells
	// projects apart that have no state yet.
	Project string
	// Sources is the configuration's text here; nil: there is none, as on a
	// machine that only executes plans.
	Sources map[string][]byte
	// Variables are their values here, as Variable.JSON gives them; a sensitive
	// one is left out. Nil: not compared.
	Variables map[string]json.RawMessage
	// Config is the plan file's own configuration, evaluated here: its runs'
	// inputs are the uploads as they are now. Nil: not compared.
	Config *config.Config
}

// Stale is a reason why a plan file is not to be executed.
type Stale struct {
	// Code: version, other_project, state_moved, config_changed,
	// variables_changed, uploads_changed.
	Code    string
	Message string
}

func (s Stale) Error() string { return s.Message + "; nothing was done, plan again" }

// Stale compares the file with what is here. The first reason is the one to
// show; none means that the plan can be executed as it is.
func (f *File) Stale(cur Current) []Stale {
	var list []Stale
	add := func(code, format string, args ...any) {
		list = append(list, Stale{Code: code, Message: fmt.Sprintf(format, args...)})
	}
	p := f.Plan
	if cur.Version != p.OverbrainerVersion {
		add("version", "the plan was made by overbrainer %s, this is %s", p.OverbrainerVersion, cur.Version)
	}
	if cur.State != nil {
		lineage := cur.State.Lineage
		other := lineage != p.Project.Lineage
		if p.Project.Lineage == "" {
			// Made before there was a state. A checkout of the same project
			// elsewhere, such as another machine's, has none either.
			other = f.State != cur.Where && (lineage != "" || cur.Project != p.Project.Name)
		}
		switch {
		case other:
			add("other_project", "the plan was made for another project's state: %s (%s), here is %s (%s)", f.State, lineageWord(p.Project.Lineage), cur.Where, lineageWord(lineage))
		case p.moved(cur.State):
			add("state_moved", "the state has moved on since the plan was made: serial %d -> %d", p.Project.Serial, cur.State.Serial)
		}
	}
	if cur.Sources != nil {
		if names := changedSources(f.Sources, cur.Sources); len(names) > 0 {
			add("config_changed", "the configuration has changed since the plan was made: %s", strings.Join(names, ", "))
		}
	}
	if names := f.changedVariables(cur.Variables); len(names) > 0 {
		add("variables_changed", "variables have other values than when the plan was made: %s", strings.Join(names, ", "))
	}
	if cur.Config != nil {
		if names := f.changedRuns(cur.Config); len(names) > 0 {
			add("uploads_changed", "what runs are made of has changed since the plan was made: %s", strings.Join(names, ", "))
		}
	}
	return list
}

// moved reports whether the state is another one for the plan: a newer serial
// alone is not, for whoever works on something raises it all the time.
func (p *Plan) moved(st *state.State) bool {
	now, err := Basis(st)
	return err != nil || now != p.Project.StateDigest
}

func lineageWord(lineage string) string {
	if lineage == "" {
		return "new"
	}
	return "lineage " + lineage
}

func changedSources(then map[string]string, now map[string][]byte) []string {
	var names []string
	for name, text := range then {
		have, there := now[name]
		switch {
		case !there:
			names = append(names, name+" is gone")
		case !bytes.Equal(have, []byte(text)):
			names = append(names, name)
		}
	}
	for name := range now {
		if _, there := then[name]; !there {
			names = append(names, name+" is new")
		}
	}
	sort.Strings(names)
	return names
}

func (f *File) changedVariables(now map[string]json.RawMessage) []string {
	var names []string
	for name, value := range f.Variables {
		have, there := now[name]
		if there && !sameJSON(have, value) {
			names = append(names, "var."+name)
		}
	}
	sort.Strings(names)
	return names
}

// changedRuns names the inputs that differ, by run where nothing finer is
// known.
func (f *File) changedRuns(c *config.Config) []string {
	specs := map[string]*RunSpec{}
	for _, s := range f.Plan.Steps {
		if s.Run != nil {
			specs[s.Address] = s.Run
		}
	}
	set := map[string]string{}
	for _, run := range c.Runs {
		want := f.Fingerprints[run.Address]
		if want == "" || run.Fingerprint == "" || want == run.Fingerprint {
			continue
		}
		found := false
		if spec := specs[run.Address]; spec != nil {
			now := publicInputs(run)
			for name, sum := range now.All() {
				if spec.Inputs.Sum(name) != sum {
					set[name], found = "", true
				}
			}
			for name := range spec.Inputs.All() {
				if now.Sum(name) == "" {
					set[name+" (gone)"], found = "", true
				}
			}
		}
		if !found {
			set["inputs of "+run.Address] = ""
		}
	}
	return sortedKeys(set)
}
