package plan

import (
	"encoding/json"
	"sort"
	"time"

	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/state"
)

// RunSpecOf gives the specification of a configured run as the plan has it,
// without a target that the catalog or the account would complete: an
// Evaluator takes over what it makes known and keeps the plan's target.
// Sensitive values are in it; it must not be stored.
func RunSpecOf(run *config.Run) RunSpec {
	spec := RunSpec{
		Provider: run.Target.Provider, Cap: capSpec(run.Cap), Command: run.Command, Setup: run.Setup, Env: run.Env,
		Outputs: run.Outputs, AllowEmpty: run.AllowEmpty, Metrics: run.Metrics, MetricsRequired: run.MetricsSet,
		KeepPodS: seconds(run.KeepPod), PreventDestroy: run.Lifecycle.PreventDestroy,
		Fingerprint: run.Fingerprint, Inputs: publicInputs(run), Late: run.Late, Where: where(run.Range), Try: 1,
		Uploads: run.Uploads,
	}
	if spec.Uploads == nil {
		spec.Uploads = []Upload{}
	}
	if spec.Outputs == nil {
		spec.Outputs = []string{}
	}
	if spec.Command == nil {
		spec.Command = []string{}
	}
	if len(run.Secrets) > 0 {
		spec.Secrets = map[string]SecretSpec{}
		for variable, s := range run.Secrets {
			spec.Secrets[variable] = SecretSpec{Name: s.Name, Env: s.Env, File: s.File, Command: s.Command}
		}
	}
	if s := run.Snapshot; s != nil {
		spec.Snapshot = &SnapshotSpec{Path: s.Path, GraceS: seconds(s.Grace), EveryS: seconds(s.Every), Signal: s.Signal}
	}
	return spec
}

// runSpec is RunSpecOf without sensitive values and with the target resolved
// as far as the account tells; offers come later.
func (b *builder) runSpec(run *config.Run) *RunSpec {
	spec := RunSpecOf(run)
	spec.Target = b.target(run.Target).spec
	if run.ResumeFrom != "" {
		spec.ResumeFrom = b.resumeFrom(run)
	}
	spec.dropSensitive(run.Sensitive)
	return &spec
}

// dropSensitive takes the named parts out; they are given again by the
// Evaluator.
func (s *RunSpec) dropSensitive(parts []string) {
	if len(parts) == 0 {
		return
	}
	env := map[string]string{}
	for name, value := range s.Env {
		if !has(parts, "env "+name) {
			env[name] = value
		}
	}
	s.Env = env
	if has(parts, "command") {
		s.Command = []string{}
	}
	if has(parts, "setup") {
		s.Setup = ""
	}
	s.Sensitive = parts
	late := append([]string{}, s.Late...)
	for _, part := range parts {
		if !has(late, part) {
			late = append(late, part)
		}
	}
	sort.Strings(late)
	s.Late = late
}

func capSpec(c *config.Cap) CapSpec {
	return CapSpec{
		Address: c.Address, Where: where(c.Range), MaxHours: c.MaxHours, MaxCostUSD: c.MaxCostUSD, MaxTotalUSD: c.MaxTotalUSD,
		BootGraceS: seconds(c.BootGrace), RetrieveGraceS: seconds(c.RetrieveGrace), OverrunHours: c.OverrunHours,
		StallAfterS: seconds(c.StallAfter), MaxVolumeGB: c.MaxVolumeGB, ExpectedHours: c.ExpectedHours,
	}
}

// seconds gives whole seconds, -1 for a duration without end.
func seconds(d time.Duration) int {
	if d == config.Forever {
		return -1
	}
	return int(d / time.Second)
}

// beforeRun is what the state says of a run.
func beforeRun(run *state.Run) json.RawMessage {
	if run == nil {
		return json.RawMessage("null")
	}
	before := map[string]any{
		"id": run.ID, "state": run.Phase, "dir": run.Dir, "fingerprint": run.Fingerprint, "cost_usd": run.CostUSD,
		"retrieved": run.Retrieved, "try": run.Try,
	}
	if run.Reason != "" {
		before["reason"] = run.Reason
	}
	if run.GPUType != "" {
		before["gpu_type"] = run.GPUType
	}
	if run.ExitCode != nil {
		before["exit_code"] = *run.ExitCode
	}
	if p := run.Pod; p != nil && !p.Gone() {
		before["pod_id"] = p.ID
	}
	return raw(before)
}

// afterRun is what the configuration says, as far as it is known and may be
// shown.
func afterRun(run *config.Run, spec *RunSpec) json.RawMessage {
	t := spec.Target
	after := map[string]any{
		"target": t.Address, "cap": spec.Cap.Address, "gpu_types": t.GPUTypes, "gpu_count": t.GPUCount, "cloud": t.Cloud,
		"container_disk_gb": t.DiskGB, "container_disk_from": t.DiskFrom, "outputs": spec.Outputs, "uploads": len(spec.Uploads),
		"upload_bytes": run.UploadBytes, "max_hours": spec.Cap.MaxHours,
	}
	set := func(name string, value any, there bool) {
		if there {
			after[name] = value
		}
	}
	set("image", t.Image, t.Image != "")
	set("template", t.Template, t.Template != "")
	set("volume", t.Volume, t.Volume != "")
	set("data_centers", t.DataCenters, len(t.DataCenters) > 0)
	set("fingerprint", spec.Fingerprint, spec.Fingerprint != "")
	set("command", spec.Command, !has(spec.Late, "command"))
	set("setup", spec.Setup, spec.Setup != "")
	set("max_cost_usd", spec.Cap.MaxCostUSD, spec.Cap.MaxCostUSD > 0)
	set("keep_pod_s", spec.KeepPodS, spec.KeepPodS != 0)
	env := map[string]any{}
	for name, value := range spec.Env {
		env[name] = value
	}
	for _, part := range spec.Sensitive {
		if name, ok := cutEnv(part); ok {
			env[name] = "(sensitive)"
		} else {
			after[part] = "(sensitive)"
		}
	}
	for name := range spec.Secrets {
		env[name] = "(secret)"
	}
	set("env", env, len(env) > 0)
	return raw(after)
}

func cutEnv(part string) (string, bool) {
	const prefix = "env "
	if len(part) > len(prefix) && part[:len(prefix)] == prefix {
		return part[len(prefix):], true
	}
	return "", false
}

// unknownAfter names what only executing the step will tell.
func unknownAfter(a Action, spec *RunSpec) []string {
	var list []string
	switch a {
	case Run, Rerun, Resume, Attach, Collect:
		list = append(list, "cost_usd", "dir", "gpu_type", "id", "metrics", "output_dir", "seconds", "state")
	}
	for _, part := range spec.Late {
		if !has(spec.Sensitive, part) {
			list = append(list, part)
		}
	}
	sort.Strings(list)
	return list
}

// raw encodes a value of the plan's own making.
func raw(v any) json.RawMessage {
	data, err := oneLine(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}
