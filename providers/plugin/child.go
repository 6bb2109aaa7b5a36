package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
)

// child is one process of a plugin.
type child struct {
	command  Command
	runner   *childRunner
	plugin   *goplugin.Client
	conn     *grpc.ClientConn
	sockets  string
	lifeline *os.File
	closing  sync.Once
}

// startChild launches one. Its errors are *StartError or those of the system.
func startChild(ctx context.Context, c Command) (*child, error) {
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
	p := &child{command: c, sockets: sockets, lifeline: parentEnd}
	p.runner = newChildRunner(c, childEnd)
	p.plugin = goplugin.NewClient(p.config())
	err = p.connect(ctx)
	_ = childEnd.Close()
	if err != nil {
		_ = p.close()
		return nil, err
	}
	return p, nil
}

func (p *child) config() *goplugin.ClientConfig {
	return &goplugin.ClientConfig{
		HandshakeConfig:  handshake(),
		Plugins:          goplugin.PluginSet{name: &grpcPlugin{}},
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

// connect starts the process and dials it, giving up with ctx.
func (p *child) connect(ctx context.Context) error {
	var failed error
	done := make(chan struct{})
	go func() {
		defer close(done)
		protocol, err := p.plugin.Client()
		if err == nil {
			var raw any
			raw, err = protocol.Dispense(name)
			p.conn, _ = raw.(*grpc.ClientConn)
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

// over reports whether the process has ended.
func (p *child) over() bool {
	select {
	case <-p.runner.ended:
		return true
	default:
		return false
	}
}

// close asks the process to end and kills it when it has not done so after a
// few seconds. It removes what the start had made.
func (p *child) close() error {
	var err error
	p.closing.Do(func() {
		p.plugin.Kill()
		p.runner.stop()
		err = errors.Join(p.lifeline.Close(), os.RemoveAll(p.sockets))
	})
	return err
}
