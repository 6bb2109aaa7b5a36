package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// snapshotFile is the proof that a job leaves of its snapshot.
const snapshotFile = "snapshot.json"

// collected is what came home.
type collected struct {
	files []File
	// missed: the job succeeded and nothing matched its outputs; these files
	// there were.
	missed bool
	others []string
}

// collect brings the results home: the files that match the outputs, the log,
// the metrics and a snapshot. Everything is verified before anything gets its
// final name. It goes on over new connections where one breaks, from what is
// here: only tries that brought nothing more are counted, and a pod that cannot
// be reached is waited for until its grace is over.
func (r *runner) collect(e ending) (collected, error) {
	r.phase("retrieving", "fetching the results")
	var last error
	var most int64 // bytes that were here after any try
	var known *Manifest
	until, wait := r.graceEnd(), r.t.Reconnect
	for tries := 0; tries < r.t.TransferTries; {
		if r.s.interrupted() {
			return collected{}, errInterrupted
		}
		if r.machine == nil {
			if err := r.connect(); err != nil {
				last = err
				if podEnded(err) {
					return collected{}, err
				}
				if turnedAway(err) {
					tries++
				}
				if r.now().After(until) {
					break
				}
				if wait == r.t.Reconnect {
					r.emit(Event{Kind: EventWaiting, Message: fmt.Sprintf("%v; trying again until %s", err, until.Local().Format(clock))})
				}
				if err := r.s.sleep(wait); err != nil {
					return collected{}, errInterrupted
				}
				wait = min(2*wait, r.t.ReconnectMax)
				continue
			}
			wait = r.t.Reconnect
		}
		had := known
		got, here, err := r.collectOnce(e, &known)
		if err == nil {
			return got, nil
		}
		if r.s.interrupted() {
			return collected{}, errInterrupted
		}
		last = err
		if errors.Is(err, ErrMismatch) && had != nil {
			known = nil // something still wrote: once more by a new list
		} else if !again(err) {
			break
		}
		tries++
		if here > most {
			most, tries = here, 0
		}
		r.warnf("the results could not be fetched, trying again: %v", err)
		r.closeMachine()
	}
	return collected{}, failf("not_retrieved", "the results could not be fetched: %v", last).at(r.address).id(podID(r.run)).because(last).
		hint("they wait on the pod for its grace; overbrainer apply, or %s, goes on from what is here", r.command("attach"))
}

// graceEnd is until when an ended job's pod waits for its results to be
// fetched, as far as the time alone tells.
func (r *runner) graceEnd() time.Time {
	end := r.now()
	if r.run.EndedAt != nil {
		end = *r.run.EndedAt
	}
	return end.Add(r.t.Seconds(r.run.Bounds.RetrieveGrace))
}

// podEnded reports whether an error of connect says that the pod is no more.
func podEnded(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Code == "pod_gone" || e.Code == "pod_stopped")
}

// turnedAway reports whether the pod answered and did not let us in.
func turnedAway(err error) bool {
	var failed *DialError
	return errors.As(err, &failed) && (failed.Stage == StageAuth || failed.Stage == StageHostKey)
}

// ErrNoSpace says that there is too little room here for the results.
var ErrNoSpace = errors.New("no space left here")

// ErrMismatch says that a file is not what the pod said it was.
var ErrMismatch = errors.New("a file does not have the digest that the pod gave")

// again reports whether another try may help.
func again(err error) bool { return !errors.Is(err, ErrNoSpace) && !errors.Is(err, ErrMismatch) }

// collectOnce makes one try. here is how many bytes of the results it saw here
// at the end, known the list of them once there is one.
func (r *runner) collectOnce(e ending, known **Manifest) (got collected, here int64, err error) {
	ctx, cancel := r.s.breakable()
	defer cancel()
	job := r.run.Job
	request := CollectRequest{Dir: r.dir(), Globs: slices.Clone(job.Outputs), Known: *known}
	if e.snapshot != nil {
		request.Globs = append(request.Globs, globLiteral(e.snapshot.Path)+"/**")
		request.Always = append(request.Always, snapshotFile)
	}
	progress, finish := r.transfer("download")
	request.Progress = func(done, total int64) {
		here = done
		progress(done, total)
	}
	manifest, err := r.machine.Collect(ctx, request)
	finish()
	if err != nil {
		if len(manifest.Files) > 0 {
			*known = &manifest
		}
		return collected{}, here, err
	}
	return collected{
		files:  r.maskKept(manifest.Files),
		others: manifest.Others,
		missed: manifest.Matched == 0 && !job.AllowEmpty && e.phase == state.Succeeded,
	}, here, nil
}

// globLiteral makes a glob that matches exactly this path.
func globLiteral(path string) string {
	var b strings.Builder
	for _, c := range path {
		if strings.ContainsRune(`*?[]{}\!`, c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// maskKept masks known secrets in the log and the metrics that came home, and
// gives the list with the digests of what is here now.
func (r *runner) maskKept(files []File) []File {
	out := slices.Clone(files)
	for i, f := range out {
		if f.Path != jobLog && f.Path != r.run.Job.Metrics {
			continue
		}
		full := filepath.Join(r.dir(), filepath.FromSlash(f.Path))
		data, err := os.ReadFile(full)
		if err != nil {
			continue
		}
		masked := maskLines(data, r.s.Redactor.String)
		if string(masked) == string(data) {
			continue
		}
		if replaceFile(full, masked) == nil {
			if now, err := describe(full); err == nil {
				out[i].Size, out[i].SHA256 = now.Size, now.SHA256
			}
		}
	}
	return out
}

// maskLines masks line by line, so that one match does not take the rest of
// the file with it.
func maskLines(data []byte, mask func(string) string) []byte {
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		body := strings.TrimRight(line, "\n")
		b.WriteString(mask(body))
		b.WriteString(line[len(body):])
	}
	return []byte(b.String())
}

// settleResults writes down what came home, and tells the pod before anything
// else may happen to it.
func (r *runner) settleResults(e ending, got collected) error {
	at := r.now()
	outputs := 0
	for _, f := range got.files {
		if f.Path != jobLog && f.Path != r.run.Job.Metrics && f.Path != snapshotFile {
			outputs++
		}
	}
	err := r.save(func(_ *state.State, run *state.Run) {
		run.Retrieved = !got.missed
		run.FetchedBy = r.s.Who.Who + "@" + r.s.Who.Host
		run.ResultsDigest, run.ResultFiles, run.ResultBytes = digestOf(got.files), len(got.files), total(got.files)
		if e.snapshot != nil {
			snap := *e.snapshot
			snap.Local = true
			if snap.At.IsZero() {
				snap.At = at
			}
			run.Snapshot = &snap
		}
	})
	r.saveResult(got.files)
	if err != nil || got.missed {
		return err
	}
	r.emit(Event{Kind: EventRetrieved, Dir: r.run.Dir, Message: fmt.Sprintf("%s, %s, verified, in %s", countFiles(len(got.files)), size(total(got.files)), r.run.Dir)})
	r.markRetrieved()
	return nil
}

// markRetrieved tells the pod's guard that everything is safe here.
func (r *runner) markRetrieved() {
	if r.machine == nil {
		return
	}
	mark := func(ctx context.Context, m Machine) error { return m.MarkRetrieved(ctx) }
	if err := r.onPod(r.t.Call, mark); err != nil {
		r.warnf("the pod could not be told that its results are safe: %v", err)
		return
	}
	r.marked = true
}

// missedWords says that nothing matched, and what there was.
func missedWords(globs, others []string) string {
	text := fmt.Sprintf("nothing matched outputs = %q", globs)
	if len(others) == 0 {
		return text + "; the job left no file"
	}
	const most = 10
	shown := others
	more := ""
	if len(shown) > most {
		shown, more = shown[:most], fmt.Sprintf(" and %d more", len(others)-most)
	}
	return text + "; there were " + strings.Join(shown, ", ") + more
}

func podID(run *state.Run) string {
	if run.Pod == nil {
		return ""
	}
	return run.Pod.ID
}

// copyPodLogs brings the pod's own logs home, as far as that works.
func (r *runner) copyPodLogs() {
	if r.machine == nil {
		return
	}
	ctx, cancel := context.WithTimeout(r.s.steady(), r.t.Call)
	defer cancel()
	_ = r.machine.CopyLogs(ctx, filepath.Join(r.dir(), podLogDir))
}

// outputDir is where a run's results lie, for those who depend on it.
func outputDir(dir string) string { return path.Join(dir, "output") }
