package config

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/overbrainer/overbrainer/internal/glob"
	"github.com/zclconf/go-cty/cty"
)

const (
	defaultMetrics  = "metrics.jsonl"
	defaultUploadGB = 10
)

// runInstance is a run with what evaluating it again needs.
type runInstance struct {
	run  *Run
	inst *instance
	set  *uploadSet
	// unknown is what expressions see of it before it has ended.
	unknown cty.Value
	result  *RunResult
}

// runBlock reads a run block into its instances.
func (s *session) runBlock(d *decl) {
	instances, expanded := s.expand(d)
	if !expanded {
		d.failed = true
		return
	}
	s.p.instances += len(instances)
	if s.p.instances > maxInstances {
		s.report(at(d.rng, "too many instances", "there are more runs than overbrainer can plan"))
		d.failed = true
		return
	}
	ranges := attrRanges(d.block.Body)
	order := s.dependsOn(d)
	for _, inst := range instances {
		r := s.reader(d, inst)
		ri := &runInstance{inst: inst, run: &Run{
			Address: inst.addr, Name: d.name, Key: inst.key, Range: d.rng, AttrRanges: ranges,
			DependsOn: slices.Clone(order),
		}}
		s.readRun(r, ri, len(instances))
		s.p.runs[d] = append(s.p.runs[d], ri)
		s.p.cfg.Runs = append(s.p.cfg.Runs, ri.run)
	}
}

// readRun reads one instance. What hangs on runs that have not ended is left
// out, and its fingerprint with it.
func (s *session) readRun(r *reader, ri *runInstance, siblings int) {
	run := ri.run
	s.readPlace(r, run)
	s.readJob(r, run)
	s.readSecrets(r, run)
	s.readOutputs(r, run)
	run.MetricsSet = r.get("metrics").set
	if run.Metrics = r.relative("metrics"); run.Metrics == "" {
		run.Metrics = defaultMetrics
	}
	run.KeepPod = r.keepPod()
	s.readSnapshot(r, run)
	s.readLifecycle(r, run)
	ri.set = s.readUploads(r, run)
	slices.Sort(run.DependsOn)
	run.DependsOn = slices.Compact(run.DependsOn)
	s.warnJob(r, run, ri.set != nil)
	if r.failed {
		return
	}
	run.Inputs = s.inputs(run, ri.set, siblings)
	if len(run.Late) > 0 {
		return
	}
	run.Fingerprint = s.fingerprint(run, ri.set)
	if s.p.opt.Settled != nil {
		if result, ok := s.p.opt.Settled(run.Address, run.Fingerprint); ok {
			ri.result = &result
		}
	}
}

// readPlace reads where the run takes place and what it may spend.
func (s *session) readPlace(r *reader, run *Run) {
	if f := r.get("target"); f.usable() {
		if addr, ok := s.referenced(r, f, "target"); ok {
			run.Target = s.p.cfg.Targets[addr]
		}
	}
	if f := r.get("cap"); f.usable() {
		if addr, ok := s.referenced(r, f, "cap"); ok {
			run.Cap = s.p.cfg.Caps[addr]
		}
	}
	if run.Target == nil || run.Cap == nil {
		return
	}
	if v := run.Target.Volume; v != nil {
		if v.Managed() {
			run.DependsOn = append(run.DependsOn, v.Address)
		}
		if run.Cap.MaxVolumeGB > 0 && v.SizeGB > run.Cap.MaxVolumeGB {
			rng := attrOr(run.Cap.AttrRanges, "max_volume_gb", run.Cap.Range)
			r.fail(rng, "smaller than the volume", "%s lets a volume grow to %d GB, and %s, which %s uses, has %d GB already (%s)",
				run.Cap.Address, run.Cap.MaxVolumeGB, v.Address, run.Address, v.SizeGB, place(attrOr(v.AttrRanges, "size_gb", v.Range)))
		}
	}
}

// readSecrets reads which variable gets which secret.
func (s *session) readSecrets(r *reader, run *Run) {
	f := r.get("secrets")
	if !f.usable() {
		return
	}
	ty := f.val.Type()
	if !ty.IsObjectType() && !ty.IsMapType() {
		r.fail(f.rng, "wrong type", "`secrets` is a map from a variable's name to a secret, such as secrets = { HF_TOKEN = secret.hf }; this is %s", friendly(f.val))
		return
	}
	run.Secrets = map[string]*Secret{}
	for it := f.val.ElementIterator(); it.Next(); {
		k, v := it.Element()
		name := k.AsString()
		switch {
		case v.IsNull():
			continue
		case v.Type() != secretType:
			r.fail(f.rng, "not a secret", "`secrets` takes secret blocks, and the value of %s is %s; what is no secret belongs into `env`", name, friendly(v))
			continue
		case !r.variableName(f.rng, name):
			continue
		}
		if _, twice := run.Env[name]; twice || slices.Contains(run.Late, "env "+name) {
			r.fail(f.rng, "set twice", "the variable %s is set in `secrets` and in `env` (%s)", name, place(attrOr(run.AttrRanges, "env", run.Range)))
			continue
		}
		run.Secrets[name] = v.EncapsulatedValue().(*Secret)
	}
}

// variableName checks the name of a variable of the job's environment.
func (r *reader) variableName(rng hcl.Range, name string) bool {
	switch {
	case !envName.MatchString(name):
		r.fail(rng, "not a name of a variable", "%s is no name of an environment variable: letters, digits and _, not beginning with a digit", quote(name))
	case strings.HasPrefix(name, "OVERBRAINER_"):
		r.fail(rng, "name in use", "names that begin with OVERBRAINER_ are set by overbrainer; %s needs another", name)
	default:
		return true
	}
	return false
}

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

// attrOr is the place of an argument, or of the block where it is not set.
func attrOr(ranges map[string]hcl.Range, name string, otherwise hcl.Range) hcl.Range {
	if rng, ok := ranges[name]; ok {
		return rng
	}
	return otherwise
}
