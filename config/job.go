package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
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

// readResume reads the run whose snapshot this one starts from.
func (s *session) readResume(r *reader, run *Run) {
	f := r.get("resume_from")
	if !f.set || f.bad {
		return
	}
	addr, ok := s.referenced(r, f, "run")
	if !ok {
		return
	}
	run.DependsOn = append(run.DependsOn, addr)
	run.ResumeFrom = addr
	if _, ended := s.resultOf(addr); !ended {
		run.Late = insert(run.Late, "resume_from")
	}
}

// dependsOn gives the addresses that depends_on names.
func (s *session) dependsOn(d *decl) []string {
	attr := d.block.Body.Attributes["depends_on"]
	if attr == nil {
		return nil
	}
	var out []string
	exprs, _ := hcl.ExprList(attr.Expr)
	for _, expr := range exprs {
		trav, diags := hcl.AbsTraversalForExpr(expr)
		if diags.HasErrors() || len(trav) < 2 {
			continue
		}
		step, ok := trav[1].(hcl.TraverseAttr)
		if !ok {
			continue
		}
		to := s.p.decls[trav.RootName()+"."+step.Name]
		if to == nil {
			continue
		}
		found := s.p.addresses(to)
		if len(trav) > 2 {
			want := addressOf(trav)
			if !slices.Contains(found, want) {
				if !to.failed && !to.bad {
					s.report(at(expr.Range(), "no such instance", hint(want+" does not exist", didYouMean(want, found, ""))))
				}
				continue
			}
			found = []string{want}
		}
		out = append(out, found...)
	}
	return out
}

// addresses lists the instances of a block.
func (p *program) addresses(d *decl) []string {
	var out []string
	for _, ri := range p.runs[d] {
		out = append(out, ri.run.Address)
	}
	for _, v := range p.volumes[d] {
		out = append(out, v.Address)
	}
	for _, t := range p.targets[d] {
		out = append(out, t.Address)
	}
	return out
}

// addressOf writes a reference as an address.
func addressOf(trav hcl.Traversal) string {
	addr := trav.RootName() + "." + trav[1].(hcl.TraverseAttr).Name
	if len(trav) < 3 {
		return addr
	}
	index, ok := trav[2].(hcl.TraverseIndex)
	if !ok {
		return addr
	}
	if index.Key.Type() == cty.Number {
		n, _ := index.Key.AsBigFloat().Int64()
		return instanceAddr(addr, int(n))
	}
	if index.Key.Type() == cty.String {
		return instanceAddr(addr, index.Key.AsString())
	}
	return addr
}

// keepPod reads how long the pod stays.
func (r *reader) keepPod() time.Duration {
	v, f := r.str("keep_pod")
	if !f.usable() {
		return 0
	}
	if v == "forever" {
		return Forever
	}
	d, err := parseDuration(v)
	if err != nil || d > maxDuration {
		r.fail(f.rng, "not a duration", "`keep_pod` is how long the pod stays after the job's end: a duration up to 720h, such as \"2h\", or \"forever\"; this is %s", quote(v))
		return 0
	}
	return d
}

var signals = []string{"SIGUSR1", "SIGUSR2", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGCONT"}

func (s *session) readSnapshot(r *reader, run *Run) {
	nested := r.nested("snapshot")
	if len(nested) == 0 {
		return
	}
	if len(nested) > 1 && nested[1].extra != nil {
		r.fail(nested[1].rng, "second snapshot block", "%s has more than one snapshot block", run.Address)
	}
	n := &reader{s: s, d: r.d, body: nested[0].body, schema: r.schema.blocks["snapshot"], inst: r.inst, prefix: "snapshot.", extra: nested[0].extra, header: nested[0].rng}
	snap := &Snapshot{Path: n.relative("path")}
	if snap.Path == "" {
		snap.Path = "output/checkpoint-{step}"
	}
	snap.Grace = n.duration("grace", 30*time.Minute, 0, 24*time.Hour)
	snap.Every = n.duration("every", 0, time.Minute, maxDuration)
	if sig, f := n.str("signal"); f.usable() {
		if !strings.HasPrefix(sig, "SIG") {
			sig = "SIG" + sig
		}
		if !slices.Contains(signals, sig) {
			n.fail(f.rng, "not a signal", "%s", hint("`signal` is one of "+list(signals), meant(sig, signals)))
		}
		snap.Signal = sig
	}
	r.failed = r.failed || n.failed
	run.Snapshot = snap
}

// relative reads a path in the run's directory.
func (r *reader) relative(name string) string {
	v, f := r.str(name)
	if !f.usable() {
		return ""
	}
	if !cleanRelative(v) {
		r.fail(f.rng, "not a path of the run", "`%s` is a path in the run's directory: relative, with /, without . and ..; this is %s", name, quote(v))
		return ""
	}
	return v
}

func cleanRelative(v string) bool {
	if v == "" || strings.HasPrefix(v, "/") || strings.ContainsAny(v, "\x00\n\\") {
		return false
	}
	for part := range strings.SplitSeq(v, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

func (s *session) readLifecycle(r *reader, run *Run) {
	run.Lifecycle.Rerun = "on_failure"
	for _, n := range r.nested("lifecycle") {
		for _, name := range []string{"rerun", "prevent_destroy"} {
			attr := n.body.Attributes[name]
			if attr == nil {
				continue
			}
			v, diags := attr.Expr.Value(nil)
			if diags.HasErrors() {
				r.fail(attr.Expr.Range(), "not a constant", "`%s` is a plain value: it cannot use other values or functions", name)
				continue
			}
			s.lifecycle(r, run, name, v, attr.Expr.Range())
		}
	}
}

func (s *session) lifecycle(r *reader, run *Run, name string, v cty.Value, rng hcl.Range) {
	if v.IsNull() {
		return
	}
	if name == "prevent_destroy" {
		b, err := convert.Convert(v, cty.Bool)
		if err != nil {
			r.fail(rng, "wrong type", "`prevent_destroy` must be true or false")
			return
		}
		run.Lifecycle.PreventDestroy = b.True()
		return
	}
	choices := []string{"on_failure", "on_change", "manual"}
	if v.Type() != cty.String || !slices.Contains(choices, v.AsString()) {
		got := ""
		if v.Type() == cty.String {
			got = v.AsString()
		}
		r.fail(rng, "not one of the choices", "%s", hint(fmt.Sprintf("`rerun` is one of %s", quoteList(choices)), meant(got, choices)))
		return
	}
	run.Lifecycle.Rerun = v.AsString()
}
