package job

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Left is what a job that has ended left running.
type Left struct {
	Processes int
	// Open are files in the run's directory that one of them may write to, sorted.
	Open []string
	// Changed: something in the run's directory is not what it was at the look
	// before, or there was none.
	Changed bool
}

// Left looks for what a job that has ended left running, and whether anything in
// the run's directory changed since the look before; anew: as if there were none.
func (p *Pod) Left(ctx context.Context, runID string, anew bool) (Left, error) {
	const what = "looking for what the job left running"
	vars := []string{"ob_mark", runID, "ob_metrics", p.Metrics, "ob_anew", ""}
	if anew {
		vars[len(vars)-1] = "1"
	}
	out, err := p.do(ctx, p.work, call{what: what, vars: vars, script: compact(procsText) + compact(leftText), max: 1 << 20})
	if err != nil {
		return Left{}, err
	}
	left, err := parseLeft(string(out))
	if err != nil {
		return Left{}, &ProtocolError{What: what, Detail: err.Error()}
	}
	return left, nil
}

func parseLeft(out string) (Left, error) {
	head, rest, _ := strings.Cut(out, "\n")
	number, found := strings.CutPrefix(head, "left ")
	n, err := strconv.Atoi(number)
	if !found || err != nil || n < 0 {
		return Left{}, fmt.Errorf("it begins with %q", shorten([]byte(head)))
	}
	left := Left{Processes: n}
	for line := range strings.Lines(rest) {
		line = strings.TrimSuffix(line, "\n")
		if name, open := strings.CutPrefix(line, "open "); open {
			left.Open = append(left.Open, name)
		} else if line == "changed" {
			left.Changed = true
		}
	}
	slices.Sort(left.Open)
	left.Open = slices.Compact(left.Open)
	return left, nil
}
