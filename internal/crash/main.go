// Command crash ends overbrainer's process at every boundary of a scenario, or
// lets every call of the API go wrong, or kills client and provider at random
// instants, each time on the real binary against the real simulator, with pods
// that are processes and real SSH. Afterwards apply, or destroy, runs again and
// must end with nothing left behind, no result lost and no job run twice.
//
//	crash [flags] kills|faults|chaos
//
// The scenario is two runs side by side. The first GPU type that the one wants
// is sold out, the create call of the other is answered with an error although
// its pod exists. Inputs go up and results come home in batches and in pieces.
//
// One line with the counts goes to the standard output; anything but zero after
// the first of them makes the exit code 1.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	var o options
	f := flag.NewFlagSet("crash", flag.ContinueOnError)
	f.SetOutput(errs)
	f.StringVar(&o.binary, "binary", "", "an overbrainer built with the tag crash (default: one is built)")
	f.IntVar(&o.workers, "workers", 0, "how many lives are lived side by side (default: 4, for faults 12)")
	f.IntVar(&o.every, "every", 1, "only every Nth boundary")
	f.IntVar(&o.skip, "skip", 0, "begin with the one after so many")
	f.IntVar(&o.times, "n", 200, "how many kills chaos has")
	f.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "what chaos draws its instants from")
	f.StringVar(&o.keep, "keep", "", "where the directories of lives that went wrong are kept")
	f.Float64Var(&o.speed, "speed", 20, "how many times as fast the simulator's hours pass")
	f.IntVar(&o.most, "most", 0, "so many boundaries or faults at most, spread evenly (default: all)")
	only := f.String("only", "", "only boundaries that match this expression")
	if err := f.Parse(args); err != nil {
		return 2
	}
	o.log = &progress{w: errs, start: time.Now()}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil || f.NArg() != 1 {
		fmt.Fprintln(errs, "usage: crash [flags] kills|faults|chaos")
		return 2
	}
	tally, err := o.matrix(ctx, f.Arg(0))
	if err != nil {
		fmt.Fprintln(errs, "Error:", err)
		return 1
	}
	fmt.Fprintln(out, tally)
	if !tally.clean() {
		return 1
	}
	return 0
}

// options of a matrix.
type options struct {
	binary, keep string
	workers      int
	every, skip  int
	most         int // so many at most, spread evenly; 0: all
	times        int
	seed         uint64
	speed        float64
	only         *regexp.Regexp
	log          *progress
}

// pick leaves what the options ask for.
func (o options) pick(all []string) []string {
	var out []string
	for i, name := range all {
		if i >= o.skip && (i-o.skip)%max(1, o.every) == 0 && (o.only == nil || o.only.MatchString(name)) {
			out = append(out, name)
		}
	}
	if o.most <= 0 || len(out) <= o.most {
		return out
	}
	spread := make([]string, o.most)
	for i := range spread {
		spread[i] = out[(2*i+1)*len(out)/(2*o.most)]
	}
	return spread
}

// matrix lives all the lives of one kind.
func (o options) matrix(ctx context.Context, kind string) (*tally, error) {
	base, err := os.MkdirTemp("", "ob-crash")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(base)
	if o.binary == "" {
		o.binary = filepath.Join(base, "overbrainer")
		if err := build(ctx, o.binary); err != nil {
			return nil, err
		}
	}
	if o.workers == 0 {
		o.workers = 4
		if kind == "faults" {
			o.workers = 12
		}
	}
	lives := map[string]func(context.Context, string) (*tally, error){
		"kills": o.kills, "faults": o.faults, "chaos": o.chaos,
	}[kind]
	if lives == nil {
		return nil, fmt.Errorf("%q is none of kills, faults, chaos", kind)
	}
	return lives(ctx, base)
}

// build compiles the program with its boundaries.
func build(ctx context.Context, binary string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "crash", "-o", binary, "github.com/overbrainer/overbrainer/cmd/overbrainer")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, text)
	}
	return nil
}
