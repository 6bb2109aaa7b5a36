package job

import (
	"context"
	"errors"
	"strconv"
	"strings"
)

// Verdict is what the watchdog found out about itself when it started.
type Verdict struct {
	State VerdictState
	// Reason says why it failed: missing_key, no_curl, no_certificates,
	// read_only_key, unreachable, http_401, or the bootstrap's own words.
	Reason string
	// Bootstrap: the bootstrap failed, not the watchdog's proof.
	Bootstrap bool
	// GPUCount is how many GPUs the pod has, -1 when it cannot tell.
	GPUCount int
}

// VerdictState is how a pod's start went.
type VerdictState string

// States of a verdict. A job is only started on a pod whose watchdog is ready.
const (
	VerdictNone   VerdictState = "none" // not yet given
	VerdictReady  VerdictState = "ready"
	VerdictFailed VerdictState = "failed"
)

const verdictWord = "overbrainer-verdict "

// ParseVerdict reads a verdict from a line of the pod's log, where it stands
// after the word overbrainer-verdict, or from its file, where it stands alone.
// ok is false for every other line.
func ParseVerdict(line string) (v Verdict, ok bool) {
	none := Verdict{State: VerdictNone, GPUCount: -1}
	line = strings.TrimRight(line, "\r\n")
	line = strings.TrimPrefix(line, verdictWord)
	if len(line) > 1024 {
		return none, false
	}
	if rest, found := strings.CutPrefix(line, "failed "); found && strings.TrimSpace(rest) != "" {
		v = Verdict{State: VerdictFailed, Reason: strings.TrimSpace(rest), GPUCount: -1}
		if reason, found := strings.CutPrefix(v.Reason, "bootstrap: "); found {
			v.Bootstrap, v.Reason = true, reason
		}
		return v, true
	}
	word, rest, _ := strings.Cut(line, " ")
	if word != "ready" {
		return none, false
	}
	v = Verdict{State: VerdictReady, GPUCount: -1}
	for field := range strings.FieldsSeq(rest) {
		value, found := strings.CutPrefix(field, "gpus=")
		if !found {
			continue
		}
		n, err := strconv.ParseUint(value, 10, 16)
		if err != nil {
			return none, false
		}
		v.GPUCount = int(n)
	}
	return v, true
}

// LogVerdict reads a line of a pod's log: only what the watchdog itself marks as
// its verdict counts.
func LogVerdict(line string) (Verdict, bool) {
	if !strings.HasPrefix(line, verdictWord) {
		return Verdict{State: VerdictNone, GPUCount: -1}, false
	}
	return ParseVerdict(line)
}

// Verdict reads the watchdog's verdict. State is VerdictNone while there is
// none. The error is a *LackError where the image lacks what reading takes.
func (p *Pod) Verdict(ctx context.Context) (Verdict, error) {
	text, err := p.read(ctx, ".pod/watchdog", 2048, false)
	if err != nil {
		return Verdict{State: VerdictNone, GPUCount: -1}, p.orLacks(ctx, err)
	}
	if len(text) == 0 {
		return Verdict{State: VerdictNone, GPUCount: -1}, nil
	}
	v, ok := ParseVerdict(string(text))
	if !ok {
		return v, &ProtocolError{What: "reading the watchdog's verdict", Detail: strconv.Quote(shorten(text))}
	}
	return v, nil
}

// ParseDelete reads why the watchdog deletes its pod from a line of the pod's
// log: bootstrap_failed, cost_cap, deadline, retrieved, keep_over, abandoned or
// never_started.
func ParseDelete(line string) (reason string, ok bool) {
	_, rest, found := strings.Cut(line, " watchdog: delete reason=")
	if !found {
		return "", false
	}
	rest = strings.TrimRight(rest, "\r\n")
	for _, c := range rest {
		if c != '_' && (c < 'a' || c > 'z') {
			return "", false
		}
	}
	return rest, rest != ""
}

// ErrTaken is a run directory on the pod that belongs to another run.
var ErrTaken = errors.New("the run directory on the pod belongs to another run")

// LackError is an image without programs that a run takes.
type LackError struct {
	Programs []string // or what would do instead, as "openssl, python3 or sha256sum"
}

func (e *LackError) Error() string { return "the image has no " + strings.Join(e.Programs, ", no ") }

// Reserve claims the run's directory: nothing is written into one that somebody
// else claimed. claim is the run's public host key line. The error is ErrTaken
// when the directory has another owner, and a *LackError where a job could be
// started and not be brought home.
func (p *Pod) Reserve(ctx context.Context, claim string) error {
	out, err := p.do(ctx, p.looks, call{
		what:   "claiming the run directory",
		vars:   []string{"ob_owner_is", claim},
		script: "ob_claim \"$ob_run\" \"$ob_owner_is\" && { [ -d \"$ob_run/.pod\" ] || mkdir -p \"$ob_run/.pod\"; } || exit\n" + compact(programsText),
	})
	var script *ScriptError
	if errors.As(err, &script) && script.Exit == 2 {
		return ErrTaken
	}
	return p.orLacks(ctx, lacking(out, err))
}

// lacking gives the *LackError that programs.sh ended with, or the error that it is.
func lacking(out []byte, err error) error {
	var script *ScriptError
	if errors.As(err, &script) && script.Exit == 4 {
		return &LackError{Programs: strings.Split(strings.TrimSpace(shorten(out)), "\n")}
	}
	return err
}

// orLacks looks why the pod's shell ended where an answer was due: what answers
// there takes programs itself. A shell of its own, which takes none, then names
// what the image lacks.
func (p *Pod) orLacks(ctx context.Context, err error) error {
	var script *ScriptError
	if !errors.As(err, &script) {
		return err
	}
	out, said := p.run(ctx, call{what: "looking for programs on the pod", script: compact(programsText)})
	var lacks *LackError
	if errors.As(lacking(out, said), &lacks) {
		return lacks
	}
	return err
}
