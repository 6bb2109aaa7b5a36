package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/overbrainer/overbrainer/providers/runpod/sim"
)

// goneWrong are the ways in which a call goes wrong.
func goneWrong() []string {
	return []string{"500-after-effect", "reset-after-effect", "timeout-after-effect", "429:1"}
}

// faults lets each call of the API go wrong, in each way.
func (o options) faults(ctx context.Context, base string) (*tally, error) {
	calls, err := o.calls(ctx, base)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, call := range calls {
		for _, wrong := range goneWrong() {
			names = append(names, wrong+" at "+call)
		}
	}
	names = o.pick(names)
	t := &tally{of: "faults", n: len(names)}
	return t, o.each(ctx, base, names, faulted, t)
}

// calls lives one life without a further fault and gives its calls, as
// "OPERATION #ORDINAL".
func (o options) calls(ctx context.Context, base string) ([]string, error) {
	w, err := o.open(ctx, base, 0)
	if err != nil {
		return nil, err
	}
	defer w.close()
	if err := w.fresh(ctx); err != nil {
		return nil, err
	}
	if e, err := w.do(ctx, nil, "apply", "-auto-approve"); err != nil || e.code != 0 {
		return nil, fmt.Errorf("undisturbed, apply ends with %d: %w\n%s", e.code, err, e.text)
	}
	requests, err := w.sim.Journal(ctx, 0)
	counts := map[string]int{}
	var calls []string
	for _, r := range requests {
		if r.By == "account" && r.Op != "" {
			counts[r.Op]++
			calls = append(calls, fmt.Sprintf("%s #%d", r.Op, counts[r.Op]))
		}
	}
	return calls, err
}

// faulted lives one life in which a call goes wrong, and applies until it is
// well.
func faulted(ctx context.Context, w *world, name string) (found, error) {
	wrong, call, _ := strings.Cut(name, " at ")
	op, ordinal, _ := strings.Cut(call, " #")
	at, err := strconv.Atoi(ordinal)
	if err != nil {
		return found{}, err
	}
	for range reaches {
		if err := w.fresh(ctx, sim.Fault{Name: wrong, On: op, At: at}); err != nil {
			return found{}, err
		}
		f, err := w.recover(ctx, "apply")
		if err != nil || !f.clean() {
			return f, err
		}
		status, err := w.sim.Status(ctx)
		if err != nil {
			return f, err
		}
		if !slices.Contains(status.Faults, wrong) {
			return f, nil
		}
	}
	// The life was well each time, with fewer such calls than the first had: as
	// often as a pod is looked at hangs on how long it takes.
	return found{}, nil
}
