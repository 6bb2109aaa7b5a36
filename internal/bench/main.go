// Command bench measures what a user waits for, next to the programs that do
// the same or to the limit that nothing gets below, all in one run: absolute
// times say more of the machine than of the program.
//
//	bench [flags]
//
// For each topic it prints a table, and for each goal one line
//
//	goal NAME FIGURE TARGET met|missed
//
// in which FIGURE and TARGET are comma-separated. It is a report, not a test:
// the exit code is 0 whatever was missed, 1 where a topic could not be measured,
// and 2 for wrong flags. docs/performance.md tells what the figures mean.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var code int
	switch args := os.Args[1:]; {
	case len(args) == 2 && args[0] == clientWord:
		code = client(ctx, args[1], os.Stdout, os.Stderr)
	case len(args) > 1 && args[0] == starterWord:
		code = start(args[1:], os.Stdout, os.Stderr)
	default:
		code = run(ctx, args, os.Stdout, os.Stderr)
	}
	stop()
	os.Exit(code)
}

// options of a run.
type options struct {
	binary  string
	runs    int // of which the median counts
	bigRuns int // the same for transfers of gigabytes
	only    *regexp.Regexp
	profile string
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(errs)
	f.StringVar(&o.binary, "binary", "", "an overbrainer to measure (default: one is built)")
	f.IntVar(&o.runs, "runs", 5, "how often each thing is measured; the median counts")
	f.IntVar(&o.bigRuns, "big-runs", 3, "the same for what moves 2 GiB, where it is fewer")
	f.StringVar(&o.profile, "cpuprofile", "", "a file for the processor profile of this process, which is the client of transfers and the engine of state")
	only := f.String("only", "", "only topics of which the name or a goal matches this expression")
	if err := f.Parse(args); err != nil {
		return 2
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil || f.NArg() > 0 || o.runs < 1 || o.bigRuns < 1 {
		fmt.Fprintln(errs, "usage: bench [-only=REGEXP] [-runs=5] [-big-runs=3] [-binary=FILE] [-cpuprofile=FILE]")
		return 2
	}
	if !slices.ContainsFunc(topics(), func(t topic) bool { return t.wanted(o.only) }) {
		fmt.Fprintf(errs, "-only=%s: no topic and no goal has such a name\n", *only)
		return 2
	}
	o.bigRuns = min(o.bigRuns, o.runs)
	return measure(ctx, o, &report{out: out}, errs)
}

// topic is one table and the goals that it decides.
type topic struct {
	name    string
	goals   []string
	measure func(b *bench)
}

// topics in the order in which they are measured.
func topics() []topic {
	list := []topic{
		{"startup", []string{"startup"}, startup},
		{"plan", []string{"plan_1000", "plan_growth"}, plans},
		{"hundred", []string{"hundred"}, hundred},
		{"to_job", []string{"to_job"}, toJob},
		{"follow", []string{"follow"}, follow},
		{"memory", []string{"memory"}, memory},
	}
	list = append(list, transfers()...)
	return append(list,
		topic{"slow", nil, slow},
		topic{"resume", []string{"resume"}, resume},
		topic{"state", []string{"state_1000"}, states})
}

// wanted tells whether the topic is to be measured.
func (t topic) wanted(only *regexp.Regexp) bool {
	for _, name := range append([]string{t.name}, t.goals...) {
		if only.MatchString(name) {
			return true
		}
	}
	return false
}

func measure(ctx context.Context, o options, r *report, errs io.Writer) int {
	own, err := os.MkdirTemp("", "ob-bench")
	if err != nil {
		fmt.Fprintln(errs, "Error:", err)
		return 1
	}
	defer os.RemoveAll(own)
	if o.binary == "" {
		if o.binary, err = build(ctx, own); err != nil {
			fmt.Fprintln(errs, "Error:", err)
			return 1
		}
	}
	if o.profile != "" {
		stop, err := profiled(o.profile)
		if err != nil {
			fmt.Fprintln(errs, "Error:", err)
			return 1
		}
		defer stop()
	}
	code := 0
	for _, t := range topics() {
		if !t.wanted(o.only) || ctx.Err() != nil {
			continue
		}
		b := &bench{ctx: ctx, options: o, report: r, base: own, errs: errs}
		if err := b.do(t); err != nil {
			code = 1
			fmt.Fprintf(errs, "%s could not be measured: %v\n", t.name, err)
			for _, name := range t.goals {
				r.unknown(name)
			}
		}
	}
	return code
}
