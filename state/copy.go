package state

import (
	"maps"
	"slices"
)

// copy gives a copy that shares nothing that can be changed with s, but for the
// values of outputs, which are replaced as a whole. It takes a fraction of what
// reading the document again does. Every field that points to something has its
// line below; a test looks for forgotten ones.
func (s *State) copy() *State {
	c := *s
	c.Writes = slices.Clone(s.Writes)
	c.Resources = make(map[string]*Resource, len(s.Resources))
	for address, r := range s.Resources {
		c.Resources[address] = r.copy()
	}
	c.Claims = maps.Clone(s.Claims)
	c.Catalogs = make(map[string]Catalog, len(s.Catalogs))
	for scope, catalog := range s.Catalogs {
		catalog.GPUs = slices.Clone(catalog.GPUs)
		for i := range catalog.GPUs {
			catalog.GPUs[i].DataCenters = maps.Clone(catalog.GPUs[i].DataCenters)
		}
		c.Catalogs[scope] = catalog
	}
	c.Spend = maps.Clone(s.Spend)
	c.Outputs = maps.Clone(s.Outputs)
	return &c
}

func (r *Resource) copy() *Resource {
	c := *r
	c.Volume = fresh(r.Volume)
	if r.Run != nil {
		runs := *r.Run
		runs.Runs = slices.Clone(runs.Runs)
		for i, run := range runs.Runs {
			runs.Runs[i] = run.Copy()
		}
		c.Run = &runs
	}
	return &c
}

// Copy gives a copy that shares nothing that can be changed with r.
func (r *Run) Copy() *Run {
	c := *r
	c.ExitCode, c.StartedAt, c.EndedAt = fresh(r.ExitCode), fresh(r.StartedAt), fresh(r.EndedAt)
	c.Job.Outputs = slices.Clone(r.Job.Outputs)
	c.Attempts = slices.Clone(r.Attempts)
	for i, a := range c.Attempts {
		attempt := *a
		attempt.Deadline, attempt.EndedAt = fresh(a.Deadline), fresh(a.EndedAt)
		c.Attempts[i] = &attempt
	}
	if p := fresh(r.Pod); p != nil {
		p.ReadyAt, p.Deadline, p.CostCapAt = fresh(p.ReadyAt), fresh(p.Deadline), fresh(p.CostCapAt)
		p.KeptUntil, p.LeasedUntil, p.SeenAt = fresh(p.KeptUntil), fresh(p.LeasedUntil), fresh(p.SeenAt)
		p.DeletedAt, p.SSH = fresh(p.DeletedAt), fresh(p.SSH)
		c.Pod = p
	}
	c.Strays, c.Secrets = slices.Clone(r.Strays), slices.Clone(r.Secrets)
	c.Snapshot, c.Unproven = fresh(r.Snapshot), fresh(r.Unproven)
	c.From, c.Previous = fresh(r.From), fresh(r.Previous)
	c.Metrics = maps.Clone(r.Metrics)
	return &c
}

// fresh copies what p points to.
func fresh[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
