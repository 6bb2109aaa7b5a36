package job

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"
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
	// EndedAt is when the job ended by the pod's clock, in Unix seconds; 0: not
	// told.
	EndedAt int64

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
	// directory, looked at every DiskEvery and after a job that failed; VolumeUsed is
	// what the watchdog last measured on the network volume; -1: not looked at, or not
	// known.
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

// DiskEvery is the least time between two looks at the disk.
const DiskEvery = 5 * time.Second

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
	words := func(s *shell) string {
		disk := 0
		if now := time.Now(); now.Sub(s.diskAt) >= DiskEvery {
			disk, s.diskAt = 1, now
		}
		return fmt.Sprintf("look %d %d %d %d %d", at.Log, limits.Log, at.Metrics, limits.Metrics, disk)
	}
	const requests = 1 << 10
	var poll Poll
	err := p.ask(ctx, p.looks, "looking at the job", words, func(r *bufio.Reader) (err error) {
		poll, err = parsePoll(r, at, limits.Log+limits.Metrics+requests)
		return err
	})
	if err != nil {
		return Poll{}, err
	}
	return poll, nil
}

// frames reads what the pod's shell answers: lines, some of which announce bytes.
type frames struct {
	r    *bufio.Reader // its size bounds a line
	room int64         // how many announced bytes may still come
}

func (f *frames) line() (string, error) {
	line, err := f.r.ReadSlice('\n')
	return string(bytes.TrimSuffix(line, []byte("\n"))), err
}

// until reads to a line that is mark, without it and the line break before it.
func (f *frames) until(mark string) ([]byte, error) {
	var all []byte
	begins := true
	for {
		part, err := f.r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
		if begins && string(part) == mark+"\n" {
			return bytes.TrimSuffix(all, []byte("\n")), nil
		}
		begins = err == nil
		if f.room -= int64(len(part)); f.room < 0 {
			return nil, errors.New("it is longer than it may be")
		}
		all = append(all, part...)
	}
}

// chunk reads what a line announced: the bytes and a line break.
func (f *frames) chunk(n int64) ([]byte, error) {
	if n < 0 || n > f.room {
		return nil, fmt.Errorf("%d bytes are announced, more than were asked for", n)
	}
	f.room -= n
	data := make([]byte, n+1)
	if _, err := io.ReadFull(f.r, data); err != nil {
		return nil, err
	}
	if data[n] != '\n' {
		return nil, errors.New("there are more bytes than were announced")
	}
	return data[:n:n], nil
}

// part reads bytes of a file that were announced by "AT SIZE COUNT". It gives
// also where they end in the file, and the file's size.
func (f *frames) part(fields []string) (data []byte, place [2]int64, err error) {
	var n [3]int64
	if len(fields) != len(n) {
		return nil, place, errors.New("not three numbers")
	}
	for i, field := range fields {
		if n[i], err = strconv.ParseInt(field, 10, 64); err != nil || n[i] < 0 {
			return nil, place, fmt.Errorf("%q is not a size", shorten([]byte(field)))
		}
	}
	at, size, count := n[0], n[1], n[2]
	if at > size-count {
		return nil, place, errors.New("it lies beyond the end")
	}
	data, err = f.chunk(count)
	return data, [2]int64{at + count, size}, err
}

// parsePoll reads one answer of poll.sh, at most room bytes of files.
func parsePoll(r *bufio.Reader, at Offsets, room int64) (Poll, error) {
	poll := Poll{DiskUsed: -1, DiskFree: -1, VolumeUsed: -1, Next: at}
	f := &frames{r: r, room: room}
	if head, err := f.line(); err != nil {
		return poll, err
	} else if head != "overbrainer-poll 1" {
		return poll, fmt.Errorf("it begins with %q", shorten([]byte(head)))
	}
	for {
		line, err := f.line()
		if err != nil {
			return poll, err
		}
		if line == "end" {
			break
		}
		word, rest, _ := strings.Cut(line, " ")
		if err := poll.set(f, word, rest); err != nil {
			return poll, fmt.Errorf("the line %q: %w", shorten([]byte(line)), err)
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
func (p *Poll) set(f *frames, word, rest string) error {
	var wrong error
	number := func(text string) int64 {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			wrong = errors.New("not a number")
		}
		return n
	}
	switch word {
	case "state":
		status, ok := parseStatus(rest)
		if !ok {
			return errors.New("not a state")
		}
		p.Status = status
	case "pid":
		p.PID = int(number(rest))
	case "stage":
		p.Stage = rest
	case "ended_by":
		p.EndedBy = rest
	case "ended_at":
		p.EndedAt = number(rest)
	case "proof":
		p.HasProof = true
	case "shared":
		p.DiskShared = true
	case "du":
		p.VolumeUsed = number(rest) << 10
	case "df":
		used, free, _ := strings.Cut(rest, " ")
		p.DiskUsed, p.DiskFree = number(used)<<10, number(free)<<10
	case "request", "log", "metrics":
		data, place, err := f.part(strings.Fields(rest))
		if err != nil {
			return err
		}
		p.take(word, data, place)
	}
	return wrong
}

// take keeps bytes of a file and their place: where they end and its size.
func (p *Poll) take(word string, data []byte, place [2]int64) {
	switch word {
	case "request":
		p.Requested = true
		p.SnapshotRequest = strings.TrimSpace(strings.ToValidUTF8(string(data), "�"))
	case "log":
		p.Log, p.Next.Log, p.LogSize = data, place[0], place[1]
	case "metrics":
		p.Metrics, p.Next.Metrics, p.MetricsSize = data, place[0], place[1]
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
		script: compact(libText) + compact(statusText) + compact(procsText) + compact(cancelText),
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
