package config

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
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
		ri := &runInstance{inst: inst, run: &Run{
			Address: inst.addr, Name: d.name, Key: inst.key, Range: d.rng, AttrRanges: ranges,
			DependsOn: slices.Clone(order),
		}}
		s.reading(d, inst, func(r *reader) { s.readRun(r, ri, len(instances)) })
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
	own := s.ownInputs(run)
	if s.p.opt.Unread {
		return
	}
	run.Inputs = inputs(own, ri.set, siblings)
	if len(run.Late) > 0 {
		return
	}
	run.Fingerprint = fingerprint(own, ri.set)
	if s.p.opt.Settled != nil {
		if result, ok := s.p.opt.Settled(run.Address, run.Fingerprint, run.Lifecycle.Rerun); ok {
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
	s.warnWaits(run.Target, run.Cap)
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

// warnWaits points out a pod that ends itself while it is still waited for. Both
// are told once.
func (s *session) warnWaits(t *Target, c *Cap) {
	both := t.Address + " " + c.Address
	if t.ReadyTimeout <= c.BootGrace || s.waits[both] {
		return
	}
	if s.waits == nil {
		s.waits = map[string]bool{}
	}
	s.waits[both] = true
	rng := attrOr(t.AttrRanges, "ready_timeout", t.Range)
	if own, set := c.AttrRanges["boot_grace"]; set {
		rng = own
	}
	s.report(warnAt(rng, "a pod ends before the wait for it", fmt.Sprintf(
		"%s waits %s for a pod (ready_timeout), and by %s a pod on which no job has started ends itself after %s (boot_grace); make boot_grace the longer one",
		t.Address, formatDuration(t.ReadyTimeout), c.Address, formatDuration(c.BootGrace))))
}

// attrOr is the place of an argument, or of the block where it is not set.
func attrOr(ranges map[string]hcl.Range, name string, otherwise hcl.Range) hcl.Range {
	if rng, ok := ranges[name]; ok {
		return rng
	}
	return otherwise
}
