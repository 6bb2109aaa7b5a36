package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFollowKeepsUp follows a job that writes a thousand lines a second: each
// is seen, in order and soon, and what that takes does not grow.
func TestFollowKeepsUp(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("python3 is missing")
		}
		t.Skip("python3 is missing")
	}
	const seconds, perSecond = 15, 1000
	job := fmt.Sprintf(`command = ["python3", "-uc", <<-EOT
    import os, sys, time
    os.mkdir("output")
    open("output/result", "w").write("done")
    began = time.time()
    for n in range(1, %d):
        while time.time() < began + n / %d.0:
            time.sleep(0.001)
        sys.stdout.write("line %%d at %%.3f %%s\n" %% (n, time.time(), "x" * 60))
  EOT
  ]
`, seconds*perSecond+1, perSecond)
	p := newBench(t, build(t), configOf("24h", "max_hours = 10\n", strings.ReplaceAll(job, "%%", "%")), 4)
	cmd := p.command("apply", "-auto-approve", "-no-color")
	out, err := cmd.StderrPipe() // progress, and with it the log
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`\| line (\d+) at ([\d.]+) x{60}$`)
	next, lag := 1, time.Duration(0)
	for in := bufio.NewScanner(out); in.Scan(); {
		found := line.FindStringSubmatch(in.Text())
		if found == nil {
			continue
		}
		if n, _ := strconv.Atoi(found[1]); n != next {
			t.Fatalf("line %d came, not %d", n, next)
		}
		next++
		written, _ := strconv.ParseFloat(found[2], 64)
		lag = max(lag, time.Since(time.UnixMilli(int64(written*1000))))
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	t.Logf("%d lines, at most %s late, %d MB, %s of CPU", next-1, lag.Round(time.Millisecond), usage.Maxrss>>10, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	if next-1 != seconds*perSecond {
		t.Errorf("%d lines of %d came", next-1, seconds*perSecond)
	}
	if lag > 10*time.Second {
		t.Errorf("a line came %s late", lag)
	}
	if usage.Maxrss>>10 > 150 {
		t.Errorf("it took %d MB", usage.Maxrss>>10)
	}
}
