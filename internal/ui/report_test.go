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
	runs := maxCurves
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

// TestReportOfManyRunsGrowsNoFasterThanThey: a run takes the same on a page of
// thousands, and what is not drawn is said.
func TestReportOfManyRunsGrowsNoFasterThanThey(t *testing.T) {
	page := func(n int) string {
		var b bytes.Buffer
		if err := Report(&b, "Runs", sweepOf(n), time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	two, four := page(2000), page(4000)
	if len(four) > 2*len(two) {
		t.Errorf("2,000 runs take %d bytes, 4,000 take %d", len(two), len(four))
	}
	if n := strings.Count(four, "<polyline "); n != maxCurves {
		t.Errorf("%d curves are drawn", n)
	}
	if said := fmt.Sprintf("The first %d are drawn; %d more have this curve.", maxCurves, 4000-maxCurves); !strings.Contains(four, said) {
		t.Errorf("nowhere it says %q", said)
	}
	if few := page(maxCurves); strings.Contains(few, "more have this curve") || strings.Count(few, "<polyline ") != maxCurves {
		t.Error("a page that draws all of its curves tells of more")
	}
}
