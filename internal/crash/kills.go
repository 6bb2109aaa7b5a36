package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Variables of the binary with boundaries.
const (
	recordVariable = "OVERBRAINER_CRASH_RECORD"
	atVariable     = "OVERBRAINER_CRASH_AT"
)

// reaches is how often a boundary is tried that an order of events which
// differs from life to life did not come to.
const reaches = 8

// kills ends the process at every boundary, and lets apply or destroy recover.
func (o options) kills(ctx context.Context, base string) (*tally, error) {
	labels, err := o.record(ctx, base)
	if err != nil {
		return nil, err
	}
	labels = o.pick(labels)
	t := &tally{of: "boundaries", n: len(labels)}
	var names []string
	for _, label := range labels {
		names = append(names, "apply: "+label, "destroy: "+label)
	}
	return t, o.each(ctx, base, names, killed, t)
}

// record lives one life without a kill and gives its boundaries.
func (o options) record(ctx context.Context, base string) ([]string, error) {
	w, err := o.open(ctx, base, 0)
	if err != nil {
		return nil, err
	}
	defer w.close()
	if err := w.fresh(ctx); err != nil {
		return nil, err
	}
	e, err := w.do(ctx, []string{recordVariable + "=" + w.passed()}, "apply", "-auto-approve")
	if err != nil {
		return nil, err
	}
	if e.code != 0 {
		return nil, fmt.Errorf("undisturbed, apply ends with %d: %s", e.code, e.text)
	}
	var f found
	if err := w.check(ctx, "apply", nil, &f); err != nil {
		return nil, err
	}
	if !f.clean() {
		return nil, fmt.Errorf("undisturbed: %s", strings.Join(f.what, "\n"))
	}
	data, err := os.ReadFile(w.passed())
	return strings.Split(string(bytes.TrimSpace(data)), "\n"), err
}

func (w *world) passed() string { return filepath.Join(filepath.Dir(w.dir), "passed") }

// killed lives one life that ends at a boundary, and recovers.
func killed(ctx context.Context, w *world, name string) (found, error) {
	how, label, _ := strings.Cut(name, ": ")
	for range reaches {
		hit, err := w.dieAt(ctx, label)
		if err != nil {
			return found{}, err
		}
		if hit {
			return w.recover(ctx, how)
		}
	}
	f := found{unfinished: 1}
	f.say("%d lives did not come to %q", reaches, label)
	return f, nil
}

// dieAt runs an apply that kills itself at a boundary, and reports whether it
// did, there.
func (w *world) dieAt(ctx context.Context, label string) (bool, error) {
	if err := w.fresh(ctx); err != nil {
		return false, err
	}
	if err := os.Remove(w.passed()); err != nil && !os.IsNotExist(err) {
		return false, err
	}
	e, err := w.do(ctx, []string{recordVariable + "=" + w.passed(), atVariable + "=" + label}, "apply", "-auto-approve")
	if err != nil || !e.killed {
		return false, err
	}
	data, err := os.ReadFile(w.passed())
	return bytes.HasSuffix(data, []byte("\n"+label+"\n")) || string(data) == label+"\n", err
}
