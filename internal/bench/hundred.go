package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// hundred lets 100 runs of 20 s go side by side on the simulator.
func hundred(b *bench) {
	const runs, length = 100, 20
	p := b.project("")
	p.write("overbrainer.hcl", hcl(runs, fmt.Sprintf("echo begin $KEY && sleep %d && mkdir -p output && echo $KEY >output/key", length)))
	p.simulate()
	cmd := p.command("apply", "-auto-approve", "-json", "-parallelism="+strconv.Itoa(runs))
	began := time.Now()
	stop, watched := make(chan struct{}), make(chan int64)
	retrieved := map[string]bool{}
	var once bool
	b.events(cmd, func(e event) {
		if !once {
			once = true
			go func() { watched <- peakOf(cmd.Process.Pid, stop) }()
		}
		if e.Type == "retrieved" {
			retrieved[e.Address] = true
		}
	})
	took := time.Since(began)
	close(stop)
	peak := <-watched
	for address := range retrieved {
		p.verified(address)
	}
	requests, err := p.sim.Journal(b.ctx, 0)
	b.must(err)
	refused, asked := 0, 0
	for _, r := range requests {
		if r.By == "account" {
			asked++
			if r.Status == http.StatusTooManyRequests {
				refused++
			}
		}
	}
	over := took.Seconds() / length
	b.table("A hundred runs of 20 s side by side (one time)",
		[]string{"runs", "verified", "time", "of the ideal", "client and provider", "requests", "of them 429"},
		[]string{strconv.Itoa(runs), strconv.Itoa(len(retrieved)), show(took), fmt.Sprintf("%.2f", over), mb(peak), strconv.Itoa(asked), strconv.Itoa(refused)})
	b.goal("hundred",
		bound{what: "verified", value: float64(len(retrieved)), least: true, limit: runs},
		atMost("time", over, 1.5, "x"), atMost("rss", float64(peak)/1e6, 200, "MB"), atMost("429", float64(refused), 0, ""))
}

// verified looks whether a run's result is the one of its key.
func (p *project) verified(address string) {
	_, key, _ := strings.Cut(strings.TrimSuffix(address, `"]`), `["`)
	found, err := filepath.Glob(filepath.Join(p.dir, "runs", "*"+key+"*", "output", "key"))
	p.b.must(err)
	if len(found) != 1 {
		p.b.Fatalf("%s has %d results", address, len(found))
	}
	text, err := os.ReadFile(found[0])
	p.b.must(err)
	if strings.TrimSpace(string(text)) != key {
		p.b.Fatalf("the result of %s is %q", address, text)
	}
}

// peakOf looks at a process and its children until stop, and gives the sum of
// their peaks of memory.
func peakOf(pid int, stop <-chan struct{}) int64 {
	peaks := map[string]int64{}
	for {
		for _, process := range append(childrenOf(pid), strconv.Itoa(pid)) {
			if peak, err := memoryOf(process, "VmHWM"); err == nil {
				peaks[process] = peak
			}
		}
		select {
		case <-stop:
			var sum int64
			for _, peak := range peaks {
				sum += peak
			}
			return sum
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// childrenOf lists the processes that any thread of a process has started.
func childrenOf(pid int) []string {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	var all []string
	for _, list := range lists {
		data, _ := os.ReadFile(list)
		all = append(all, strings.Fields(string(data))...)
	}
	return all
}
