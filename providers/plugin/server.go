package plugin

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"github.com/overbrainer/overbrainer/providers"
	pb "github.com/overbrainer/overbrainer/providers/plugin/providerpb"
)

// server offers a provider over gRPC. Effects are counted, so that the process
// does not end in the middle of one.
type server struct {
	pb.UnimplementedProviderServiceServer
	p       providers.Provider
	effects *effects
}

func newServer(p providers.Provider) *server { return &server{p: p, effects: &effects{}} }

func (s *server) Describe(ctx context.Context, _ *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	d, err := s.p.Describe(ctx)
	if err != nil {
		return nil, toStatus(err)
	}
	return describeTo(d), nil
}

func (s *server) Configure(ctx context.Context, r *pb.ConfigureRequest) (*pb.ConfigureResponse, error) {
	c, err := s.p.Configure(ctx, configureFrom(r))
	if err != nil {
		return nil, toStatus(err)
	}
	return configuredTo(c), nil
}

func (s *server) Catalog(ctx context.Context, r *pb.CatalogRequest) (*pb.CatalogResponse, error) {
	c, err := s.p.Catalog(ctx, queryFrom(r))
	if err != nil {
		return nil, toStatus(err)
	}
	return catalogTo(c), nil
}

func (s *server) CreatePod(ctx context.Context, r *pb.CreatePodRequest) (*pb.CreatePodResponse, error) {
	ctx, end := s.effects.begin(ctx)
	defer end()
	p, err := s.p.CreatePod(ctx, createFrom(r))
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.CreatePodResponse{Pod: podTo(p)}, nil
}

func (s *server) GetPod(ctx context.Context, r *pb.GetPodRequest) (*pb.GetPodResponse, error) {
	p, err := s.p.GetPod(ctx, r.GetId())
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.GetPodResponse{Pod: podTo(p)}, nil
}

func (s *server) ListPods(ctx context.Context, _ *pb.ListPodsRequest) (*pb.ListPodsResponse, error) {
	l, err := s.p.ListPods(ctx)
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.ListPodsResponse{Pods: mapped(l.Pods, podTo), ServerTime: timeTo(l.ServerTime)}, nil
}

func (s *server) DeletePod(ctx context.Context, r *pb.DeletePodRequest) (*pb.DeletePodResponse, error) {
	ctx, end := s.effects.begin(ctx)
	defer end()
	existed, err := s.p.DeletePod(ctx, r.GetId())
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.DeletePodResponse{Existed: existed}, nil
}

func (s *server) PodLogs(r *pb.PodLogsRequest, stream grpc.ServerStreamingServer[pb.PodLogsResponse]) error {
	req := providers.LogRequest{PodID: r.GetPodId(), Cursor: r.GetCursor(), Follow: r.GetFollow()}
	return toStatus(s.p.PodLogs(stream.Context(), req, func(l providers.LogLine) error {
		if err := stream.Send(lineTo(l)); err != nil {
			return fmt.Errorf("pass a log line on: %w", err)
		}
		return nil
	}))
}

func (s *server) ListTemplates(ctx context.Context, _ *pb.ListTemplatesRequest) (*pb.ListTemplatesResponse, error) {
	t, err := s.p.ListTemplates(ctx)
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.ListTemplatesResponse{Templates: mapped(t, templateTo)}, nil
}
