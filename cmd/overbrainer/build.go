package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// plan builds a plan from the configuration, the state, the catalog and what
// exists, and remembers the catalog for the next one.
func (p *project) plan(ctx context.Context, o planning) (*plan.Plan, error) {
	if err := p.knownTargets(o); err != nil {
		return nil, err
	}
	in := plan.Input{
		Config: p.cfg, State: p.st, Version: version, Now: p.app.stamp(), Holder: holder(),
		Catalog:     p.catalog,
		Volumes:     p.listVolumes,
		Templates:   p.listTemplates,
		Files:       newProjectFS(p.app.dir),
		Destroy:     o.destroy,
		RefreshOnly: o.refreshOnly,
		Targets:     o.targets,
		Replace:     o.replace,
		Seen:        p.app.seenCatalogs(),
		Shapes:      plan.LocalShapes(os.DirFS(p.app.dir), p.app.newHub().shape),
		Simulated:   len(p.simulated()) > 0 && len(p.simulated()) == len(p.rented),

		DestroyVolumes: o.volumes,
	}
	if o.refresh {
		in.FreshPod, in.UnseenEnd, in.Reread = p.freshPod, p.unseenEnd, p.store.Read
		in.Pods, in.Pod, in.Secrets = p.listPods, p.getPod, p.listSecrets
	}
	pl, err := plan.Build(ctx, in)
	if err != nil {
		return nil, err
	}
	p.fold(pl)
	p.app.rememberCatalogs(pl.Seen())
	return pl, nil
}

// freshPod is how long the account of a provider may not show what was just
// made, in real time.
func (p *project) freshPod(name string) time.Duration {
	return apply.Production().Scaled(p.rented[name].Configured.Speed).FreshPod
}

// unseenEnd is until when a pod that is gone is reckoned to have billed.
func (p *project) unseenEnd(name string, run *state.Run) (time.Time, bool) {
	return apply.UnseenEnd(run, apply.Production().Scaled(p.rented[name].Configured.Speed))
}

// running gives a provider that was configured.
func (p *project) running(name string) (providers.Provider, error) {
	if r, ok := p.rented[name]; ok {
		return r.Provider, nil
	}
	return nil, &problem{code: "provider", message: fmt.Sprintf("provider %q is not configured", name),
		hint: "put back its block: the state still has something of it"}
}

func (p *project) catalog(ctx context.Context, name string, q providers.CatalogQuery) (providers.Catalog, error) {
	r, err := p.running(name)
	if err != nil {
		return providers.Catalog{}, err
	}
	defer p.app.tellWaiting(name)()
	return r.Catalog(ctx, q)
}

func (p *project) listPods(ctx context.Context, name string) (providers.PodList, error) {
	r, err := p.running(name)
	if err != nil {
		return providers.PodList{}, err
	}
	defer p.app.tellWaiting(name)()
	return r.ListPods(ctx)
}

func (p *project) getPod(ctx context.Context, name, id string) (providers.Pod, error) {
	r, err := p.running(name)
	if err != nil {
		return providers.Pod{}, err
	}
	return r.GetPod(ctx, id)
}

func (p *project) listSecrets(ctx context.Context, name string) ([]providers.Secret, error) {
	r, err := p.running(name)
	if err != nil || !p.rented[name].Description.Has(providers.CapSecrets) {
		return nil, err
	}
	return r.ListSecrets(ctx, "")
}

func (p *project) listVolumes(ctx context.Context, name string) ([]providers.Volume, error) {
	r, err := p.running(name)
	if err != nil || !p.rented[name].Description.Has(providers.CapVolumes) {
		return nil, err
	}
	defer p.app.tellWaiting(name)()
	return r.ListVolumes(ctx)
}

func (p *project) listTemplates(ctx context.Context, name string) ([]providers.Template, error) {
	r, err := p.running(name)
	if err != nil || !p.rented[name].Description.Has(providers.CapTemplates) {
		return nil, err
	}
	return r.ListTemplates(ctx)
}
