package job

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/overbrainer/overbrainer/internal/remote"
)

// looker is a shell on the pod that looks at the job for each line it is given.
// A shell of its own for each look would cost the pod a login, and the way there
// and back three times.
type looker struct {
	in     *io.PipeWriter
	answer *io.PipeReader
	lines  *bufio.Reader
	cancel context.CancelFunc
	diskAt time.Time // when the disk was last asked for

	ended chan struct{} // closed when the shell has ended: how it did is in res and err
	res   remote.Result
	err   error
}

const lookWhat = "looking at the job"

func (p *Pod) newLooker() *looker {
	// It outlives the call that starts it.
	ctx, cancel := context.WithCancel(context.Background())
	stdin, in := io.Pipe()
	answer, stdout := io.Pipe()
	l := &looker{in: in, answer: answer, lines: bufio.NewReader(answer), cancel: cancel, ended: make(chan struct{})}
	command := remote.Command{
		Script: p.script([]string{"ob_metrics", p.Metrics}, compact(libText)+compact(statusText)+compact(pollText)),
		Stdin:  stdin,
		Stdout: stdout,
	}
	go func() {
		l.res, l.err = p.conn.Run(ctx, command)
		_ = stdin.Close()
		close(l.ended)
		_ = stdout.Close()
	}()
	return l
}

// look asks once. After an error the looker is of no more use.
func (l *looker) look(ctx context.Context, at Offsets, limits Limits) (Poll, error) {
	stop := context.AfterFunc(ctx, l.close)
	defer stop()
	disk := 0
	if now := time.Now(); now.Sub(l.diskAt) >= DiskEvery {
		disk, l.diskAt = 1, now
	}
	if _, err := fmt.Fprintln(l.in, at.Log, limits.Log, at.Metrics, limits.Metrics, disk); err != nil {
		return Poll{}, l.broken(ctx, err)
	}
	const requests = 1 << 10
	poll, err := parsePoll(l.lines, at, limits.Log+limits.Metrics+requests)
	if err != nil {
		return Poll{}, l.broken(ctx, err)
	}
	return poll, nil
}

// broken tells why a look failed: by its context, by the shell's end, or by
// what the shell wrote.
func (l *looker) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", lookWhat, inTime(ctx.Err()))
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.ErrClosedPipe) {
		return &ProtocolError{What: lookWhat, Detail: err.Error()}
	}
	select {
	case <-l.ended:
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", lookWhat, inTime(ctx.Err()))
	}
	if err := outcome(lookWhat, l.res, l.err); err != nil {
		return err
	}
	return &ProtocolError{What: lookWhat, Detail: "it is cut off"}
}

// close ends the shell: it reads the end of its input.
func (l *looker) close() {
	l.cancel()
	_ = l.in.Close()
	_ = l.answer.Close()
}
