package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/plan"
)

// flags declares a command's flags in Terraform's style: -name, -name=value,
// also with two dashes, before and after the arguments.
type flags struct {
	list []flagDoc
	set  *flag.FlagSet
}

type flagDoc struct {
	name, arg, text string
	takes           string // what a value has to be, "" for any text
}

func (f *flags) fs() *flag.FlagSet {
	if f.set == nil {
		f.set = flag.NewFlagSet("", flag.ContinueOnError)
		f.set.SetOutput(io.Discard)
		f.set.Usage = func() {}
	}
	return f.set
}

func (f *flags) doc(name, arg, text, takes string) {
	f.list = append(f.list, flagDoc{name: name, arg: arg, text: text, takes: takes})
}

func (f *flags) boolean(to *bool, name, text string) {
	f.fs().BoolVar(to, name, *to, "")
	arg := ""
	if *to {
		arg = "=false"
	}
	f.doc(name, arg, text, "true or false")
}

func (f *flags) text(to *string, name, arg, text string) {
	f.fs().StringVar(to, name, *to, "")
	f.doc(name, "="+arg, text, "")
}

func (f *flags) number(to *int, name, arg, text string) {
	f.fs().IntVar(to, name, *to, "")
	f.doc(name, "="+arg, text, "a whole number")
}

// positive is a number of 1 or more.
func (f *flags) positive(to *int, name, arg, text string) {
	f.fs().Func(name, "", func(s string) error {
		n, err := strconv.Atoi(s)
		if err == nil && n < 1 {
			return errors.New("it is below 1")
		}
		*to = n
		return err
	})
	f.doc(name, "="+arg, text, "a whole number of 1 or more")
}

func (f *flags) float(to *float64, name, arg, text string) {
	f.fs().Float64Var(to, name, *to, "")
	f.doc(name, "="+arg, text, "a number")
}

func (f *flags) duration(to *time.Duration, name, text string) {
	f.fs().Func(name, "", func(s string) error {
		d, err := time.ParseDuration(s)
		if err == nil && d < 0 {
			return errors.New("it is negative")
		}
		*to = d
		return err
	})
	f.doc(name, "=DURATION", text, "a duration of 0 or more, as in 90s, 10m or 1h30m")
}

// many may be given several times.
func (f *flags) many(to *[]string, name, arg, text string) {
	f.fs().Func(name, "", func(s string) error { *to = append(*to, s); return nil })
	f.doc(name, "="+arg, text+" (may be repeated)", "")
}

// given reports whether a flag was set on the command line.
func (f *flags) given(name string) bool {
	found := false
	f.fs().Visit(func(one *flag.Flag) { found = found || one.Name == name })
	return found
}

func (f *flags) help() string {
	var b strings.Builder
	wide := 0
	for _, d := range f.list {
		wide = max(wide, len(d.name)+len(d.arg)+1)
	}
	for _, d := range f.list {
		hang(&b, fmt.Sprintf("  %-*s  ", wide, "-"+d.name+d.arg), d.text)
	}
	return b.String()
}

// parse gives the arguments that are no flags. Everything after -- is one.
func (f *flags) parse(args []string) ([]string, error) {
	var rest []string
	set := f.fs()
	for {
		before := args
		if err := set.Parse(args); err != nil {
			return nil, f.explain(err)
		}
		args = set.Args()
		used := before[:len(before)-len(args)]
		if len(used) > 0 && used[len(used)-1] == "--" {
			return append(rest, args...), nil
		}
		if len(args) == 0 {
			return rest, nil
		}
		rest, args = append(rest, args[0]), args[1:]
	}
}

// explain words a fault of the command line, with the nearest flag there is.
func (f *flags) explain(err error) error {
	text := err.Error()
	name, unknown := strings.CutPrefix(text, "flag provided but not defined: -")
	if !unknown {
		return &usageError{text: f.unread(text)}
	}
	names := make([]string, len(f.list))
	for i, d := range f.list {
		names[i] = d.name
	}
	e := &usageError{text: "there is no flag -" + name}
	if name == "chdir" {
		e.text, e.hint = "-chdir stands before the command", "overbrainer -chdir=DIR COMMAND"
	} else if near := nearest(name, names); near != "" {
		e.hint = "did you mean -" + near + "?"
	}
	return e
}

// unreadable is what the flag package says of a value: the value, the flag and
// the reason.
var unreadable = regexp.MustCompile(`(?s)^invalid (?:boolean )?value "(.*)" for (?:flag )?-([\w-]+): (.*)$`)

// unread says of a value what it should have been.
func (f *flags) unread(text string) string {
	parts := unreadable.FindStringSubmatch(text)
	if parts == nil {
		return text
	}
	for _, d := range f.list {
		if d.name == parts[2] && d.takes != "" {
			return fmt.Sprintf("-%s=%s: %q is not %s", d.name, parts[1], parts[1], d.takes)
		}
	}
	return fmt.Sprintf("-%s=%s: %s", parts[2], parts[1], parts[3])
}

// nearest gives the known name that was most likely meant, "" if none is near.
func nearest(name string, known []string) string {
	best, at := "", max(1, len(name)/3)+1
	for _, k := range known {
		if d := distance(name, k); d < at {
			best, at = k, d
		}
	}
	return best
}

// distance is how many letters have to be changed, put in, left out or swapped with
// the next one to make b of a.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	var last []int // the row before that of d
	d := make([]int, len(y)+1)
	for j := range d {
		d[j] = j
	}
	for i := range x {
		row := make([]int, len(y)+1)
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(d[j+1]+1, row[j]+1, d[j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], last[j-1]+1)
			}
		}
		last, d = d, row
	}
	return d[len(y)]
}

// nearestAddress is nearest of addresses, and of blocks that have several.
func nearestAddress(name string, addresses []string) string {
	known := slices.Clone(addresses)
	for _, a := range addresses {
		if block, _, more := strings.Cut(a, "["); more {
			known = append(known, block)
		}
	}
	return nearest(name, known)
}

// instancesOf gives the addresses of a block's instances, as a hint that asks for
// one of them; "" where it has none.
func instancesOf(block string, addresses []string) string {
	var found []string
	for _, a := range addresses {
		if strings.HasPrefix(a, block+"[") {
			found = append(found, plan.ShellWord(a))
		}
	}
	return plan.List(found, 5)
}

// usageError is a command line that makes no sense.
type usageError struct{ text, hint string }

func (e *usageError) Error() string { return e.text }

// unknownCommand checks that the arguments start with a command there is.
func unknownCommand(args, names []string) error {
	first, groups := args[0], []string{}
	for _, n := range names {
		if n == first {
			return nil
		}
		if len(args) > 1 && n == first+" "+args[1] {
			return nil
		}
		group, sub, nested := strings.Cut(n, " ")
		if nested && group == first {
			groups = append(groups, sub)
		}
	}
	if len(groups) > 0 {
		if len(args) == 1 || strings.HasPrefix(args[1], "-") {
			return &usageError{text: fmt.Sprintf("%s what?", first), hint: first + " takes one of: " + strings.Join(groups, ", ")}
		}
		e := &usageError{text: fmt.Sprintf("there is no command %s %s", first, args[1])}
		e.hint = first + " takes one of: " + strings.Join(groups, ", ")
		if near := nearest(args[1], groups); near != "" {
			e.hint = fmt.Sprintf("did you mean overbrainer %s %s?", first, near)
		}
		return e
	}
	e := &usageError{text: "there is no command " + first, hint: "overbrainer -help lists them"}
	if strings.HasPrefix(first, "-") {
		e.text = "there is no flag " + first + " before the command"
		e.hint = "only -chdir=DIR stands there; a command's own flags stand behind its name"
		return e
	}
	tops := make([]string, len(names))
	for i, n := range names {
		tops[i], _, _ = strings.Cut(n, " ")
	}
	if near := nearest(first, tops); near != "" {
		e.hint = "did you mean overbrainer " + near + "?"
	}
	return e
}
