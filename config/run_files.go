package config

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/overbrainer/overbrainer/internal/glob"
	"github.com/zclconf/go-cty/cty"
)

// readOutputs reads what is brought home.
func (s *session) readOutputs(r *reader, run *Run) {
	run.AllowEmpty = r.boolean("allow_empty_outputs", false)
	f := r.get("outputs")
	if !f.set {
		if !f.bad && !run.AllowEmpty && !r.misnamed("outputs") {
			r.fail(r.header, "no outputs", "%s needs `outputs`, the files to bring home, such as outputs = [\"output/**\"]; or allow_empty_outputs = true, where there are none", r.d.addr())
		}
		return
	}
	globs, ok := r.strings(f)
	if f.usable() && !ok {
		r.fail(f.rng, "null in a list", "`outputs` holds null")
		return
	}
	positive := false
	for _, pattern := range globs {
		if err := glob.Check(pattern); err != nil {
			r.fail(f.rng, "not a path of the run", "the pattern %s %s; outputs lie in the run's directory on the pod", quote(pattern), err)
		}
		positive = positive || !strings.HasPrefix(pattern, "!")
	}
	if f.usable() && !positive && !run.AllowEmpty {
		r.fail(f.rng, "no outputs", "`outputs` selects nothing, and a run without results is not a success; write allow_empty_outputs = true where that is meant")
	}
	run.Outputs = globs
}

// readUploads reads what goes to the pod.
func (s *session) readUploads(r *reader, run *Run) *uploadSet {
	f := r.get("upload")
	limit, fl := r.number("max_upload_gb", defaultUploadGB, limits{above: true, atMost: 1e6, unit: "GB"})
	if !f.usable() {
		return &uploadSet{hashed: true}
	}
	entries, mapped, ok := r.uploadEntries(f)
	if !ok {
		return nil
	}
	set := s.p.uploads(entries, mapped)
	if gb := float64(set.bytes) / 1e9; gb > limit && len(set.faults) == 0 && !fl.bad {
		r.fail(f.rng, "very much to upload", "%d files with %.1f GB would be uploaded, and without more than %v is refused; leave some out with %s, or allow it with max_upload_gb = %d", len(set.files), gb, limit, IgnoreFile, int(gb)+1)
		return nil
	}
	if len(set.faults) == 0 {
		set.hash(s.p)
	}
	if len(set.faults) > 0 {
		for i, fault := range set.faults {
			if i == 20 {
				r.fail(f.rng, "more faults", "%d more paths of `upload` have faults", len(set.faults)-i)
				break
			}
			r.fail(r.element("upload", fault.index, f.rng), fault.summary, "%s", fault.detail)
		}
		return nil
	}
	run.Uploads, run.UploadBytes = set.out, set.bytes
	return set
}

// element is the place of an element of a list that is written out.
func (r *reader) element(name string, index int, otherwise hcl.Range) hcl.Range {
	if exprs, diags := hcl.ExprList(r.body.Attributes[name].Expr); !diags.HasErrors() && index >= 0 && index < len(exprs) {
		return exprs[index].Range()
	}
	return otherwise
}

// uploadEntries reads the two forms of `upload`.
func (r *reader) uploadEntries(f field) (entries []entry, mapped, ok bool) {
	ty := f.val.Type()
	switch {
	case ty == cty.String:
		return []entry{{source: f.val.AsString()}}, false, true
	case ty.IsObjectType() || ty.IsMapType():
		for it := f.val.ElementIterator(); it.Next(); {
			k, v := it.Element()
			if v.IsNull() || v.Type() != cty.String {
				r.fail(f.rng, "wrong type", "`upload` as a map leads from a name on the pod to a path of the project; the value of %s is %s", quote(k.AsString()), friendly(v))
				return nil, true, false
			}
			entries = append(entries, entry{dest: k.AsString(), source: v.AsString()})
		}
		return entries, true, true
	}
	list, ok := r.strings(f)
	if !ok {
		r.fail(f.rng, "wrong type", "`upload` is a list of paths and patterns, such as [\"train.py\", \"data/**\"], or a map from a name on the pod to a path; this is %s", friendly(f.val))
		return nil, false, false
	}
	for _, pattern := range list {
		entries = append(entries, entry{source: pattern})
	}
	return entries, false, true
}
