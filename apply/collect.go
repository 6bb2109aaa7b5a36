package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/overbrainer/overbrainer/internal/remote"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// snapshotFile is the proof that a job leaves of its snapshot.
const snapshotFile = "snapshot.json"

// collected is what came home.
type collected struct {
	files  []File
	masked string   // what was masked in them
	left   []string // links among the results that lead to nothing
	moved  string   // where results are whose names are taken here
	saved  *saved   // what a job that did not end well had saved
	// missed says what should have come and is not there, reason what that
	// makes of the run; "" where nothing is missing.
	missed string
	reason state.Reason
}

// collect brings the results home: the files that match the outputs, the log,
// the metrics and a snapshot. Everything is verified before anything gets its
// final name.
func (r *runner) collect(e ending) (collected, error) {
	r.phase("retrieving", "fetching the results")
	var got collected
	var known, first *Manifest
	u, gaveUp := &unsteady{r: r}, false
	const failed = "the results could not be fetched"
	progress, finish := r.transfer("download")
	err := r.carry(carriage{
		failed:   failed,
		patience: func(time.Time) time.Time { return r.collectEnd() },
		once: func() (here int64, err error) {
			if err := u.finish(e); err != nil {
				return 0, err
			}
			for {
				got, here, err = r.collectOnce(e, u.without(), &known, progress)
				finish()
				first = cmp.Or(first, known)
				var changed *changedError
				if !errors.As(err, &changed) {
					return here, err
				}
				known = nil // it is none of what there is now
				if gaveUp = !u.again(changed); gaveUp || r.machine == nil {
					return here, err
				}
			}
		},
		final: func(err error) bool { return gaveUp || !again(err) },
	})
	if err == nil {
		if err = u.error(); err != nil {
			return collected{}, err
		}
	}
	if err == nil && first != nil {
		r.warnOfGone(first.Files, got.files)
	}
	if err == nil && got.moved != "" {
		r.warnf("results that are named like files of overbrainer's own are in %s/%s", r.run.Dir, got.moved)
	}
	if err == nil && len(got.left) > 0 {
		r.warnf("links among the results lead to nothing that could be fetched: %s", someOf(got.left))
	}
	switch {
	case err == nil, errors.Is(err, errInterrupted), errors.Is(err, ErrNoJob), podEnded(err):
		return got, err
	}
	return collected{}, failf("not_retrieved", "%s: %v", failed, err).at(r.address).id(podID(r.run)).because(err).
		hint("they wait on the pod for its grace; overbrainer apply, or %s, goes on from what is here", r.command("attach"))
}

// warnOfGone names files that the pod listed first and that the job's own
// processes removed since, on the same disk.
func (r *runner) warnOfGone(listed, got []File) {
	here := map[string]bool{}
	for _, f := range got {
		here[f.Path] = true
	}
	listed = slices.DeleteFunc(slices.Clone(listed), func(f File) bool { return here[f.Path] })
	if len(listed) > 0 {
		r.warnf("%s that the pod listed at first, %s among them, went away there before they were fetched", countFiles(len(listed)), listed[0].Path)
	}
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

// collectEnd is until when a pod that is lost while its results come home is
// tried to be reached: it waits for its grace, or for a lease that came later.
func (r *runner) collectEnd() time.Time {
	end := r.graceEnd()
	if lease := r.run.Pod.LeasedUntil; lease != nil && lease.After(end) {
		end = *lease
	}
	return end
}

// podEnded reports whether an error of connect says that the pod is no more, or is
// another process's to end: another try does not help.
func podEnded(err error) bool {
	var e *Error
	return errors.Is(err, errClaimLost) || errors.As(err, &e) && (e.Code == "pod_gone" || e.Code == "pod_stopped")
}

// turnedAway reports whether the pod answered and did not let us in.
func turnedAway(err error) bool {
	var failed *DialError
	return errors.As(err, &failed) && (failed.Stage == StageAuth || failed.Stage == StageHostKey)
}

// ErrNoSpace says that there is too little room here for the results.
var ErrNoSpace = errors.New("no space left here")

// ErrMismatch says that a file did not arrive as it lies on the pod.
var ErrMismatch = errors.New("a file does not have the digest that the pod gave")

// ErrNoJob says that no job was ever started in the run's directory on the pod:
// where one was, its container has been made anew since, with an empty disk.
var ErrNoJob = errors.New("the run's directory on the pod holds nothing of a job")

// again reports whether another try may help.
func again(err error) bool {
	return !errors.Is(err, ErrNoSpace) && !errors.Is(err, ErrMismatch) && !errors.Is(err, ErrNoJob)
}

// collectOnce makes one try, at all but what it is told to leave out. here is how many bytes of the results it saw here
// at the end, known the list of them once there is one.
func (r *runner) collectOnce(e ending, without []string, known **Manifest, progress remote.Progress) (got collected, here int64, err error) {
	ctx, cancel := r.s.breakable()
	defer cancel()
	job := r.run.Job
	request := CollectRequest{Dir: r.dir(), Globs: slices.Clone(job.Outputs), Known: *known}
	if e.snapshot != nil {
		request.Globs = append(request.Globs, globLiteral(e.snapshot.Path)+"/**")
		request.Always = append(request.Always, snapshotFile)
	}
	kept := r.lookForSaved(ctx, e)
	if kept != nil {
		request.Globs = append(request.Globs, globsOf(kept.snapshot.Path)...)
		request.Always = append(request.Always, snapshotFile)
	}
	for _, path := range without {
		request.Globs = append(request.Globs, "!"+globLiteral(path), "!"+globLiteral(path)+"/**")
	}
	request.Progress = func(done, total int64, rate float64) {
		here = done
		progress(done, total, rate)
	}
	r.tellListing(&request)
	manifest, err := r.machine.Collect(ctx, request)
	if err != nil {
		if len(manifest.Files) > 0 {
			*known = &manifest
		}
		return collected{}, here, err
	}
	got.files, got.masked = r.maskKept(manifest.Files)
	got.left = manifest.Left
	got.moved = manifest.Moved
	if kept != nil && holds(manifest.Files, kept.snapshot.Path) {
		got.saved = kept
	}
	switch {
	case e.snapshot != nil && !holds(manifest.Files, e.snapshot.Path):
		got.reason = state.InvalidSnapshot
		got.missed = fmt.Sprintf("the job says that it saved itself at step %d, and there is no file in %s", e.snapshot.Step, e.snapshot.Path)
	case e.phase == state.Succeeded && manifest.Matched == 0 && !job.AllowEmpty:
		got.reason, got.missed = state.NoOutputs, missedWords(job.Outputs, manifest.Others)
	}
	return got, here, nil
}

// tellListing has a request say how far the pod is with the digests of many files,
// and has the lease that is held meanwhile written down.
func (r *runner) tellListing(request *CollectRequest) {
	var mu sync.Mutex // what is told comes from several goroutines
	progress, told := request.Progress, time.Now()
	request.Progress = func(done, total int64, rate float64) {
		mu.Lock()
		defer mu.Unlock()
		progress(done, total, rate)
	}
	request.Digests = func(done, total int) {
		mu.Lock()
		defer mu.Unlock()
		if done < total && time.Since(told) >= r.t.Heartbeat {
			told = time.Now()
			r.emit(Event{Kind: EventWaiting, Message: fmt.Sprintf("the pod computes digests: %d of %s", done, countFiles(total))})
		}
	}
	request.Renewed = func() {
		mu.Lock()
		defer mu.Unlock()
		r.leasedForResults()
	}
}

// leasedForResults is leased where the lease may carry the pod past the grace of
// its results.
func (r *runner) leasedForResults() {
	if r.graceEnd().Sub(r.now()) < 2*r.t.LeaseTTL {
		r.leased()
	}
}

// holds reports whether the files have one below a directory, or of its name.
func holds(files []File, name string) bool {
	return slices.ContainsFunc(files, func(f File) bool { return f.Path == name || strings.HasPrefix(f.Path, name+"/") })
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

// settleResults writes down what came home.
func (r *runner) settleResults(e ending, got collected) error {
	at := r.now()
	outputs := 0
	for _, f := range got.files {
		if f.Path != jobLog && f.Path != r.run.Job.Metrics && f.Path != snapshotFile {
			outputs++
		}
	}
	err := r.save(func(_ *state.State, run *state.Run) {
		run.Retrieved = got.missed == ""
		run.FetchedBy = r.s.Who.Name()
		run.ResultsDigest, run.ResultFiles, run.ResultBytes = digestOf(got.files), len(got.files), total(got.files)
		if e.snapshot != nil && got.missed == "" {
			snap := *e.snapshot
			snap.Local, snap.SHA256 = true, checkpointSum(checkpointOf(got.files, snap.Path))
			if snap.At.IsZero() {
				snap.At = at
			}
			run.Leave(snap)
		}
		if got.saved != nil {
			got.saved.note(r, run, got.files)
		}
	})
	r.saveResult(got.files)
	if err != nil || got.missed != "" {
		return err
	}
	text := fmt.Sprintf("%s, %s, verified, in %s", countFiles(len(got.files)), size(total(got.files)), r.run.Dir)
	if got.masked != "" {
		text += "; " + got.masked
	}
	r.emit(Event{Kind: EventRetrieved, Dir: r.run.Dir, Message: text})
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
	return text + "; there were " + someOf(others)
}

// someOf names the first of many.
func someOf(all []string) string { return plan.List(all, 10) }

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
