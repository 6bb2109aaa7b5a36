package ui

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// sweepOf is n runs with a curve each.
func sweepOf(n int) []ReportRun {
	var runs []ReportRun
	for i := range n {
		r := ReportRun{Address: fmt.Sprintf("run.sft[%d]", i), Run: &state.Run{ID: fmt.Sprint("sft-", i)}, Series: map[string][]Point{}}
		for step := range 50 {
			r.Series["loss"] = append(r.Series["loss"], Point{Step: float64(step), Value: float64(i) + 20/float64(step+10)})
		}
		runs = append(runs, r)
	}
	return runs
}

// TestReportTellsCurvesApart: of many runs no two are drawn alike, and the legend
// shows each as it is drawn.
func TestReportTellsCurvesApart(t *testing.T) {
	const runs = 40
	var page bytes.Buffer
	if err := Report(&page, "Runs", sweepOf(runs), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	drawn := map[string]string{}
	for _, m := range regexp.MustCompile(`<polyline [^>]*(stroke="[^"]*" stroke-dasharray="[^"]*")><title>([^<]*)<`).FindAllStringSubmatch(page.String(), -1) {
		if other := drawn[m[1]]; other != "" {
			t.Errorf("%s and %s are drawn alike: %s", other, m[2], m[1])
		}
		drawn[m[1]] = m[2]
		if n := strings.Count(page.String(), m[1]+`/></svg>`+m[2]+"<"); n != 3 {
			t.Errorf("%s has %d keys with %s, not 3", m[2], n, m[1])
		}
	}
	if len(drawn) != runs {
		t.Errorf("%d curves", len(drawn))
	}
}
