package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// maxText bounds a command, a setup and one variable's value: Linux takes no
// longer argument or variable.
const maxText = 128 << 10

// readJob reads what the job is: the arguments that may hang on other runs.
func (s *session) readJob(r *reader, run *Run) {
	s.readCommand(r, run)
	s.readSetup(r, run)
	run.Env = s.readMap(r, run, "env", "env ")
	for _, name := range slices.Sorted(maps.Keys(run.Env)) {
		f := r.get("env")
		r.variableName(f.rng, name)
		r.checkText(f.rng, "env "+name, run.Env[name])
	}
	run.Triggers = s.readMap(r, run, "triggers", "trigger ")
	s.readResume(r, run)
}

// take notes what a value hangs on, and reports whether it is known.
func (r *reader) take(run *Run, part string, t traits, known bool) bool {
	run.DependsOn = append(run.DependsOn, t.sources...)
	if t.sensitive {
		run.Sensitive = insert(run.Sensitive, part)
	}
	if !known {
		run.Late = insert(run.Late, part)
	}
	return known
}

func insert(list []string, s string) []string {
	if i, found := slices.BinarySearch(list, s); !found {
		return slices.Insert(list, i, s)
	}
	return list
}

func (s *session) readCommand(r *reader, run *Run) {
	f := r.get("command")
	if !f.set || f.bad {
		return
	}
	if !r.take(run, "command", f.traits, !f.unknown) {
		return
	}
	if f.val.Type() == cty.String {
		text := f.val.AsString()
		if strings.TrimSpace(text) == "" {
			r.fail(f.rng, "empty command", "`command` is empty")
			return
		}
		r.checkText(f.rng, "command", text)
		run.Command = []string{"sh", "-c", text}
		return
	}
	argv, ok := r.strings(f)
	ty := f.val.Type()
	switch {
	case !ok && (ty.IsTupleType() || ty.IsListType()):
		r.fail(f.rng, "wrong type", "`command` is a list of strings, the program and its arguments, and this list holds something else, or null")
	case !ok || ty.IsMapType() || ty.IsObjectType() || ty.IsSetType():
		r.fail(f.rng, "wrong type", "`command` is a list, the program and its arguments, or a string for a shell; this is %s", friendly(f.val))
	case len(argv) == 0 || argv[0] == "":
		r.fail(f.rng, "empty command", "`command` has no program")
	default:
		for _, arg := range argv {
			r.checkText(f.rng, "command", arg)
		}
		run.Command = argv
	}
}

func (s *session) readSetup(r *reader, run *Run) {
	f := r.get("setup")
	if !f.set || f.bad || !r.take(run, "setup", f.traits, !f.unknown) {
		return
	}
	run.Setup = f.val.AsString()
	r.checkText(f.rng, "setup", run.Setup)
}

// checkText refuses what no program can be given.
func (r *reader) checkText(rng hcl.Range, part, text string) {
	switch {
	case strings.Contains(text, "\x00"):
		r.fail(rng, "byte 0", "%s holds a byte 0, which cannot be given to a program", part)
	case len(text) >= maxText:
		r.fail(rng, "too long", "%s has %d bytes, and at most %d can be given to a program; put it into a file and upload that", part, len(text), maxText-1)
	}
}

// readMap reads a map of strings, entry by entry: one that is not known yet
// does not hide the others.
func (s *session) readMap(r *reader, run *Run, name, prefix string) map[string]string {
	f := r.get(name)
	if !f.set || f.bad {
		return nil
	}
	whole, marks := f.raw.Unmark()
	var t traits
	t.add(marks)
	if !whole.IsKnown() {
		r.take(run, name, t, false)
		return nil
	}
	run.DependsOn = append(run.DependsOn, t.sources...)
	out := map[string]string{}
	for it := whole.ElementIterator(); it.Next(); {
		k, v := it.Element()
		v, inner := unmark(v)
		inner.sensitive = inner.sensitive || t.sensitive
		part := prefix + k.AsString()
		if v.IsKnown() && v.IsNull() || !r.take(run, part, inner, v.IsKnown()) {
			continue
		}
		out[k.AsString()] = v.AsString()
	}
	return out
}
