package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/providers/runpod/sim"
)

func simFaultCommand(a *app) *command {
	var f sim.Fault
	var file string
	var sequence int
	var clear, list bool
	c := simCommand(a, &command{
		name:     "sim fault",
		synopsis: "let the API or a pod misbehave",
		usage:    "[flags] [NAME[:ARGUMENT]]",
		text: `Arms a fault, which the next matching call meets, or the one that -at counts.
		A fault of a pod meets the newest pod that runs, at once, else the next one as
		soon as it runs. Some faults take an argument behind a colon. -file arms a
		whole file of answers. -list names the faults there are, with their arguments.`,
		example: "$ overbrainer sim fault -list\n$ overbrainer sim fault -at=2 capacity\n$ overbrainer sim fault ssh-down:20",
		most:    1,
		register: func(fs *flags) {
			fs.number(&f.At, "at", "N", "the Nth matching call (default: the next)")
			fs.number(&f.Times, "times", "N", "how many calls meet it; -1: every one until reset")
			fs.text(&f.On, "on", "OPERATION", "only calls of this operation")
			fs.text(&f.By, "by", "WHO", "only calls of the account, or of a pod")
			fs.text(&f.GPU, "gpu", "TYPE", "only create calls of this GPU type")
			fs.text(&file, "file", "FILE", "arm a file of answers")
			fs.number(&sequence, "sequence", "N", "which of several in the file")
			fs.boolean(&clear, "clear", "disarm everything, and mend the pods' SSH")
			fs.boolean(&list, "list", "the names of faults")
		},
	}, func(ctx context.Context, s *sim.Client, args []string) error {
		switch {
		case clear:
			return s.ClearFaults(ctx)
		case file != "":
			return s.FaultFile(ctx, a.path(file), sequence)
		case len(args) == 1:
			f.Name = args[0]
			return knownFault(f.Name, s.Fault(ctx, f))
		}
		return &usageError{text: "which fault?", hint: "overbrainer sim fault -list names them"}
	})
	do := c.run
	c.run = func(ctx context.Context, args []string) error {
		if !list {
			return do(ctx, args)
		}
		t := ui.Table{Columns: []string{"FAULT", "WHAT HAPPENS"}}
		for _, n := range sim.FaultNames() {
			t.Add(n.Name, n.Does)
		}
		return t.Write(a.out, a.look(os.Stdout))
	}
	return c
}

// knownFault adds to the refusal of a fault that there is none of the name which
// was likely meant.
func knownFault(name string, err error) error {
	if err == nil {
		return nil
	}
	base, _, _ := strings.Cut(name, ":")
	var names []string
	for _, n := range sim.FaultNames() {
		known, _, _ := strings.Cut(n.Name, ":")
		names = append(names, known)
	}
	near := nearest(base, names)
	if near == "" || slices.Contains(names, base) {
		return err
	}
	return &usageError{text: err.Error(), hint: "did you mean " + near + "? overbrainer sim fault -list names them"}
}

func simCatalogCommand(a *app) *command {
	var prices, stocks []string
	var cloud string
	return simCommand(a, &command{
		name:     "sim catalog",
		synopsis: "show or set what the simulator offers",
		usage:    "[-price=TYPE=USD] [-stock=TYPE[@CENTER]=BAND]",
		text: `Prints the simulator's catalog as JSON, or sets the price of one GPU of a type,
		or its stock (none, low, medium, high) in a data center or everywhere.`,
		example: "$ overbrainer sim catalog -price='NVIDIA A40=0.45' -stock='NVIDIA A40@EU-RO-1=none'",
		register: func(f *flags) {
			f.many(&prices, "price", "TYPE=USD", "an hour of one GPU")
			f.many(&stocks, "stock", "TYPE=BAND", "its stock")
			f.text(&cloud, "cloud", "CLOUD", "secure (the default) or community")
		},
	}, func(ctx context.Context, s *sim.Client, _ []string) error {
		for _, text := range prices {
			gpu, value, err := setting(text)
			if err != nil {
				return err
			}
			usd, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return &usageError{text: fmt.Sprintf("-price=%s: %q is no price", text, value)}
			}
			if err := s.SetPrice(ctx, gpu, cloud, usd); err != nil {
				return err
			}
		}
		for _, text := range stocks {
			gpu, band, err := setting(text)
			if err != nil {
				return err
			}
			gpu, center, _ := strings.Cut(gpu, "@")
			if err := s.SetStock(ctx, gpu, cloud, center, band); err != nil {
				return err
			}
		}
		if len(prices)+len(stocks) > 0 {
			return nil
		}
		catalog, err := s.Catalog(ctx)
		if err != nil {
			return err
		}
		return ui.JSONLine(a.out, catalog)
	})
}

// setting splits TYPE=VALUE at the last sign.
func setting(text string) (name, value string, err error) {
	i := strings.LastIndexByte(text, '=')
	if i < 1 {
		return "", "", &usageError{text: fmt.Sprintf("%q is not TYPE=VALUE", text)}
	}
	return text[:i], text[i+1:], nil
}
