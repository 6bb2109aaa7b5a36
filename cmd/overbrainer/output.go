package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/state"
)

func outputCommand(a *app) *command {
	var asJSON, raw bool
	return &command{
		name:     "output",
		synopsis: "the values of output blocks as of the last apply",
		usage:    "[-json] [-raw] [NAME]",
		text: `Shows all outputs, or one. With -json all are an object of {sensitive, type,
		value}, and one is its bare value. With -raw one string, number or bool is
		written without quotes and line end.`,
		example: "$ overbrainer output\n$ overbrainer output -raw accuracy",
		most:    1,
		register: func(f *flags) {
			f.boolean(&asJSON, "json", "as JSON")
			f.boolean(&raw, "raw", "the bare value of NAME")
		},
		run: func(ctx context.Context, args []string) error {
			st, err := a.readState(ctx)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return a.allOutputs(st, asJSON, raw)
			}
			return a.oneOutput(st, args[0], asJSON, raw)
		},
	}
}

// outputJSON is an output in Terraform's form.
type outputJSON struct {
	Sensitive bool `json:"sensitive"`
	Type      any  `json:"type"`
	Value     any  `json:"value"`
}

func (a *app) allOutputs(st *state.State, asJSON, raw bool) error {
	if raw {
		return &usageError{text: "-raw takes the name of an output"}
	}
	if asJSON {
		all := map[string]outputJSON{}
		for name, o := range st.Outputs {
			all[name] = outputJSON{Sensitive: o.Sensitive, Type: o.Type, Value: o.Value}
		}
		return ui.JSONLine(a.out, all)
	}
	if len(st.Outputs) == 0 {
		fmt.Fprintln(a.err, "There are no outputs: the configuration has none, or nothing was applied yet.")
		return nil
	}
	return ui.Outputs(a.out, st.Outputs)
}

func (a *app) oneOutput(st *state.State, name string, asJSON, raw bool) error {
	o, ok := st.Outputs[name]
	if !ok {
		p := &problem{code: "no_such_output", message: "there is no output " + name + " in the state",
			hint: "an output gets its value from overbrainer apply"}
		names := []string{}
		for n := range st.Outputs {
			names = append(names, n)
		}
		slices.Sort(names)
		if near := nearest(name, names); near != "" {
			p.hint = "did you mean " + near + "?"
		}
		return p
	}
	if o.Withheld {
		return &problem{code: "withheld", message: "output " + name + " is sensitive, and its value is not kept in the state",
			hint: "take it from where the configuration has it"}
	}
	switch {
	case asJSON:
		return ui.JSONLine(a.out, o.Value)
	case raw:
		switch v := o.Value.(type) {
		case string:
			_, err := fmt.Fprint(a.out, v)
			return err
		case nil, []any, map[string]any:
			return &problem{code: "not_raw", message: "output " + name + " is no string, number or bool", hint: "use -json"}
		}
		_, err := fmt.Fprint(a.out, ui.Value(o.Value))
		return err
	}
	_, err := fmt.Fprintln(a.out, ui.Value(o.Value))
	return err
}
