package apply

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/overbrainer/overbrainer/internal/job"
	"github.com/overbrainer/overbrainer/internal/safetext"
)

// Names in a run's local directory.
const (
	jobLog     = "job.log"
	followFile = "follow.json"
	maxLogLine = 64 << 10
	maxUnsaved = 32 << 10 // of the log, before it is written to its file
)

// tail keeps a job's log and metrics here as they grow on the pod. Whole lines
// are written, and how far that was is kept beside them, so that a follower
// which comes later goes on without a gap or a line twice. What is kept is
// masked; the verified files replace it at the end.
type tail struct {
	dir         string
	metricsName string
	redact      *safetext.Redactor
	readOnly    bool

	// next is where the next read begins on the pod.
	next Offsets
	// shown is up to where on the pod the log's lines were told before.
	shown   int64
	pending []byte // the beginning of a line that is not whole yet
	unsaved []byte // masked lines that are not in the file yet
	saved   tailMark
	log     *os.File
	metrics *os.File

	// What the metrics said last.
	step, maxSteps int64
	values         map[string]float64
	lines          int
	phase          string
}

// tailMark is the file follow.json.
type tailMark struct {
	PodID string  `json:"pod_id"`
	Read  Offsets `json:"read"` // on the pod
	Local Offsets `json:"local"`
}

// openTail goes on where an earlier follower of the same pod stopped.
func openTail(dir, podID, metricsName string, redact *safetext.Redactor, readOnly bool) (*tail, error) {
	t := &tail{dir: dir, metricsName: metricsName, redact: redact, readOnly: readOnly, values: map[string]float64{}, step: -1, maxSteps: -1}
	t.saved.PodID = podID
	if readOnly {
		t.next = Offsets{Log: -8 << 10, Metrics: 0}
		return t, nil
	}
	if err := os.MkdirAll(filepath.Join(dir, podLogDir), 0o700); err != nil {
		return nil, err
	}
	var mark tailMark
	if data, err := os.ReadFile(t.markPath()); err == nil && json.Unmarshal(data, &mark) == nil && mark.PodID == podID {
		t.saved = mark
	}
	t.next = t.saved.Read
	var err error
	if t.log, err = openAt(filepath.Join(dir, jobLog), t.saved.Local.Log); err != nil {
		return nil, err
	}
	if metricsName != "" && filepath.IsLocal(filepath.FromSlash(metricsName)) {
		path := filepath.Join(dir, filepath.FromSlash(metricsName))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		if t.metrics, err = openAt(path, t.saved.Local.Metrics); err != nil {
			return nil, err
		}
		t.recount(path)
	}
	return t, nil
}

// openAt opens a file for appending at a known size; what is longer is cut.
func openAt(path string, size int64) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, failf("unsafe_file", "%s is not a plain file", path)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.Size() < size {
		size = info.Size()
	}
	if err := f.Truncate(size); err != nil {
		_ = f.Close()
		return nil, err
	}
	if _, err := f.Seek(size, 0); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// recount reads what is here already, for the last values.
func (t *tail) recount(path string) {
	if data, err := os.ReadFile(path); err == nil {
		t.parse(data, nil)
	}
}

func (t *tail) markPath() string { return filepath.Join(t.dir, podLogDir, followFile) }

// take keeps what a poll brought, and tells of each line and of progress. It
// reports whether anything grew.
func (t *tail) take(p Poll, line func(string), progress func()) (grew bool) {
	if p.LogAnew {
		t.pending, t.saved.Read.Log, t.shown = nil, 0, 0
	}
	if p.MetricsAnew {
		t.saved.Read.Metrics, t.saved.Local.Metrics = 0, 0
		if t.metrics != nil {
			_ = t.metrics.Truncate(0)
			_, _ = t.metrics.Seek(0, 0)
		}
	}
	grew = len(p.Log) > 0 || len(p.Metrics) > 0
	t.takeLog(p.Log, p.Next.Log, line)
	if len(p.Metrics) > 0 {
		t.takeMetrics(p.Metrics, progress)
	}
	t.next = p.Next
	if grew {
		t.saved.Read.Metrics = p.Next.Metrics
		t.saved.Read.Log = p.Next.Log - int64(len(t.pending))
		t.saveMark()
	}
	return grew
}

// takeLog takes in a part of the log that goes until an offset on the pod. Of data
// nothing is kept but the beginning of a line.
func (t *tail) takeLog(data []byte, until int64, line func(string)) {
	for len(data) > 0 {
		text := data[:min(len(data), maxLogLine-len(t.pending))]
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			text = text[:i+1]
		}
		data = data[len(text):]
		if len(t.pending) > 0 {
			t.pending = append(t.pending, text...)
			text = t.pending
		}
		end := len(text)
		if text[end-1] != '\n' {
			end = 0
			if len(text) == maxLogLine {
				end = afterWord(text)
			}
		}
		if end > 0 {
			tell := line
			if until-int64(len(data)+len(text)-end) <= t.shown {
				tell = nil
			}
			t.writeLine(text[:end], tell)
		}
		t.pending = append(t.pending[:0], text[end:]...)
	}
	t.writeUnsaved()
}

// afterWord is where to cut a line that is too long: between words, so that no
// secret is cut, where one ends near.
func afterWord(text []byte) int {
	const near = 4 << 10 // longer than a secret is
	from := max(0, len(text)-near)
	if i := bytes.LastIndexAny(text[from:], " \t\r"); i >= 0 {
		return from + i + 1
	}
	return len(text)
}

// flush writes the last line of a log that has ended without a line break.
func (t *tail) flush(line func(string)) {
	if len(t.pending) > 0 {
		if t.next.Log <= t.shown {
			line = nil
		}
		t.writeLine(t.pending, line)
		t.writeUnsaved()
		t.pending = nil
		t.saved.Read.Log = t.next.Log
		t.saveMark()
	}
}

func (t *tail) writeLine(data []byte, line func(string)) {
	body := bytes.TrimSuffix(data, []byte{'\n'}) // a match must not take the line's end along
	text := t.redact.String(string(body))
	if t.log != nil {
		if t.unsaved = append(append(t.unsaved, text...), data[len(body):]...); len(t.unsaved) >= maxUnsaved {
			t.writeUnsaved()
		}
	}
	if line != nil {
		// A progress bar rewrites its line: the last state of it is what counts.
		shown := strings.TrimRight(text, "\r\n")
		if i := strings.LastIndexByte(shown, '\r'); i >= 0 {
			shown = shown[i+1:]
		}
		line(safetext.OneLine(shown))
	}
}

func (t *tail) writeUnsaved() {
	if len(t.unsaved) > 0 {
		n, _ := t.log.Write(t.unsaved)
		t.saved.Local.Log += int64(n)
		t.unsaved = t.unsaved[:0]
	}
}

func (t *tail) takeMetrics(data []byte, progress func()) {
	if t.metrics != nil {
		n, _ := t.metrics.WriteString(t.redact.String(string(data)))
		t.saved.Local.Metrics += int64(n)
	}
	t.parse(data, progress)
}

func (t *tail) parse(data []byte, progress func()) {
	before := t.lines
	_, _ = job.ParseMetrics(bytes.NewReader(data), func(l job.Line) {
		t.lines++
		t.step = max(t.step, l.Step)
		if l.MaxSteps >= 0 {
			t.maxSteps = l.MaxSteps
		}
		for name, value := range l.Values {
			if name != "time" {
				t.values[name] = value
			}
		}
		t.phase = phaseAfter(t.phase, l.Kind, t.step, t.maxSteps)
	})
	if progress != nil && t.lines > before {
		progress()
	}
}

// phaseAfter is what a job is doing after a line of this kind.
func phaseAfter(before, kind string, step, maxSteps int64) string {
	atEnd := maxSteps > 0 && step >= maxSteps
	switch kind {
	case "eval":
		return "evaluating"
	case "end":
		return "finalizing"
	case "merge", "export", "compare":
		return kind
	}
	if atEnd {
		return "finalizing"
	}
	return "training"
}

func (t *tail) saveMark() {
	if t.readOnly {
		return
	}
	if data, err := json.Marshal(t.saved); err == nil {
		path := t.markPath()
		if os.WriteFile(path+".tmp", data, 0o600) == nil {
			_ = os.Rename(path+".tmp", path)
		}
	}
}

func (t *tail) close() {
	if t.log != nil {
		_ = t.log.Close()
	}
	if t.metrics != nil {
		_ = t.metrics.Close()
	}
}

// lastLines gives the last lines of a run's local log.
func lastLines(dir string, n int) []string {
	f, err := os.Open(filepath.Join(dir, jobLog))
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	const most = 16 << 10
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	at := max(0, info.Size()-most)
	data := make([]byte, info.Size()-at)
	if _, err := f.ReadAt(data, at); err != nil {
		return nil
	}
	lines := strings.Split(strings.TrimRight(string(data), "\r\n"), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	if at > 0 && len(lines) > 1 {
		lines = lines[1:]
	}
	for i := range lines {
		lines[i] = safetext.OneLine(strings.TrimRight(lines[i], "\r"))
	}
	return lines[max(0, len(lines)-n):]
}
