package job

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Checkpoint is a checkpoint as it lies on the pod.
type Checkpoint struct {
	Step int64
	Path string // relative to the run's directory
	// Files and Bytes are what it holds and Stamp changes with that. They are
	// known of the two newest only: Stamp is "" where they are not.
	Files int
	Bytes int64
	Stamp string
}

// Checkpoints lists what lies at a pattern, with {step} for the step, by step.
// Nothing of it is read.
func (p *Pod) Checkpoints(ctx context.Context, pattern string) ([]Checkpoint, error) {
	before, after, found := strings.Cut(pattern, "{step}")
	if !found || !safePath(pattern) {
		return nil, nil
	}
	const what = "listing the checkpoints"
	out, err := p.run(ctx, call{
		what:   what,
		vars:   []string{"ob_before", before, "ob_after", after},
		script: compact(libText) + compact(checkpointsText),
		max:    maxList,
	})
	if err != nil {
		return nil, err
	}
	list, err := parseCheckpoints(string(out), before, after)
	if err != nil {
		err = &ProtocolError{What: what, Detail: err.Error()}
	}
	return list, err
}

func parseCheckpoints(out, before, after string) ([]Checkpoint, error) {
	rest, found := strings.CutPrefix(out, "overbrainer-checkpoints 1\n")
	if !found {
		return nil, fmt.Errorf("it has no beginning")
	}
	parts := strings.Split(rest, "\x00")
	if len(parts) < 2 || parts[len(parts)-1] != "" {
		return nil, fmt.Errorf("it has no end")
	}
	var list []Checkpoint
	for text := range strings.Lines(parts[0]) {
		text = strings.TrimSuffix(text, "\n")
		step, err := strconv.ParseInt(text, 10, 64)
		if err != nil || step < 0 {
			return nil, fmt.Errorf("the step %q", shorten([]byte(text)))
		}
		list = append(list, Checkpoint{Step: step, Path: before + text + after})
	}
	for _, part := range parts[1 : len(parts)-1] {
		text, files, _ := strings.Cut(part, "\n")
		i := slices.IndexFunc(list, func(c Checkpoint) bool { return c.Path == before+text+after })
		if i < 0 {
			return nil, fmt.Errorf("the files of the step %q", shorten([]byte(text)))
		}
		list[i].count(files)
	}
	slices.SortStableFunc(list, func(a, b Checkpoint) int { return cmp.Compare(a.Step, b.Step) })
	return list, nil
}

// count takes in the lines of stat or ls about the files.
func (c *Checkpoint) count(files string) {
	lines := strings.Split(strings.TrimSuffix(files, "\n"), "\n")
	slices.Sort(lines) // find has no order
	sum := sha256.New()
	for _, line := range lines {
		fmt.Fprintf(sum, "%s\n", line)
		fields := strings.Fields(line)
		at := 0
		if strings.HasPrefix(line, "-") {
			at = 4 // of ls
		}
		if len(fields) <= at {
			continue
		}
		if size, err := strconv.ParseInt(fields[at], 10, 64); err == nil && size >= 0 {
			c.Files++
			c.Bytes += size
		}
	}
	c.Stamp = hex.EncodeToString(sum.Sum(nil))
}
