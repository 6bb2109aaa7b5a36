package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

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
	n := &reader{s: s, d: r.d, body: nested[0].body, schema: r.schema.blocks["snapshot"], inst: r.inst, prefix: "snapshot.", extra: nested[0].extra, header: nested[0].rng, own: map[string]field{}}
	snap := &Snapshot{Path: n.relative("path")}
	if snap.Path == "" {
		snap.Path = "output/checkpoint-{step}"
	}
	snap.Grace = n.duration("grace", 30*time.Minute, 0, 24*time.Hour)
	snap.Every = n.duration("every", 0, time.Minute, maxDuration)
	n.checkpointsFound(snap)
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

// checkpointsFound says where checkpoints cannot be found: which of them is the newest
// is told by the step in their names.
func (r *reader) checkpointsFound(snap *Snapshot) {
	const example = "as in \"output/checkpoint-{step}\""
	switch n := strings.Count(snap.Path, "{step}"); {
	case r.failed || n == 1:
	case snap.Every > 0 || n > 1:
		r.fail(r.header, "no step in the path", "`path` has {step} once, where the number of the step stands, %s; this is %s", example, quote(snap.Path))
	default:
		r.s.report(warnAt(r.header, "No step in the path", fmt.Sprintf("Only a checkpoint that the job names in snapshot.json comes home by %s; others are found by {step} in `path`, %s.", quote(snap.Path), example)))
	}
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
