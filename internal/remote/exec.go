package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// maxScript is how long a script may be: a program's argument may have 128 KiB
// on Linux, quoting and the words around it included.
const maxScript = 124 << 10

// errNoStatus is a program whose end was not reported: the server gave up.
var errNoStatus = errors.New("the program ended without an exit status")

// process is a program running on the machine, on a channel of its own.
type process struct {
	ssh.Channel
	client   *Client
	release  func() bool   // ends the context's hold on the channel
	started  chan error    // one value: the server's answer to the start
	answered chan struct{} // closed with that answer
	closed   chan struct{} // closed when the channel is closed here
	finished chan struct{} // closed when the server closed the channel
	exit     int           // valid once finished; -1: none reported
	signal   string
	once     sync.Once
	begun    bool   // the output's beginning was found; of Read's goroutine
	rest     []byte // read already
}

// beginning is a line that goes before a script's output. Start files of login
// shells may print, also where nobody reads: it is dropped with all before it.
const beginning = "overbrainer: begin\n"

// shell is the command line that runs a script with the machine's sh, whatever
// the login shell is.
func shell(script string) (string, error) {
	var b strings.Builder
	b.WriteString("exec sh -c ")
	quoteTo(&b, "echo '"+strings.TrimSuffix(beginning, "\n")+"'\n"+script)
	if b.Len() > maxScript {
		return "", fmt.Errorf("remote: a script of %d bytes is longer than a command may be (%d)", b.Len(), maxScript)
	}
	return b.String(), nil
}

// start runs a script. It does not wait for the server's answer; wait reports a
// refusal. When ctx ends, the channel is closed: reads and writes fail then.
func (c *Client) start(ctx context.Context, script string) (*process, error) {
	line, err := shell(script)
	if err != nil {
		return nil, err
	}
	select {
	case c.sessions <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.done:
		return nil, c.Err()
	}
	ch, requests, err := c.openPatiently(ctx)
	if err != nil {
		<-c.sessions
		return nil, err
	}
	p := &process{
		Channel: ch, client: c, exit: -1,
		started: make(chan error, 1), answered: make(chan struct{}), closed: make(chan struct{}), finished: make(chan struct{}),
	}
	go p.watch(requests)
	p.release = context.AfterFunc(ctx, p.close)
	go func() {
		ok, err := ch.SendRequest("exec", true, ssh.Marshal(struct{ Command string }{line}))
		if err == nil && !ok {
			err = errors.New("the server refused to run a command")
			_ = ch.Close()
		}
		p.started <- err
		close(p.answered)
	}()
	return p, nil
}

// Write sends input. A server drops what reaches it before the program was
// asked for, so it waits for the answer to that.
func (p *process) Write(b []byte) (int, error) {
	if err := p.asked(); err != nil {
		return 0, err
	}
	return p.Channel.Write(b)
}

// CloseWrite ends the input, which goes as unheard as input itself.
func (p *process) CloseWrite() error {
	if err := p.asked(); err != nil {
		return err
	}
	return p.Channel.CloseWrite()
}

// asked waits until the server has answered, or the channel was given up here.
func (p *process) asked() error {
	select {
	case <-p.answered:
		return nil
	case <-p.closed:
		return io.ErrClosedPipe
	}
}

// openPatiently opens a channel, again after a moment when the server has too
// many: one that was closed here counts there until its program has ended.
func (c *Client) openPatiently(ctx context.Context) (ssh.Channel, <-chan *ssh.Request, error) {
	const patience = 30 * time.Second
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		ch, requests, err := c.open(ctx)
		var refused *ssh.OpenChannelError
		if !errors.As(err, &refused) || refused.Reason == ssh.UnknownChannelType {
			return ch, requests, err
		}
		again := time.NewTimer(pause)
		select {
		case <-again.C:
		case <-limit.C:
			again.Stop()
			return nil, nil, err
		case <-ctx.Done():
			again.Stop()
			return nil, nil, ctx.Err()
		case <-c.done:
			again.Stop()
			return nil, nil, c.Err()
		}
	}
}

// open opens a channel. The library's call cannot be cancelled; one that is no
// longer wanted is closed when it comes.
func (c *Client) open(ctx context.Context) (ssh.Channel, <-chan *ssh.Request, error) {
	type opened struct {
		ch       ssh.Channel
		requests <-chan *ssh.Request
		err      error
	}
	result := make(chan opened, 1)
	go func() {
		ch, requests, err := c.ssh.OpenChannel("session", nil)
		result <- opened{ch, requests, err}
	}()
	select {
	case o := <-result:
		if o.err != nil {
			return nil, nil, firstError(c.Err(), fmt.Errorf("open a session: %w", o.err))
		}
		return o.ch, o.requests, nil
	case <-ctx.Done():
		go func() {
			if o := <-result; o.err == nil {
				go ssh.DiscardRequests(o.requests)
				_ = o.ch.Close()
			}
		}()
		return nil, nil, ctx.Err()
	}
}

// watch takes the server's reports until it closes the channel.
func (p *process) watch(requests <-chan *ssh.Request) {
	for req := range requests {
		switch req.Type {
		case "exit-status":
			var v struct{ Code uint32 }
			if ssh.Unmarshal(req.Payload, &v) == nil {
				p.exit = int(v.Code & 0xff)
			}
		case "exit-signal":
			var v struct {
				Signal     string
				CoreDumped bool
				Message    string
				Language   string
			}
			if ssh.Unmarshal(req.Payload, &v) == nil {
				p.signal = v.Signal
			}
		}
		if req.WantReply {
			_ = req.Reply(false, nil)
		}
	}
	<-p.client.sessions
	close(p.finished)
}

// wait waits for the end of a program whose output was read to its end. It
// returns an error only when the end itself is unknown.
func (p *process) wait(ctx context.Context) (exit int, signal string, err error) {
	select {
	case <-p.finished:
	case <-ctx.Done():
		p.close()
		return -1, "", ctx.Err()
	case <-p.client.done:
		<-p.finished
	}
	if p.exit >= 0 || p.signal != "" {
		return p.exit, p.signal, nil
	}
	if err := firstError(ctx.Err(), p.client.Err()); err != nil {
		return -1, "", err
	}
	select {
	case err := <-p.started:
		if err != nil && !errors.Is(err, io.EOF) {
			return -1, "", fmt.Errorf("start a program: %w", err)
		}
	default:
	}
	// The connection's end closes its channels first. A question tells that
	// from a server that gave up this one program.
	if _, err := p.client.roundTrip(ctx); err != nil {
		if ctx.Err() != nil {
			return -1, "", ctx.Err()
		}
		<-p.client.done
		return -1, "", p.client.Err()
	}
	return -1, "", errNoStatus
}

// Read reads the script's standard output.
func (p *process) Read(b []byte) (int, error) {
	if p.begun && len(p.rest) == 0 {
		return p.Channel.Read(b)
	}
	for !p.begun {
		const limit = 1 << 20
		chunk := make([]byte, 32<<10)
		n, err := p.Channel.Read(chunk)
		p.rest = append(p.rest, chunk[:n]...)
		if _, after, ok := bytes.Cut(p.rest, []byte(beginning)); ok {
			p.begun, p.rest = true, after
		} else if err != nil {
			return 0, err
		} else if len(p.rest) > limit {
			return 0, errors.New("the machine's login shell prints without end")
		}
	}
	if len(p.rest) == 0 {
		return p.Channel.Read(b)
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// close gives the channel up, without waiting for a peer that may be frozen.
// The program reads an end of file and fails to write; it is not killed.
func (p *process) close() {
	p.once.Do(func() {
		close(p.closed)
		go func() { _ = p.Channel.Close() }()
	})
}

// end is close for a program that nothing more is wanted of.
func (p *process) end() {
	p.release()
	p.close()
}
