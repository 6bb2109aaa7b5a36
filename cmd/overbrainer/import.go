package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

func importCommand(a *app) *command {
	var in inputs
	return &command{
		name:     "import",
		synopsis: "take an existing volume or pod into the state",
		usage:    "ADDR ID",
		text: `Takes a network volume of the account into the state under volume.NAME, as if
		overbrainer had made it, or a pod that carries one of this project's runs under
		run.NAME, so that it is known and destroy ends it.`,
		example: "$ overbrainer import volume.cache vol_abc123",
		exits:   []int{exitLocked},
		least:   2, most: 2,
		register: func(f *flags) { in.register(f) },
		run: func(ctx context.Context, args []string) error {
			p, err := a.open(ctx, in, reading{})
			if err != nil {
				return err
			}
			defer p.close()
			p.warn()
			address, id := args[0], args[1]
			switch {
			case strings.HasPrefix(address, "volume."):
				err = p.importVolume(ctx, address, id)
			case strings.HasPrefix(address, "run."):
				err = p.importPod(ctx, address, id)
			default:
				return &usageError{text: address + " is no address of a volume or run", hint: "it looks like volume.NAME or run.NAME"}
			}
			if err == nil {
				_, err = fmt.Fprintf(a.out, "%s is in the state as %s.\n", id, address)
			}
			return err
		},
	}
}

func (p *project) importVolume(ctx context.Context, address, id string) error {
	block, ok := p.cfg.Volumes[address]
	if !ok {
		return p.undeclared(address, slices.Collect(maps.Keys(p.cfg.Volumes)), "write its block first: its size and data center are those of the volume")
	}
	if err := p.configure(ctx, map[string]bool{block.Provider: true}); err != nil {
		return err
	}
	v, err := p.rented[block.Provider].Provider.GetVolume(ctx, id)
	if err != nil {
		return notImported("volume", id, err)
	}
	if block.DataCenter != "" && v.DataCenter != block.DataCenter {
		return &problem{code: "other_place", address: address, id: id,
			message: fmt.Sprintf("volume %s is in %s, the configuration says %s", id, v.DataCenter, block.DataCenter)}
	}
	return p.enter(ctx, address, func(st *state.State) (*state.Resource, error) {
		for other, r := range st.Resources {
			if r.Volume != nil && r.Volume.ID == id {
				return nil, &problem{code: "known", address: other, id: id, message: id + " is in the state already, as " + other}
			}
		}
		return &state.Resource{Type: "volume", Provider: block.Provider, Volume: &state.Volume{
			ID: v.ID, Name: v.Name, SizeGB: v.SizeGB, DataCenter: v.DataCenter, Type: v.Type,
			Managed: block.Managed(), Retain: block.Retain, MonthlyUSD: v.MonthlyUSD,
		}}, nil
	})
}

// undeclared says that the configuration has no such address, and which was
// likely meant.
func (p *project) undeclared(address string, known []string, otherwise string) error {
	hint := otherwise
	if near := nearestAddress(address, known); near != "" {
		hint = "did you mean " + near + "?"
	}
	return &problem{code: "no_such_address", address: address, message: address + " is not in the configuration", hint: hint}
}

// importPod makes a pod known that carries a run of this project which the
// state has lost. Its job cannot be followed without the run's keys, so it is
// a stray: listed, and ended by destroy.
func (p *project) importPod(ctx context.Context, address, id string) error {
	block := p.cfg.Run(address)
	if block == nil {
		var known []string
		for _, r := range p.cfg.Runs {
			known = append(known, r.Address)
		}
		return p.undeclared(address, known, "write its block first: import knows only what the configuration declares")
	}
	name := block.Target.Provider
	if err := p.configure(ctx, map[string]bool{name: true}); err != nil {
		return err
	}
	pod, err := p.rented[name].Provider.GetPod(ctx, id)
	if err != nil {
		return notImported("pod", id, err)
	}
	if err := p.mayImport(pod); err != nil {
		return err
	}
	return p.enter(ctx, address, func(st *state.State) (*state.Resource, error) {
		if other, run := st.FindRun(pod.Marker.RunID); run != nil {
			return nil, &problem{code: "known", address: other, id: run.ID, message: "run " + run.ID + " is in the state already, as " + other}
		}
		now := p.app.now().UTC()
		since := pod.CreatedAt // it has billed all the time
		if since.IsZero() {
			since = now
		}
		run := &state.Run{
			ID: pod.Marker.RunID, Phase: state.Failed, Reason: state.Lost, Message: "taken into the state by import",
			Dir: "runs/" + pod.Marker.RunID, Target: block.Target.Address, CreatedAt: pod.CreatedAt, EndedAt: &now,
			Strays:  []state.Stray{{PodID: pod.ID, Name: pod.Name, RateUSD: pod.RatePerHour, Since: since}},
			GPUType: pod.GPUType, DataCenter: pod.DataCenter, PodID: pod.ID, CostBasis: "estimated",
		}
		return &state.Resource{Type: "run", Provider: name, Run: &state.RunResource{Current: run.ID, Runs: []*state.Run{run}}}, nil
	})
}

// notImported names what could not be looked at.
func notImported(what, id string, err error) error {
	return &problem{code: describe(err).Code, id: id, message: fmt.Sprintf("%s %s cannot be imported: %v", what, id, err)}
}

func (p *project) mayImport(pod providers.Pod) error {
	switch {
	case pod.Marker.RunID == "":
		return &problem{code: "not_ours", id: pod.ID, message: "pod " + pod.ID + " was not rented by overbrainer: it carries no run",
			hint: "delete it in the provider's console"}
	case p.st.Lineage != "" && pod.Marker.Lineage != p.st.Lineage:
		return &problem{code: "other_project", id: pod.ID, message: "pod " + pod.ID + " is of another project's run " + pod.Marker.RunID}
	}
	return nil
}

// enter puts an entry at an address that is free.
func (p *project) enter(ctx context.Context, address string, make func(*state.State) (*state.Resource, error)) error {
	_, err := p.store.Update(state.Touching(ctx, address), func(st *state.State) error {
		if _, taken := st.Resources[address]; taken {
			return &problem{code: "address_taken", address: address, message: address + " is in the state already",
				hint: "overbrainer state rm " + plan.ShellWord(address) + " forgets it"}
		}
		if err := p.app.unclaimed(st, address); err != nil {
			return err
		}
		r, err := make(st)
		if err != nil {
			return err
		}
		if st.Resources == nil {
			st.Resources = map[string]*state.Resource{}
		}
		st.Resources[address] = r
		return nil
	})
	return err
}
