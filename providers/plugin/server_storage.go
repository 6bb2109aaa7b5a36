package plugin

import (
	"context"

	"github.com/overbrainer/overbrainer/providers"
	pb "github.com/overbrainer/overbrainer/providers/plugin/providerpb"
)

func (s *server) ListVolumes(ctx context.Context, _ *pb.ListVolumesRequest) (*pb.ListVolumesResponse, error) {
	v, err := s.p.ListVolumes(ctx)
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.ListVolumesResponse{Volumes: mapped(v, volumeTo)}, nil
}

func (s *server) GetVolume(ctx context.Context, r *pb.GetVolumeRequest) (*pb.GetVolumeResponse, error) {
	v, err := s.p.GetVolume(ctx, r.GetId())
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.GetVolumeResponse{Volume: volumeTo(v)}, nil
}

func (s *server) CreateVolume(ctx context.Context, r *pb.CreateVolumeRequest) (*pb.CreateVolumeResponse, error) {
	ctx, end := s.effects.begin(ctx)
	defer end()
	v, err := s.p.CreateVolume(ctx, providers.CreateVolume{
		Name: r.GetName(), SizeGB: int(r.GetSizeGb()), DataCenter: r.GetDataCenter(), Type: r.GetType(),
	})
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.CreateVolumeResponse{Volume: volumeTo(v)}, nil
}

func (s *server) ResizeVolume(ctx context.Context, r *pb.ResizeVolumeRequest) (*pb.ResizeVolumeResponse, error) {
	ctx, end := s.effects.begin(ctx)
	defer end()
	v, err := s.p.ResizeVolume(ctx, r.GetId(), int(r.GetSizeGb()))
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.ResizeVolumeResponse{Volume: volumeTo(v)}, nil
}

func (s *server) DeleteVolume(ctx context.Context, r *pb.DeleteVolumeRequest) (*pb.DeleteVolumeResponse, error) {
	ctx, end := s.effects.begin(ctx)
	defer end()
	existed, err := s.p.DeleteVolume(ctx, r.GetId())
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.DeleteVolumeResponse{Existed: existed}, nil
}

func (s *server) ListSecrets(ctx context.Context, r *pb.ListSecretsRequest) (*pb.ListSecretsResponse, error) {
	l, err := s.p.ListSecrets(ctx, r.GetName())
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.ListSecretsResponse{Secrets: mapped(l, secretTo)}, nil
}

func (s *server) PutSecret(ctx context.Context, r *pb.PutSecretRequest) (*pb.PutSecretResponse, error) {
	ctx, end := s.effects.begin(ctx)
	defer end()
	v, err := s.p.PutSecret(ctx, r.GetName(), r.GetValue())
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.PutSecretResponse{Secret: secretTo(v)}, nil
}

func (s *server) DeleteSecret(ctx context.Context, r *pb.DeleteSecretRequest) (*pb.DeleteSecretResponse, error) {
	ctx, end := s.effects.begin(ctx)
	defer end()
	existed, err := s.p.DeleteSecret(ctx, r.GetId())
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.DeleteSecretResponse{Existed: existed}, nil
}
