package ui

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/overbrainer/overbrainer/plan"
)

// Consent words the question before a plan is applied: what it costs an hour
// and the most it may come to.
func Consent(p *plan.Plan) string {
	var b strings.Builder
	counts := map[string]int{}
	for _, s := range p.Steps {
		counts[kind(s.Action)]++
	}
	if p.Destroying {
		b.WriteString("This collects what has ended, then removes every pod and secret of the project.\n")
		if n := counts["to remove"]; n > 0 {
			fmt.Fprintf(&b, "%s will be removed. Results that cannot be brought home are lost.\n", count(n, "resource"))
		}
		return b.String()
	}
	if p.Project.Simulated {
		b.WriteString("On the simulator: the money is not real.\n")
	}
	most := usd(p.Cost.MaxUSD)
	if p.Cost.Unbounded != "" {
		most = "not bounded: " + clean(p.Cost.Unbounded)
	}
	when := "while it runs"
	if counts["to run"]+counts["to attach or collect"] > 1 {
		when = "all at once"
	}
	fmt.Fprintf(&b, "It costs %s an hour %s, and the most it may cost is %s.\n", price(p.Cost.HourlyUSD), when, most)
	return b.String()
}

// Ask puts a question that only the word yes answers.
func Ask(in io.Reader, out io.Writer, look Look, text string) (bool, error) {
	if _, err := fmt.Fprintf(out, "\n%s\n%sOnly %s goes on: ", look.Bold("Go on?"), text, look.paint(green, "yes")); err != nil {
		return false, err
	}
	answer, err := Answer(in)
	if err != nil {
		return false, err
	}
	return answer == "yes", nil
}

// Answer reads one line without its end.
func Answer(in io.Reader) (string, error) {
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && line == "" {
		if err == io.EOF {
			return "", fmt.Errorf("no answer was given")
		}
		return "", err
	}
	return strings.TrimSpace(line), nil
}
