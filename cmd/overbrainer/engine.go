package main

import (
	"context"

	"golang.org/x/crypto/ssh"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// engine puts together what executes a plan.
func (p *project) engine(e effects, pl *plan.Plan, emit func(apply.Event), interrupts <-chan struct{}) (*apply.Engine, error) {
	keys, err := p.app.keys()
	if err != nil {
		return nil, err
	}
	if pl == nil {
		pl = &plan.Plan{}
	}
	return bounded(&apply.Engine{
		Store:       p.store,
		Providers:   p.rented,
		Keys:        keys,
		Secrets:     p.app.readSecret,
		Evaluator:   &evaluator{cfg: p.cfg, plan: pl},
		Dial:        p.app.logs.dialer(apply.SSH),
		Program:     apply.Bootstrap,
		Timing:      apply.Production(),
		Now:         p.app.now,
		Emit:        emit,
		Redactor:    p.app.redactor,
		Project:     p.app.dir,
		Interrupts:  interrupts,
		Who:         holder(),
		Parallelism: e.parallelism,
		Version:     version,
	}), nil
}

// keys says where the keys of runs come from: derived from OVERBRAINER_KEY, so
// that every machine that has it can go on with a run, or random ones in files.
func (a *app) keys() (apply.KeySource, error) {
	secret := a.environ("OVERBRAINER_KEY")
	if secret == "" {
		return apply.FileKeys{}, nil
	}
	return apply.NewDerivedKeys(secret)
}

// dial connects to the pod of a run, to look.
func (p *project) dial(ctx context.Context, run *state.Run) (apply.Machine, error) {
	keys, err := p.app.keys()
	if err != nil {
		return nil, err
	}
	signer, err := keys.ClientKey(p.app.path(run.Dir), p.st.Lineage, run.ID)
	if err == nil {
		err = apply.KeyFits(run, signer)
	}
	if err != nil {
		return nil, err
	}
	host, _, _, _, err := ssh.ParseAuthorizedKey([]byte(run.HostKey))
	if err != nil {
		return nil, err
	}
	metrics := "metrics.jsonl"
	if p.cfg != nil {
		for _, r := range p.cfg.Runs {
			if current, ok := p.st.Resources[r.Address]; ok && current.Run != nil && current.Run.Find(run.ID) != nil {
				metrics = r.Metrics
			}
		}
	}
	at := run.Pod.SSH
	return p.app.logs.dialer(apply.SSH)(ctx, apply.Target{
		Host: at.Host, Port: at.Port, User: at.User, Signer: signer, HostKey: host,
		RunID: run.ID, RunDir: run.Pod.WorkDir, Metrics: metrics,
	})
}
