package remote

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
)

const (
	// maxOutput is how much standard output is kept where nothing else is said.
	maxOutput = 1 << 20
	// maxStderr is how much standard error is kept; the rest is read and dropped.
	maxStderr = 64 << 10
)

// Command is a script to be run on the machine.
type Command struct {
	// Script is run by the machine's sh, as sh -c Script. At most 120 KiB
	// after quoting.
	Script string
	// Stdin is the script's standard input; nil is an empty one. A Read that
	// blocks is left behind when the script ends first.
	Stdin io.Reader
	// Stdout receives the standard output as it comes; nil keeps it in the
	// Result. A failing Write ends the command.
	Stdout io.Writer
	// MaxOutput is after how many bytes of standard output the command is
	// given up; 0 means 1 MiB for kept output and no bound with a Stdout.
	MaxOutput int64
}

// Result is how a script ended.
type Result struct {
	Stdout []byte // empty when Command.Stdout was set
	Stderr []byte // at most the first 64 KiB
	Exit   int    // 0 to 255; -1 when a signal ended it
	Signal string // without SIG, empty when it ended by itself
}

// OutputError is a script that wrote more than was allowed.
type OutputError struct {
	Max int64 // bytes
}

func (e *OutputError) Error() string {
	return fmt.Sprintf("the output is longer than %d bytes", e.Max)
}

// Run runs a script and waits for its end. A script that fails is not an error
// but a Result; an error means that it could not be run, was given up (ctx,
// *OutputError, a failed Stdout) or that the connection ended: then what was
// read so far is in the Result, and the script may still be running.
func (c *Client) Run(ctx context.Context, cmd Command) (Result, error) {
	defer Mark(ctx, "command")()
	p, err := c.start(ctx, cmd.Script)
	if err != nil {
		return Result{Exit: -1}, err
	}
	defer p.end()
	go func() {
		if cmd.Stdin != nil {
			// What cannot be sent is what the script did not want.
			_, _ = io.CopyBuffer(onlyWriter{p}, cmd.Stdin, make([]byte, runBuffer))
		}
		_ = p.CloseWrite()
	}()

	var stdout, stderr bytes.Buffer
	out := &gate{w: &stdout, max: cmd.MaxOutput}
	if cmd.Stdout != nil {
		out.w = cmd.Stdout
	} else if cmd.MaxOutput <= 0 {
		out.max = maxOutput
	}
	errs := &gate{w: &stderr}
	read := make(chan error, 1)
	go func() {
		var reading sync.WaitGroup
		reading.Go(func() { keepHead(errs, p.Stderr(), maxStderr) })
		_, err := io.CopyBuffer(out, onlyReader{p}, make([]byte, runBuffer))
		if err != nil {
			p.close() // nobody reads on, so the script must not wait for it
		}
		reading.Wait()
		read <- err
	}()
	select {
	case err = <-read:
	case <-ctx.Done():
		err = ctx.Err()
	}
	// From here on nothing is written to what the caller may look at.
	out.shut()
	errs.shut()
	res := Result{Exit: -1, Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}
	if err != nil {
		return res, err
	}
	res.Exit, res.Signal, err = p.wait(ctx)
	return res, err
}

// runBuffer is what a program has for its input and for its output: some stay for
// as long as a connection, and wait most of the time.
const runBuffer = 8 << 10

// keepHead reads src to its end and keeps the beginning.
func keepHead(dst io.Writer, src io.Reader, limit int) {
	_, _ = io.CopyBuffer(dst, io.LimitReader(src, int64(limit)), make([]byte, 1<<10))
	_, _ = io.Copy(io.Discard, src)
}

// onlyWriter hides the other methods of a channel from io.Copy.
type onlyWriter struct{ io.Writer }

type onlyReader struct{ io.Reader }

// gate passes writes on until max bytes went through it (0: no bound) or it is
// shut. A command that is given up leaves its readers behind, blocked on a
// machine that may answer later; their writes end here.
type gate struct {
	mu   sync.Mutex
	w    io.Writer
	max  int64
	sent int64
	over bool
}

func (g *gate) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		return 0, io.ErrClosedPipe
	}
	room := int64(len(p))
	if g.max > 0 {
		room = min(room, g.max-g.sent)
	}
	n, err := g.w.Write(p[:room])
	g.sent += int64(n)
	if err == nil && n < len(p) {
		err = &OutputError{Max: g.max}
	}
	return n, err
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
}
