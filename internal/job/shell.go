package job

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/internal/remote"
)

// line is a shell on the pod that stays and answers: see serve.sh. A shell of its
// own for each question would cost the pod a login, and the way there and back
// three times.
type line struct {
	script func() string // what the shell runs
	turn   chan struct{} // held by who talks to it
	shell  *shell        // nil: none
}

func newLine(script func() string) *line {
	return &line{script: script, turn: make(chan struct{}, 1)}
}

// shell is the program at the other end of a line.
type shell struct {
	in     *io.PipeWriter
	out    *io.PipeReader
	answer *bufio.Reader // of out
	cancel context.CancelFunc
	diskAt time.Time // when a look at the disk was last asked for, or the shell began

	ended chan struct{} // closed when the shell has ended: how it did is in res and err
	res   remote.Result
	err   error
}

// ask has the pod's shell answer a line, which read takes in. The shell is
// started where there is none, and given up when its answer cannot be read.
func (p *Pod) ask(ctx context.Context, l *line, what string, words func(*shell) string, read func(*bufio.Reader) error) error {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", what, inTime(ctx.Err()))
	}
	if l.shell == nil {
		l.shell = p.newShell(l.script())
	}
	err := l.shell.ask(ctx, words(l.shell), read)
	if err != nil {
		err = l.shell.broken(ctx, what, err)
		l.shell.close()
		l.shell = nil
	}
	return err
}
func (p *Pod) newShell(script string) *shell {
	// It outlives the call that starts it, and ends with the connection.
	ctx, cancel := context.WithCancel(context.Background())
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	s := &shell{in: in, out: out, answer: bufio.NewReader(out), cancel: cancel, ended: make(chan struct{}), diskAt: time.Now()}
	command := remote.Command{
		Script: p.script([]string{"ob_metrics", p.Metrics}, script),
		Stdin:  stdin,
		Stdout: stdout,
	}
	go func() {
		s.res, s.err = p.conn.Run(ctx, command)
		_ = stdin.Close()
		close(s.ended)
		_ = stdout.Close()
	}()
	return s
}

func (s *shell) ask(ctx context.Context, line string, read func(*bufio.Reader) error) error {
	stop := context.AfterFunc(ctx, s.close)
	defer stop()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		return err
	}
	return read(s.answer)
}

// broken tells why an answer did not come: by the context, by the shell's end,
// or by what it wrote.
func (s *shell) broken(ctx context.Context, what string, err error) error {
	cut := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe)
	if cut {
		select {
		case <-s.ended:
		case <-ctx.Done():
		}
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", what, inTime(ctx.Err()))
	case !cut:
		return &ProtocolError{What: what, Detail: err.Error()}
	}
	if err := outcome(what, s.res, s.err); err != nil {
		return err
	}
	return &ProtocolError{What: what, Detail: "it is cut off"}
}

// close ends the shell: it reads the end of its input.
func (s *shell) close() {
	s.cancel()
	_ = s.in.Close()
	_ = s.out.Close()
}

// do has the pod's shell run a script, which finds lib.sh there: without a login
// of its own, and after whatever else is asked there. Its text may hold anything,
// it is on no argument list.
func (p *Pod) do(ctx context.Context, l *line, c call) ([]byte, error) {
	if c.max == 0 {
		c.max = 64 << 10
	}
	// Nothing that the script writes can be taken for the end of it, and nothing
	// that is cut off for the whole of it.
	mark := rand.Text()
	var args strings.Builder
	args.WriteString("set --")
	for _, name := range c.names {
		args.WriteString(" " + remote.Quote("./"+name))
	}
	script := p.script(c.vars, args.String()+"\n"+c.script) + "\n#" + mark
	var res remote.Result
	err := p.ask(ctx, l, c.what,
		func(*shell) string { return fmt.Sprintf("script %d %s\n%s", len(script)+1, mark, script) },
		func(r *bufio.Reader) (err error) {
			f := frames{r: r, room: c.max + 64<<10}
			if res.Stdout, err = f.until(mark); err != nil {
				return err
			}
			end, err := f.until(mark)
			if err != nil {
				return err
			}
			exit, said, _ := strings.Cut(string(end), " ")
			res.Stderr = []byte(said)
			if res.Exit, err = strconv.Atoi(exit); err != nil {
				return fmt.Errorf("%q where its exit code should be", shorten(end))
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	return res.Stdout, outcome(c.what, res, nil)
}

// write replaces a small file below the run's directory by a line of text. Names
// and texts are ours.
func (p *Pod) write(ctx context.Context, name, text string) error {
	what := "writing " + name + " on the pod"
	var said string
	err := p.ask(ctx, p.looks, what, func(*shell) string { return "write " + name + " " + text }, func(r *bufio.Reader) (err error) {
		f := frames{r: r}
		if said, err = f.line(); err == nil && said != "done" && !strings.HasPrefix(said, "failed ") {
			return fmt.Errorf("%q", shorten([]byte(said)))
		}
		return err
	})
	if why, failed := strings.CutPrefix(said, "failed "); err == nil && failed {
		return &ScriptError{What: what, Exit: 1, Text: shorten([]byte(why))}
	}
	return err
}

// read gives at most limit bytes of a file below the run's directory, from its
// beginning, or with fromEnd its last ones. A missing file is empty.
func (p *Pod) read(ctx context.Context, name string, limit int64, fromEnd bool) ([]byte, error) {
	program, mark := "head", rand.Text()
	if fromEnd {
		program = "tail"
	}
	var data []byte
	err := p.ask(ctx, p.looks, "reading "+name+" on the pod",
		func(*shell) string { return fmt.Sprintf("read %s %s %d %s", name, program, limit, mark) },
		func(r *bufio.Reader) (err error) {
			f := frames{r: r, room: limit + 1}
			data, err = f.until(mark)
			return err
		})
	return data, err
}
