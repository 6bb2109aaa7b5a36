package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// toJob measures what lies between a pod that answers and the job, and between
// the job and a deleted pod, with the clock of one machine: the technical log
// says when SSH accepted the key, the job says when it is about to end.
func toJob(b *bench) {
	p := b.project("")
	p.simulate()
	var start, end, retrieved []time.Duration
	for n := range b.runs {
		// Each time another job, so that it runs again.
		p.write("overbrainer.hcl", hcl(1, fmt.Sprintf("echo %d $(date +%%s.%%N); sleep 2; mkdir -p output; echo $KEY >output/key; echo end $(date +%%s.%%N)", n)))
		var first, last, home, gone time.Time
		log := filepath.Join(b.TempDir(), "log")
		cmd := p.command("apply", "-auto-approve", "-json")
		cmd.Env = append(cmd.Env, "OVERBRAINER_LOG=debug", "OVERBRAINER_LOG_PATH="+log)
		b.events(cmd, func(e event) {
			switch e.Type {
			case "log":
				if first.IsZero() {
					first = e.read
				}
				if at, ok := strings.CutPrefix(e.Line, "end "); ok {
					last = stamp(at)
				}
			case "retrieved":
				home = e.read
			case "deleted":
				gone = e.read
			}
		})
		answers := b.connected(log)
		if answers.IsZero() || first.IsZero() || last.IsZero() || home.IsZero() || gone.IsZero() {
			b.Fatalf("the events of apply lack one: SSH %s, first line %s, end %s, retrieved %s, deleted %s", answers, first, last, home, gone)
		}
		start, end, retrieved = append(start, first.Sub(answers)), append(end, gone.Sub(last)), append(retrieved, home.Sub(last))
	}
	b.table("Time to job, time to the end",
		[]string{"SSH answers to first line", "end to verified results", "end to deleted pod"},
		[]string{show(median(start)), show(median(retrieved)), show(median(end))})
	b.goal("to_job", atMost("start", median(start).Seconds(), 1, "s"), atMost("end", median(end).Seconds(), 2, "s"))
}

// connected finds the first SSH connection in a technical log that came about.
func (b *bench) connected(log string) time.Time {
	data, err := os.ReadFile(log)
	b.must(err)
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, `msg="ssh connect"`) && !strings.Contains(line, " error=") {
			at, _, _ := strings.Cut(strings.TrimPrefix(line, "time="), " ")
			when, err := time.Parse(time.RFC3339Nano, at)
			b.must(err)
			return when
		}
	}
	return time.Time{}
}

// stamp reads seconds since 1970, zero where they are none.
func stamp(text string) time.Time {
	seconds, nanos, _ := strings.Cut(strings.TrimSpace(text), ".")
	s, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}
	}
	n, err := strconv.ParseInt(nanos, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(s, n)
}
