package plugin

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/plugin/providerpb"
)

const (
	// lifelineEnv tells that there is a lifeline: a pipe whose end of file says
	// that the parent is gone.
	lifelineEnv = "OVERBRAINER_PLUGIN_LIFELINE"
	// finishLimit is how long effects in flight may take after the parent has
	// gone; above the time that a provider gives one request.
	finishLimit = 75 * time.Second
	// socketPrefix is how the directories that hold sockets begin.
	socketPrefix = "ob-"
)

// Serve offers p to the process that started this one, until that one asks for
// the end or is gone. It takes over standard output, ignores the terminal's
// signals, and returns the exit status: 1 at once where nobody speaks the
// plugin protocol with it.
func Serve(p providers.Provider) int {
	hs := handshake()
	if os.Getenv(hs.MagicCookieKey) != hs.MagicCookieValue {
		fmt.Fprintln(os.Stderr, "this command is a provider plugin: overbrainer starts it by itself and talks to it over a socket\n"+
			"to use it, name the provider in a configuration and run overbrainer plan")
		return 1
	}
	// The parent gets the terminal's signals too and still needs this process
	// to clean up.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	s := newServer(p)
	if os.Getenv(lifelineEnv) != "" {
		go watchLifeline(openLifeline(), s.effects, os.Getenv(goplugin.EnvUnixSocketDir))
	}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: hs,
		Plugins:         goplugin.PluginSet{name: &grpcPlugin{server: s}},
		Logger:          hclog.New(&hclog.LoggerOptions{Name: "plugin", Level: hclog.Warn, Output: os.Stderr}),
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage))...)
		},
	})
	s.effects.interruptAll()
	ctx, cancel := context.WithTimeout(context.Background(), finishLimit)
	defer cancel()
	s.effects.wait(ctx)
	return 0
}

// watchLifeline ends the process when the other end of the pipe closes, which
// the kernel does however the parent ends.
func watchLifeline(pipe io.Reader, e *effects, sockets string) {
	_, _ = io.Copy(io.Discard, pipe)
	e.interruptAll()
	ctx, cancel := context.WithTimeout(context.Background(), finishLimit)
	defer cancel()
	e.wait(ctx)
	removeSockets(sockets)
	os.Exit(0)
}

// removeSockets removes the directory of the parent's sockets, which the parent
// can no longer do.
func removeSockets(dir string) {
	if parent := filepath.Dir(dir); strings.HasPrefix(filepath.Base(parent), socketPrefix) {
		_ = os.RemoveAll(parent)
	}
}

// grpcPlugin ties the service to go-plugin: a server on one side, a connection
// on the other.
type grpcPlugin struct {
	goplugin.NetRPCUnsupportedPlugin
	server *server
}

func (g *grpcPlugin) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	providerpb.RegisterProviderServiceServer(s, g.server)
	return nil
}

func (g *grpcPlugin) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return c, nil
}
