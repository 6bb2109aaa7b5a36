package main

import (
	"context"

	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/plan"
)

func showCommand(a *app) *command {
	asJSON := false
	return &command{
		name:     "show",
		synopsis: "the state, or a plan file",
		usage:    "[-json] [FILE]",
		text: `Shows what the state holds, or what a plan file would do. A plan file that the
		state has moved on from is shown all the same, and said to be stale.`,
		example:  "$ overbrainer show\n$ overbrainer show -json p | jq .cost",
		most:     1,
		register: func(f *flags) { f.boolean(&asJSON, "json", "as JSON") },
		run: func(ctx context.Context, args []string) error {
			if len(args) == 1 {
				return a.showPlanFile(ctx, args[0], asJSON)
			}
			st, err := a.readState(ctx)
			if err != nil {
				return err
			}
			if asJSON {
				return ui.JSONLine(a.out, struct {
					FormatVersion string `json:"format_version"`
					Lineage       string `json:"lineage"`
					Serial        uint64 `json:"serial"`
					Resources     any    `json:"resources"`
					Claims        any    `json:"claims"`
					Spend         any    `json:"spend"`
					Outputs       any    `json:"outputs"`
				}{plan.FormatVersion, st.Lineage, st.Serial, orEmpty(st.Resources), orEmpty(st.Claims), orEmpty(st.Spend), orEmpty(st.Outputs)})
			}
			return ui.State(a.out, st, a.outLook())
		},
	}
}

func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}
