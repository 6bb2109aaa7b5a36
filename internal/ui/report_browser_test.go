package ui

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// sweepOfThree are three runs as a sweep leaves them.
func sweepOfThree(now time.Time) []ReportRun {
	var runs []ReportRun
	for i, name := range []string{"low", "mid", "high"} {
		started, ended, gone := now.Add(-50*time.Minute), now.Add(-10*time.Minute), now.Add(-9*time.Minute)
		r := ReportRun{
			Address: fmt.Sprintf("run.sft[%q]", name),
			Run: &state.Run{
				ID: "sft-" + name, Dir: "runs/sft-" + name, Phase: state.Succeeded, GPUType: "NVIDIA A40", DataCenter: "EU-RO-1",
				CostUSD: 0.31, StartedAt: &started, EndedAt: &ended, Bounds: state.Bounds{MaxCostUSD: 2},
				Metrics: map[string]float64{"loss": 1 / float64(i+2)},
				Attempts: []*state.Attempt{
					{GPUType: "NVIDIA L4", Result: state.AttemptUnavailable, SentAt: now.Add(-60 * time.Minute)},
					{GPUType: "NVIDIA A40", Result: state.AttemptCreated, SentAt: now.Add(-59 * time.Minute)},
				},
				Pod: &state.Pod{ID: "pod" + name, State: state.PodDeleted, CreatedAt: now.Add(-59 * time.Minute), ReadyAt: &started, DeletedAt: &gone},
			},
			Series: map[string][]Point{},
			Config: [][2]string{{"command", "python train.py <script>document.title = 'broken in'</script>"}},
			Tail:   []string{"done & saved"},
		}
		for step := range 100 {
			r.Series["loss"] = append(r.Series["loss"], Point{Step: float64(step), Value: 1 / float64(step+i+1)})
		}
		runs = append(runs, r)
	}
	return runs
}

// TestReportInABrowser opens the page of a sweep in a real browser that has no
// network: it draws a curve for each run, runs no script and needs nothing from
// elsewhere.
func TestReportInABrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%v: make setup installs it", err)
		}
		t.Skip("chromium is not installed")
	}
	dir := t.TempDir()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	var page bytes.Buffer
	if err := Report(&page, "Runs of sweep", sweepOfThree(now), now); err != nil {
		t.Fatal(err)
	}
	file, shot := filepath.Join(dir, "report.html"), filepath.Join(dir, "report.png")
	if err := os.WriteFile(file, page.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(args ...string) string {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, browser, append([]string{
			"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--window-size=1000,2000",
			"--user-data-dir=" + filepath.Join(dir, "profile"), "--proxy-server=http://127.0.0.1:9", // no way out
		}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+dir)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("chromium: %v", err)
		}
		return string(out)
	}

	dom := open("--dump-dom", "file://"+file)
	for text, times := range map[string]int{"<polyline": 3, "<title>Runs of sweep</title>": 1, "<script": 0, "http://": 0, "https://": 0} {
		if n := strings.Count(dom, text); n != times {
			t.Errorf("%q is there %d times, want %d", text, n, times)
		}
	}
	for _, text := range []string{"NVIDIA L4: unavailable", "16 % of $2.00", "done &amp; saved", "&lt;script&gt;"} {
		if !strings.Contains(dom, text) {
			t.Errorf("%q is not on the page", text)
		}
	}

	open("--screenshot="+shot, "file://"+file)
	f, err := os.Open(shot)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	colours := map[[3]uint32]bool{}
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			r, g, b, _ := picture.At(x, y).RGBA()
			colours[[3]uint32{r >> 8, g >> 8, b >> 8}] = true
		}
	}
	for i, want := range [][3]uint32{{0x00, 0x72, 0xb2}, {0xd5, 0x5e, 0x00}, {0x00, 0x9e, 0x73}} {
		if !colours[want] {
			t.Errorf("nothing is drawn in the colour of run %d", i+1)
		}
	}
}
