package job

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
)

// Reasons for which a snapshot is asked.
const (
	ReasonRequested = "requested" // by a person
	ReasonDeadline  = "deadline"
	ReasonCost      = "cost"
	ReasonDisk      = "disk"
	ReasonStalled   = "stalled"
)

// DefaultSnapshotPath is where a checkpoint lies when a run does not say.
const DefaultSnapshotPath = "output/checkpoint-{step}"

// RequestSnapshot asks the job for a snapshot: it saves a checkpoint, writes
// snapshot.json and exits 0. A request that stands already stays unless
// overwrite is set. standing is the reason that stands then, isNew whether it
// was written now.
func (p *Pod) RequestSnapshot(ctx context.Context, reason string, overwrite bool) (standing string, isNew bool, err error) {
	over := "0"
	if overwrite {
		over = "1"
	}
	out, err := p.run(ctx, call{
		what:   "asking for a snapshot",
		vars:   []string{"ob_reason", reason, "ob_overwrite", over},
		script: compact(libText) + compact(requestText),
	})
	if err != nil {
		return "", false, err
	}
	rest, isNew := bytes.CutPrefix(out, []byte("new\n"))
	return strings.TrimSpace(string(rest)), isNew, nil
}

// Proof is what a job says of the snapshot it took.
type Proof struct {
	Checkpoint string // relative to the run's directory
	Step       int64
	Time       float64 // Unix seconds, 0: not told
	Reason     string
}

// MaxProof is how long snapshot.json may be, in bytes.
const MaxProof = 64 << 10

// ProofError is a snapshot.json that proves nothing.
type ProofError struct{ Detail string }

func (e *ProofError) Error() string { return "snapshot.json proves no snapshot: " + e.Detail }

// Proof reads the job's proof of a snapshot. pattern is where checkpoints lie,
// with {step} for the step. ok is false without one; the error is a *ProofError
// when there is one that cannot be believed.
func (p *Pod) Proof(ctx context.Context, pattern string) (proof Proof, ok bool, err error) {
	text, err := p.read(ctx, "snapshot.json", MaxProof+1, false)
	if err != nil || len(bytes.TrimSpace(text)) == 0 {
		return Proof{}, false, err
	}
	if proof, err = ParseProof(text, pattern); err != nil {
		return Proof{}, false, err
	}
	return proof, true, nil
}

// ParseProof reads and checks a proof. The checkpoint must be exactly what
// pattern says for its step.
func ParseProof(text []byte, pattern string) (Proof, error) {
	if len(text) > MaxProof {
		return Proof{}, &ProofError{Detail: fmt.Sprintf("it is longer than %d bytes", MaxProof)}
	}
	var wire struct {
		Checkpoint string          `json:"checkpoint"`
		Step       json.Number     `json:"step"`
		Time       json.RawMessage `json:"time"`
		Reason     string          `json:"reason"`
	}
	if err := json.Unmarshal(text, &wire); err != nil {
		return Proof{}, &ProofError{Detail: "it is not the expected JSON object"}
	}
	step, err := wholeNumber(wire.Step.String())
	if err != nil {
		return Proof{}, &ProofError{Detail: fmt.Sprintf("its step %q is no whole number", wire.Step)}
	}
	proof := Proof{Checkpoint: wire.Checkpoint, Step: step, Reason: strings.TrimSpace(wire.Reason)}
	switch proof.Reason {
	case ReasonRequested, ReasonDeadline, ReasonCost, ReasonDisk, ReasonStalled:
	default:
		proof.Reason = ReasonRequested
	}
	_ = json.Unmarshal(wire.Time, &proof.Time) // any other form: not told
	if pattern == "" {
		pattern = DefaultSnapshotPath
	}
	want := strings.ReplaceAll(pattern, "{step}", strconv.FormatInt(step, 10))
	if wire.Checkpoint != want || !safePath(want) {
		return Proof{}, &ProofError{Detail: fmt.Sprintf("its checkpoint %q is not %q", shorten([]byte(wire.Checkpoint)), want)}
	}
	return proof, nil
}

// wholeNumber reads 12 and 12.0.
func wholeNumber(text string) (int64, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		return n, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || f < 0 || f > 1<<53 {
		return 0, fmt.Errorf("%q is no whole number", text)
	}
	return int64(f), nil
}

// safePath reports whether a name stays in the directory it is relative to and
// is written in the only way.
func safePath(name string) bool {
	return name != "" && name != "." && !path.IsAbs(name) && path.Clean(name) == name &&
		name != ".." && !strings.HasPrefix(name, "../") && !strings.ContainsRune(name, 0)
}
