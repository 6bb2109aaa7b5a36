package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Offsets is how far the job's files were read, in bytes. Below zero: from so
// many bytes before the end.
type Offsets struct{ Log, Metrics int64 }

// Limits is how much one Poll reads of each file; 0 means 1 MiB.
type Limits struct{ Log, Metrics int64 }

// Poll is one look at a job.
type Poll struct {
	Status Status
	PID    int    // 0: not started
	Stage  string // "setup" or "command"; empty before
	// EndedBy is "deadline" when the watchdog ended the job of a kept pod.
	EndedBy string
	// Now is the pod's clock, EndedAt when the job ended; Unix seconds, 0: not
	// told.
	Now, EndedAt int64

	// Log is new bytes of job.log. Metrics is new whole lines of the metrics
	// file; the last one may lack its line break once the job has ended.
	Log, Metrics []byte
	// Next is where to go on.
	Next Offsets
	// LogSize and MetricsSize are the files' sizes.
	LogSize, MetricsSize int64
	// LogAnew and MetricsAnew: the file is shorter than it was, so it is read
	// from its beginning.
	LogAnew, MetricsAnew bool

	// Requested: somebody asked for a snapshot, with the reason
	// SnapshotRequest: requested, deadline, cost, disk, or anything.
	Requested       bool
	SnapshotRequest string
	// HasProof: there is a snapshot.json; see Proof.
	HasProof bool

	// DiskUsed and DiskFree are bytes of the file system that holds the run's
	// directory, VolumeUsed what the watchdog last measured on the network
	// volume; -1: not known.
	DiskUsed, DiskFree, VolumeUsed int64
	// DiskShared: that file system is a server's, as a network volume is, so
	// its figures say nothing of this pod.
	DiskShared bool
}

// Drained reports whether everything the job left was read.
func (p Poll) Drained() bool {
	return p.Status.Ended() && p.Next.Log >= p.LogSize && p.Next.Metrics >= p.MetricsSize
}

const defaultLimit = 1 << 20

// Poll looks at the job, in one round trip.
func (p *Pod) Poll(ctx context.Context, at Offsets, limits Limits) (Poll, error) {
	if p.Metrics != "" && !fs.ValidPath(p.Metrics) {
		return Poll{}, fmt.Errorf("the metrics file %q does not lie in the run's directory", p.Metrics)
	}
	if limits.Log <= 0 {
		limits.Log = defaultLimit
	}
	if limits.Metrics <= 0 {
		limits.Metrics = defaultLimit
	}
	out, err := p.run(ctx, call{
		what: "looking at the job",
		vars: []string{
			"ob_metrics", p.Metrics,
			"ob_log_at", strconv.FormatInt(at.Log, 10),
			"ob_log_max", strconv.FormatInt(limits.Log, 10),
			"ob_metrics_at", strconv.FormatInt(at.Metrics, 10),
			"ob_metrics_max", strconv.FormatInt(limits.Metrics, 10),
		},
		script: compact(libText) + compact(statusText) + compact(pollText),
		max:    limits.Log + limits.Metrics + 16<<10,
	})
	if err != nil {
		return Poll{}, err
	}
	poll, err := parsePoll(out, at)
	if err != nil {
		return Poll{}, &ProtocolError{What: "looking at the job", Detail: err.Error()}
	}
	return poll, nil
}

// frames reads the answer of poll.sh: lines, some of which announce bytes.
type frames struct{ rest []byte }

func (f *frames) line() (string, bool) {
	line, rest, found := bytes.Cut(f.rest, []byte("\n"))
	if !found {
		return "", false
	}
	f.rest = rest
	return string(line), true
}

// chunk reads what a line announced: the bytes and a line break.
func (f *frames) chunk(n int64) ([]byte, bool) {
	if n < 0 || n >= int64(len(f.rest)) || f.rest[n] != '\n' {
		return nil, false
	}
	data := f.rest[:n:n]
	f.rest = f.rest[n+1:]
	return data, true
}

func parsePoll(out []byte, at Offsets) (Poll, error) {
	poll := Poll{DiskUsed: -1, DiskFree: -1, VolumeUsed: -1, Next: at}
	f := &frames{rest: out}
	if head, ok := f.line(); !ok || head != "overbrainer-poll 1" {
		return poll, errors.New("it has no beginning")
	}
	for {
		line, ok := f.line()
		if !ok {
			return poll, errors.New("it is cut off")
		}
		if line == "end" {
			break
		}
		word, rest, _ := strings.Cut(line, " ")
		if !poll.set(f, word, rest) {
			return poll, fmt.Errorf("the line %q", shorten([]byte(line)))
		}
	}
	if poll.Status.State == "" {
		return poll, errors.New("it has no state")
	}
	poll.LogAnew = at.Log > poll.LogSize
	poll.MetricsAnew = at.Metrics > poll.MetricsSize
	poll.wholeLines()
	return poll, nil
}

// set takes one line of the answer.
func (p *Poll) set(f *frames, word, rest string) bool {
	ok := true
	number := func(text string) int64 {
		n, err := strconv.ParseInt(text, 10, 64)
		ok = ok && err == nil && n >= 0
		return n
	}
	switch word {
	case "state":
		p.Status, ok = parseStatus(rest)
	case "pid":
		p.PID = int(number(rest))
	case "stage":
		p.Stage = rest
	case "ended_by":
		p.EndedBy = rest
	case "now":
		p.Now = number(rest)
	case "ended_at":
		p.EndedAt = number(rest)
	case "proof":
		p.HasProof = true
	case "shared":
		p.DiskShared = true
	case "du":
		p.VolumeUsed = number(rest) << 10
	case "df":
		used, free, found := strings.Cut(rest, " ")
		p.DiskUsed, p.DiskFree = number(used)<<10, number(free)<<10
		ok = ok && found
	case "request", "log", "metrics":
		fields := strings.Fields(rest)
		if len(fields) != 3 {
			return false
		}
		at, size := number(fields[0]), number(fields[1])
		data, whole := f.chunk(number(fields[2]))
		if !ok || !whole || at+int64(len(data)) > size {
			return false
		}
		p.take(word, at, size, data)
	}
	return ok
}

func (p *Poll) take(word string, at, size int64, data []byte) {
	switch word {
	case "request":
		p.Requested = true
		p.SnapshotRequest = strings.TrimSpace(strings.ToValidUTF8(string(data), "�"))
	case "log":
		p.Log, p.LogSize, p.Next.Log = data, size, at+int64(len(data))
	case "metrics":
		p.Metrics, p.MetricsSize, p.Next.Metrics = data, size, at+int64(len(data))
	}
}

// wholeLines holds back the beginning of a metrics line that is still being
// written. A line as long as the limit is let through as it is.
func (p *Poll) wholeLines() {
	end := bytes.LastIndexByte(p.Metrics, '\n') + 1
	last := p.Next.Metrics == p.MetricsSize
	if end == len(p.Metrics) || (last && p.Status.Ended()) || (end == 0 && !last) {
		return
	}
	p.Next.Metrics -= int64(len(p.Metrics) - end)
	p.Metrics = p.Metrics[:end]
}

// Cancel ends the job: TERM to its process group, KILL after CancelPatience,
// and the mark that it was cancelled once nothing of it lives. A job that ended
// by itself stays as it ended; the status tells.
func (p *Pod) Cancel(ctx context.Context, runID string) (Status, error) {
	out, err := p.run(ctx, call{
		what:   "cancelling the job",
		vars:   []string{"ob_patience", seconds(p.CancelPatience), "ob_mark", runID},
		script: compact(libText) + compact(statusText) + compact(cancelText),
	})
	if err != nil {
		return Status{}, err
	}
	text, found := strings.CutPrefix(strings.TrimSuffix(string(out), "\n"), "state ")
	status, ok := parseStatus(text)
	if !found || !ok {
		return Status{}, &ProtocolError{What: "cancelling the job", Detail: strconv.Quote(shorten(out))}
	}
	return status, nil
}
