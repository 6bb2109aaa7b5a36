package plugin

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/overbrainer/overbrainer/providers"
	pb "github.com/overbrainer/overbrainer/providers/plugin/providerpb"
)

// Command says which plugin to start.
type Command struct {
	// Name is the provider's name, for messages.
	Name string
	// Path is the program, Args its arguments without the program's name.
	Path string
	Args []string
	// SHA256 is the program's pinned digest in hex; empty pins nothing.
	SHA256 string
	// Environ is the whole environment, NAME=value, of which the child gets
	// what every program needs: where programs, home, temporary files and
	// certificates are, proxies, locale.
	Environ []string
	// Env is given to the child besides.
	Env []string
	// Log takes the child's standard error as it comes; nil discards it.
	Log io.Writer
	// StartTimeout bounds the start; 0 means 10 s.
	StartTimeout time.Duration
}

// maxStarts is how many processes that ended by themselves are replaced within
// an hour: what ends each of them is then no accident.
const maxStarts = 5

// Process is a plugin at work. When its process ends by itself, the call in
// flight fails, saying so, and the next one starts another, configured like the
// first: a run of days does not end with a process that was killed for want of
// memory.
type Process struct {
	command  Command
	provider *client

	mu         sync.Mutex
	child      *child
	configured *pb.ConfigureRequest // of the last Configure that succeeded
	starts     []time.Time          // of processes that replaced another, within an hour
	closed     bool
}

var _ grpc.ClientConnInterface = (*Process)(nil)

// Start launches a plugin. Its errors are *StartError, each naming the program
// and what is wrong with it, or those of the system.
func Start(ctx context.Context, c Command) (*Process, error) {
	if c.StartTimeout == 0 {
		c.StartTimeout = 10 * time.Second
	}
	if c.Log == nil {
		c.Log = io.Discard
	}
	first, err := startChild(ctx, c)
	if err != nil {
		return nil, err
	}
	p := &Process{command: c, child: first}
	p.provider = &client{rpc: pb.NewProviderServiceClient(p), crashed: p.crashed}
	return p, nil
}

// Invoke makes a call of the process that there is.
func (p *Process) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	conn, err := p.conn(ctx)
	if err != nil {
		return err
	}
	err = conn.Invoke(ctx, method, args, reply, opts...)
	if r, is := args.(*pb.ConfigureRequest); is && err == nil {
		p.mu.Lock()
		p.configured = proto.CloneOf(r)
		p.mu.Unlock()
	}
	return err
}

// NewStream begins a stream with the process that there is.
func (p *Process) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	conn, err := p.conn(ctx)
	if err != nil {
		return nil, err
	}
	return conn.NewStream(ctx, desc, method, opts...)
}

// conn gives the connection to a process, a new one where the last has ended.
// Its errors mean that nothing was sent.
func (p *Process) conn(ctx context.Context) (*grpc.ClientConn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || !p.child.over() {
		return p.child.conn, nil
	}
	now := time.Now()
	for len(p.starts) > 0 && now.Sub(p.starts[0]) > time.Hour {
		p.starts = p.starts[1:]
	}
	if len(p.starts) >= maxStarts {
		return nil, &providers.Error{
			Kind: providers.Transient, Op: "start provider " + p.command.Name,
			Message: fmt.Sprintf("its process ended %d times within an hour, the last time with %s", maxStarts+1, p.child.runner.status()),
			Detail:  p.child.runner.tail.summary(detailLimit),
		}
	}
	p.starts = append(p.starts, now)
	next, err := startChild(ctx, p.command)
	if err == nil && p.configured != nil {
		if _, err = pb.NewProviderServiceClient(next.conn).Configure(ctx, p.configured); err != nil {
			_ = next.close()
		}
	}
	if err != nil {
		return nil, &providers.Error{
			Kind: providers.Transient, Op: "start provider " + p.command.Name,
			Message: fmt.Sprintf("its process ended (%s), and another could not be started", p.child.runner.status()), Detail: startDetail(err),
		}
	}
	_ = p.child.close()
	p.child = next
	return next.conn, nil
}

// startDetail is why a process could not be started or configured.
func startDetail(err error) string {
	if e, ok := fromStatus(err); ok {
		return e.Message
	}
	return err.Error()
}

// Provider is the plugin's provider. It stays usable, with errors, after Close.
func (p *Process) Provider() providers.Provider { return p.provider }

func (p *Process) now() *childRunner {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.child.runner
}

// Exited is closed when the process that runs now has ended.
func (p *Process) Exited() <-chan struct{} { return p.now().ended }

// PID is the ID of the process that runs now.
func (p *Process) PID() int { return p.now().pid() }

// LastLines is the end of what the process wrote to its standard error.
func (p *Process) LastLines() []string { return p.now().tail.lines() }

// crashed tells how the process ended, if it did or does so within a moment:
// the connection breaks before the exit status is known.
func (p *Process) crashed() (message, detail string, ended bool) {
	r := p.now()
	select {
	case <-r.ended:
	case <-time.After(2 * time.Second):
		return "", "", false
	}
	return fmt.Sprintf("the process of provider %s ended in the middle of the call (%s)", p.command.Name, r.status()),
		r.tail.summary(detailLimit), true
}

// Close asks the process to end and kills it when it has not done so after a
// few seconds.
func (p *Process) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return p.child.close()
}
