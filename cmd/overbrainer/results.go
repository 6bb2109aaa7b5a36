package main

import (
	"encoding/json"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// results gives what the ended runs of the state left that will not run again,
// by address.
func results(st *state.State, cfg *config.Config) map[string]config.RunResult {
	out := map[string]config.RunResult{}
	settled := plan.Settled(st, nil)
	for _, address := range st.Addresses() {
		r := st.Resources[address]
		switch {
		case r.Volume != nil && r.Volume.ID != "":
			out[address] = config.RunResult{ID: r.Volume.ID}
		case r.Run != nil && r.Run.CurrentRun() != nil:
			rerun := ""
			if run := cfg.Run(address); run != nil {
				rerun = run.Lifecycle.Rerun
			}
			if result, ok := settled(address, r.Run.CurrentRun().Fingerprint, rerun); ok {
				out[address] = result
			}
		}
	}
	return out
}

// jsonValue turns a value into what encoding/json gives.
func jsonValue(v cty.Value) (any, error) {
	data, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		return nil, err
	}
	var out any
	return out, json.Unmarshal(data, &out)
}

// forConfig hands the engine's results to the configuration.
func forConfig(done map[string]apply.RunResult) map[string]config.RunResult {
	out := make(map[string]config.RunResult, len(done))
	for address, r := range done {
		out[address] = config.RunResult(r)
	}
	return out
}
