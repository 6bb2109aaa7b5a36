package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/plan"
)

func consoleCommand(a *app) *command {
	var in inputs
	return &command{
		name:     "console",
		synopsis: "try expressions",
		text: `Reads expressions, one on each line, and prints their values as the
		configuration would see them: variables, locals, functions, and the results
		of runs that have ended.`,
		example:  "$ echo 'run.iris.metrics.accuracy > 0.9' | overbrainer console",
		register: func(f *flags) { in.register(f) },
		run: func(ctx context.Context, _ []string) error {
			p, err := a.open(ctx, in, reading{})
			if err != nil {
				return err
			}
			defer p.close()
			p.warn()
			return p.console(ctx, in)
		},
	}
}

func (p *project) console(ctx context.Context, in inputs) error {
	a := p.app
	prompt := func() {
		if isTerminal(a.in) {
			fmt.Fprint(a.err, "> ")
		}
	}
	var failed error
	lines := bufio.NewScanner(a.in)
	for {
		prompt()
		more, err := typed(ctx, func() (bool, error) { return lines.Scan(), nil })
		if err != nil {
			return err
		}
		if !more {
			break
		}
		text := strings.TrimSpace(lines.Text())
		if text == "" {
			continue
		}
		if text == "exit" || text == "quit" {
			return nil
		}
		value, err := p.evaluate(ctx, in, text)
		if err != nil {
			if !isTerminal(a.in) {
				return err
			}
			failed = err
			a.fail(err)
			continue
		}
		fmt.Fprintln(a.out, value)
	}
	if err := lines.Err(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if isTerminal(a.in) {
		return nil
	}
	return failed
}

// consoleFile and consoleName stand for an expression that was typed: it is
// evaluated as an output of the same configuration.
const (
	consoleFile = "console.ob.hcl"
	consoleName = "console_input"
	// consoleBegin stands before it there.
	consoleBegin = "output \"" + consoleName + "\" {\n  value = (\n"
)

// atInput puts what is wrong at the places of the expression as it was typed.
func atInput(err error, text string) error {
	var wrong *diagnosed
	if !errors.As(err, &wrong) {
		return err
	}
	moved := func(p *hcl.Pos) {
		p.Line -= strings.Count(consoleBegin, "\n")
		p.Byte -= len(consoleBegin)
	}
	for _, d := range wrong.diags {
		if d.Subject != nil && d.Subject.Filename == consoleFile {
			at := *d.Subject
			at.Filename = "input"
			moved(&at.Start)
			moved(&at.End)
			d.Subject = &at
		}
	}
	wrong.sources["input"] = []byte(text)
	return wrong
}

func (p *project) evaluate(ctx context.Context, in inputs, text string) (string, error) {
	if _, diags := hclsyntax.ParseExpression([]byte(text), "input", hcl.InitialPos); diags.HasErrors() {
		return "", &diagnosed{diags: diags, sources: map[string][]byte{"input": []byte(text)}}
	}
	extra := map[string][]byte{consoleFile: fmt.Appendf(nil, "%s%s\n)\n  sensitive = false\n}\n", consoleBegin, text)}
	again := &project{app: p.app, st: p.st}
	again.init()
	defer again.close()
	if err := again.read(ctx, in, config.Options{Settled: plan.Settled(p.st, nil), Volume: plan.VolumeIDs(p.st), Extra: extra}); err != nil {
		return "", atInput(err, text)
	}
	outputs, diags := again.cfg.EvalOutputs(results(p.st, again.cfg))
	if diags.HasErrors() {
		return "", atInput(again.wrong(diags), text)
	}
	out, ok := outputs[consoleName]
	switch {
	case !ok || !out.Value.IsWhollyKnown():
		return "(known after apply)", nil
	case out.Sensitive:
		return "(sensitive)", nil
	}
	value, err := jsonValue(out.Value)
	if err != nil {
		return "", err
	}
	return ui.Value(value), nil
}
