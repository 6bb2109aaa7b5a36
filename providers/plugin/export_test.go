package plugin

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/overbrainer/overbrainer/providers"
	pb "github.com/overbrainer/overbrainer/providers/plugin/providerpb"
)

// Loopback puts gRPC in front of a provider of this process.
func Loopback(t *testing.T, p providers.Provider) providers.Provider {
	t.Helper()
	l := bufconn.Listen(1 << 20)
	s := grpc.NewServer()
	pb.RegisterProviderServiceServer(s, newServer(p))
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	conn, err := grpc.NewClient("passthrough:///loopback", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return l.Dial() }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &client{rpc: pb.NewProviderServiceClient(conn)}
}
