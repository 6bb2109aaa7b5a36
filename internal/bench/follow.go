package main

import (
	"bufio"
	"os/exec"
	"strings"
	"time"
)

// followed is how many lines a followed job writes.
const followed = "100"

// follow measures how late a line is that a job writes, in the stream of apply
// and, over the same pod's SSH at the same time, in ssh tail -F.
func follow(b *bench) {
	p := b.project("")
	p.write("overbrainer.hcl", hcl(1, `echo "dir $PWD"; sleep 2; i=0; while [ $i -lt `+followed+` ]; do echo "at $(date +%s.%N)"; i=$((i+1)); sleep 0.3; done; mkdir -p output; echo $KEY >output/key`))
	p.simulate()
	var ours []time.Duration
	peer := make(chan []time.Duration, 1)
	b.events(p.command("apply", "-auto-approve", "-json"), func(e event) {
		switch e.Type {
		case "log":
			if dir, ok := strings.CutPrefix(e.Line, "dir "); ok {
				cmd := p.command("run", "ssh", "run.sweep[\"k00000\"]", "--", "tail", "-n", "0", "-F", dir+"/job.log")
				go func() { peer <- tailed(cmd) }()
			}
			ours = late(ours, e.Line, e.read)
		}
	})
	theirs := <-peer
	if len(ours) < 10 || len(theirs) < 10 {
		b.Fatalf("only %d lines came by apply, %d by tail", len(ours), len(theirs))
	}
	b.table("Follow: how late a line is (medians)",
		[]string{"apply", "ssh tail -F", "lines"},
		[]string{show(median(ours)), show(median(theirs)), followed})
	b.goal("follow", atMost("late", ratio(median(ours), median(theirs)), 1.5, "x"))
}

// tailed reads what a tail shows until it ends.
func tailed(cmd *exec.Cmd) []time.Duration {
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return nil
	}
	var all []time.Duration
	in := bufio.NewScanner(out)
	for in.Scan() {
		all = late(all, in.Text(), time.Now())
	}
	_ = cmd.Wait()
	return all
}

// late adds how late a line with a time in it is.
func late(all []time.Duration, line string, now time.Time) []time.Duration {
	if at, ok := strings.CutPrefix(line, "at "); ok {
		if written := stamp(at); !written.IsZero() {
			all = append(all, now.Sub(written))
		}
	}
	return all
}
