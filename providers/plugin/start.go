package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/plugin/providerpb"
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

// Process is a running plugin.
type Process struct {
	command  Command
	runner   *childRunner
	plugin   *goplugin.Client
	provider *client
	sockets  string
	lifeline *os.File
	close    sync.Once
}

// Start launches a plugin. Its errors are *StartError, each naming the program
// and what is wrong with it, or those of the system.
func Start(ctx context.Context, c Command) (*Process, error) {
	if c.StartTimeout == 0 {
		c.StartTimeout = 10 * time.Second
	}
	if c.Log == nil {
		c.Log = io.Discard
	}
	if err := checkProgram(c); err != nil {
		return nil, err
	}
	sockets, err := makeSocketDir(c.Environ)
	if err != nil {
		return nil, err
	}
	childEnd, parentEnd, err := os.Pipe()
	if err != nil {
		_ = os.RemoveAll(sockets)
		return nil, fmt.Errorf("start provider %s: %w", c.Name, err)
	}
	p := &Process{command: c, sockets: sockets, lifeline: parentEnd}
	p.runner = newChildRunner(c, childEnd)
	p.plugin = goplugin.NewClient(p.config())
	err = p.connect(ctx)
	_ = childEnd.Close()
	if err != nil {
		_ = p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Process) config() *goplugin.ClientConfig {
	return &goplugin.ClientConfig{
		HandshakeConfig:  handshake(),
		Plugins:          goplugin.PluginSet{name: &grpcPlugin{client: p.newClient}},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		AutoMTLS:         true,
		SkipHostEnv:      true,
		StartTimeout:     p.command.StartTimeout,
		Logger:           hclog.NewNullLogger(),
		Stderr:           p.runner.tail,
		SyncStdout:       p.runner.tail,
		SyncStderr:       p.runner.tail,
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: p.sockets},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, _ string) (runner.Runner, error) {
			return p.runner, p.runner.prepare(cmd)
		},
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
			// One connection for the whole life: nobody dials the socket again.
			grpc.WithIdleTimeout(0),
		},
	}
}

func (p *Process) newClient(rpc providerpb.ProviderServiceClient) *client {
	return &client{rpc: rpc, crashed: p.crashed}
}

// connect starts the process and dials it, giving up with ctx.
func (p *Process) connect(ctx context.Context) error {
	var failed error
	done := make(chan struct{})
	go func() {
		defer close(done)
		protocol, err := p.plugin.Client()
		if err == nil {
			var raw any
			raw, err = protocol.Dispense(name)
			p.provider, _ = raw.(*client)
		}
		failed = err
	}()
	select {
	case <-done:
	case <-ctx.Done():
		p.runner.stop()
		<-done
		return ctx.Err()
	}
	if failed != nil {
		return p.runner.explain(failed)
	}
	return nil
}

// Provider is the plugin's provider. It stays usable, with errors, after the
// process has ended.
func (p *Process) Provider() providers.Provider { return p.provider }

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.runner.ended }

// PID is the process's ID.
func (p *Process) PID() int { return p.runner.pid() }

// LastLines is the end of what the process wrote to its standard error.
func (p *Process) LastLines() []string { return p.runner.tail.lines() }

// crashed tells how the process ended, if it did or does so within a moment:
// the connection breaks before the exit status is known.
func (p *Process) crashed(context.Context) (message, detail string, ended bool) {
	select {
	case <-p.runner.ended:
	case <-time.After(2 * time.Second):
		return "", "", false
	}
	return fmt.Sprintf("the process of provider %s ended in the middle of the call (%s)", p.command.Name, p.runner.status()),
		p.runner.tail.summary(detailLimit), true
}

// Close asks the process to end and kills it when it has not done so after a
// few seconds. It removes what the start had made.
func (p *Process) Close() error {
	var err error
	p.close.Do(func() {
		p.plugin.Kill()
		p.runner.stop()
		err = errors.Join(p.lifeline.Close(), os.RemoveAll(p.sockets))
	})
	return err
}
