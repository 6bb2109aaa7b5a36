package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/overbrainer/overbrainer/internal/job"
	"github.com/overbrainer/overbrainer/internal/safetext"
	"github.com/overbrainer/overbrainer/providers"
)

// Limits of a kept pod log.
const (
	podLogCap  = 20 << 20
	podLogRoom = 512 // kept for the line which says that it is full
	podLogDir  = ".pod"
	podLogName = "pod.log"
	podCursor  = "pod.log.cursor"
)

// podLog keeps a pod's own log beside the run while it is followed. It never
// ends or delays anything else.
type podLog struct {
	mu     sync.Mutex
	podID  string
	cancel context.CancelFunc
	// drained is closed when the log has been read to its end, with which somebody
	// began at drainBegan; nil before. Since then taken has the cursors of the lines
	// that came, because they come in two ways.
	drained    chan struct{}
	drainBegan time.Time
	taken      map[string]bool
	root       *os.Root
	file       *os.File
	size       int64
	full       bool
	cursor     string
	before     string // the cursor before it; "" when that is not known
	last       string
	said       string // the last line of the container itself
	// verdict is what the pod's guard said of itself, deleting why it deletes
	// the pod; both "" and zero before.
	verdict  job.Verdict
	deleting string
	// spoke is given something when the guard has said a verdict.
	spoke chan struct{}
	// failures are the starts of the container in a row that went wrong.
	failures int
	// restarted is when the container was last seen to start again.
	restarted time.Time
	moved     time.Time
	redact    *safetext.Redactor
	now       func() time.Time
}

// captureLogs follows the pod's log until the runner ends it.
func (r *runner) captureLogs(podID string) {
	if r.logs != nil && r.logs.podID == podID {
		return
	}
	r.stopLogs()
	if !r.rented.Description.Has(providers.CapLogs) || r.unclaimed {
		return
	}
	l, err := openPodLog(r.dir(), podID, r.s.Redactor, r.s.Now)
	if err != nil {
		r.warnf("the pod's log is not kept: %v", err)
		return
	}
	ctx, cancel := context.WithCancel(r.s.steady())
	l.cancel = cancel
	r.logs = l
	go r.readLogs(ctx, l)
}

// readLogs follows the pod's log, again from where it was whenever the stream
// ends, until it is told to stop or the pod is not known any more.
func (r *runner) readLogs(ctx context.Context, l *podLog) {
	for wait := r.t.Reconnect; ; wait = min(2*wait, r.t.ReconnectMax) {
		from := l.at()
		err := r.rented.Provider.PodLogs(ctx, providers.LogRequest{PodID: l.podID, Cursor: from, Follow: true}, l.take)
		if providers.Is(err, providers.NotFound) || errors.Is(err, os.ErrClosed) {
			return
		}
		if l.at() != from {
			wait = r.t.Reconnect
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// drainLogs ends the capture when the log has been read to its end.
func (r *runner) drainLogs() {
	r.beginDrain()
	if l := r.logs; l != nil {
		<-l.drained
		r.stopLogs()
	}
}

// beginDrain has the log read to its end, beside what is still to be done on a pod
// that is about to be deleted. It was, if that was begun a moment ago.
func (r *runner) beginDrain() {
	l := r.logs
	if l == nil || l.drained != nil && r.now().Sub(l.drainBegan) < r.t.DrainLogs {
		return
	}
	drained := make(chan struct{})
	l.drained, l.drainBegan = drained, r.now()
	go func() {
		defer close(drained)
		r.drain(l)
	}()
}

// drain reads what the log has until now, for a moment at most. It begins one line
// back: the end of a log shows by silence, and after a line that comes for certain a
// short one does. Whoever follows the log goes on: what is written meanwhile, by the
// guard for one, still comes.
func (r *runner) drain(l *podLog) {
	ctx, cancel := context.WithTimeout(r.s.steady(), r.t.DrainLogs)
	defer cancel()
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		_ = r.rented.Provider.PodLogs(ctx, providers.LogRequest{PodID: l.podID, Cursor: l.lineBack()}, l.take)
	}()
	select {
	case <-finished:
	case <-ctx.Done():
	}
}

func (r *runner) stopLogs() {
	if r.logs != nil {
		r.logs.close()
		r.logs = nil
	}
}

func (r *runner) lastLogLine() string {
	if r.logs == nil {
		return ""
	}
	r.logs.mu.Lock()
	defer r.logs.mu.Unlock()
	return safetext.Cut(r.logs.last, 160)
}

// guardSaid gives the verdict and the reason of a deletion that the pod's own
// guard wrote into its log.
func (r *runner) guardSaid() (v job.Verdict, deleting string) {
	if r.logs == nil {
		return job.Verdict{}, ""
	}
	r.logs.mu.Lock()
	defer r.logs.mu.Unlock()
	return r.logs.verdict, r.logs.deleting
}

// guardSpeaks tells when the guard on the pod says whether it is ready, so that
// nobody has to wait for the next look.
func (r *runner) guardSpeaks() <-chan struct{} {
	if r.logs == nil {
		return nil
	}
	return r.logs.spoke
}

// guardReady reports whether the guard on the pod has said that it is ready,
// which it is only after its sshd has started.
func (r *runner) guardReady() bool {
	v, _ := r.guardSaid()
	return v.State == job.VerdictReady
}

// startFailure is what the host writes when a container cannot be started, or
// has ended as soon as it was.
var startFailure = regexp.MustCompile(`(?i)\b(error|fail\w*)\b.*\bcontainer\b|\bcontainer exited\b`)

// ourWord is a line that what we start in the container writes.
var ourWord = regexp.MustCompile(`^\S+Z (bootstrap|watchdog): `)

// startsFailed is how often in a row the container could not be started, and
// what was said last, by it and of it.
func (r *runner) startsFailed() (times int, words string) {
	if r.logs == nil {
		return 0, ""
	}
	l := r.logs
	l.mu.Lock()
	defer l.mu.Unlock()
	words = fmt.Sprintf("%q", safetext.Cut(l.last, 160))
	if l.said != "" && l.said != l.last {
		words = fmt.Sprintf("%q, %s", safetext.Cut(l.said, 160), words)
	}
	return l.failures, words
}

// restartedSince reports whether the pod's container has started again after a
// time.
func (r *runner) restartedSince(at *time.Time) bool {
	if r.logs == nil || at == nil {
		return false
	}
	r.logs.mu.Lock()
	defer r.logs.mu.Unlock()
	return r.logs.restarted.After(*at)
}

// openPodLog opens the kept log and its cursor without following a link: what
// comes from a pod lands in the same directory.
func openPodLog(runDir, podID string, redact *safetext.Redactor, now func() time.Time) (*podLog, error) {
	if err := os.MkdirAll(filepath.Join(runDir, podLogDir), 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(filepath.Join(runDir, podLogDir))
	if err != nil {
		return nil, err
	}
	if info, err := root.Lstat(podLogName); err == nil && !info.Mode().IsRegular() {
		_ = root.Close()
		return nil, failf("unsafe_file", "%s in %s is not a plain file", podLogName, podLogDir)
	}
	f, err := root.OpenFile(podLogName, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	l := &podLog{podID: podID, root: root, file: f, redact: redact, now: now, spoke: make(chan struct{}, 1)}
	if info, err := f.Stat(); err == nil {
		l.size = info.Size()
	}
	l.full = l.size >= podLogCap-podLogRoom
	l.closeTornLine()
	if data, err := root.ReadFile(podCursor); err == nil {
		if id, cursor, ok := strings.Cut(strings.TrimSpace(string(data)), " "); ok && id == podID && validCursor(cursor) {
			l.cursor = cursor
		}
	}
	return l, nil
}

func (l *podLog) closeTornLine() {
	if l.size == 0 {
		return
	}
	last := make([]byte, 1)
	if _, err := l.file.ReadAt(last, l.size-1); err == nil && last[0] != '\n' {
		n, _ := l.file.Write([]byte("\n"))
		l.size += int64(n)
	}
}

func validCursor(s string) bool {
	if s == "" || len(s) > 200 {
		return false
	}
	for _, c := range []byte(s) {
		if c < 0x20 || c > 0x7e {
			return false
		}
	}
	return true
}

func (l *podLog) at() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cursor
}

// lineBack gives the cursor before the last line, which comes again then, or the
// last one where that is all that is known. No line is kept twice from here on.
func (l *podLog) lineBack() (from string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken = map[string]bool{}
	if l.before == "" {
		return l.cursor
	}
	l.taken[l.cursor] = true
	return l.before
}

// take keeps one line.
func (l *podLog) take(line providers.LogLine) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return os.ErrClosed
	}
	if l.taken != nil && line.Cursor != "" {
		if l.taken[line.Cursor] {
			return nil
		}
		l.taken[line.Cursor] = true
	}
	if v, ok := job.LogVerdict(line.Text); ok {
		l.verdict = v
		select {
		case l.spoke <- struct{}{}:
		default:
		}
	}
	if reason, ok := job.ParseDelete(line.Text); ok {
		l.deleting = reason
	}
	switch {
	case line.Source == providers.LogContainer && line.Text != "":
		l.said = l.redact.String(safetext.OneLine(line.Text))
		if ourWord.MatchString(line.Text) {
			l.failures = 0 // it runs
		}
		if strings.HasSuffix(line.Text, " bootstrap: container restarted") {
			l.restarted = l.now()
		}
	case line.Source == providers.LogSystem && startFailure.MatchString(line.Text):
		l.failures++
	}
	if line.Text != "" && !l.full {
		text := l.redact.String(safetext.OneLine(line.Text))
		l.last = text
		l.write(line.Time, string(line.Source), text)
	} else if line.Text != "" {
		l.last = l.redact.String(safetext.OneLine(line.Text))
	}
	if line.Cursor != "" && validCursor(line.Cursor) && !l.full {
		if line.Cursor != l.cursor {
			l.before, l.cursor = l.cursor, line.Cursor
		}
		if now := l.now(); now.Sub(l.moved) >= time.Second {
			l.moved = now
			l.saveCursor()
		}
	}
	return nil
}

func (l *podLog) write(ts, source, text string) {
	data, err := json.Marshal(struct {
		TS     string `json:"ts"`
		Source string `json:"source"`
		Line   string `json:"line"`
	}{ts, source, text})
	if err != nil {
		return
	}
	data = append(data, '\n')
	if l.size+int64(len(data)) > podLogCap-podLogRoom && source != string(providers.LogOwn) {
		l.full = true
		l.write("", string(providers.LogOwn), "the log is full, later lines are not kept")
		return
	}
	n, _ := l.file.Write(data)
	l.size += int64(n)
}

func (l *podLog) saveCursor() {
	if l.cursor == "" {
		return
	}
	const temporary = podCursor + ".tmp"
	_ = l.root.Remove(temporary)
	f, err := l.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return
	}
	_, err = f.WriteString(l.podID + " " + l.cursor + "\n")
	if cerr := f.Close(); err == nil && cerr == nil {
		_ = l.root.Rename(temporary, podCursor)
	}
}

func (l *podLog) close() {
	if l.cancel != nil {
		l.cancel()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.saveCursor()
		_ = l.file.Close()
		_ = l.root.Close()
		l.file = nil
	}
}
