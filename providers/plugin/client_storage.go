package plugin

import (
	"context"

	"google.golang.org/grpc"

	"github.com/overbrainer/overbrainer/providers"
	pb "github.com/overbrainer/overbrainer/providers/plugin/providerpb"
)

type callOption = grpc.CallOption

func (c *client) ListVolumes(ctx context.Context) ([]providers.Volume, error) {
	r, err := read(ctx, c, "list volumes", callLimit, c.rpc.ListVolumes, &pb.ListVolumesRequest{})
	if err != nil {
		return nil, err
	}
	return mapped(r.GetVolumes(), volumeFrom), nil
}

func (c *client) GetVolume(ctx context.Context, id string) (providers.Volume, error) {
	r, err := read(ctx, c, "read volume", callLimit, c.rpc.GetVolume, &pb.GetVolumeRequest{Id: id})
	if err != nil {
		return providers.Volume{}, err
	}
	return volumeFrom(r.GetVolume()), nil
}

func (c *client) CreateVolume(ctx context.Context, req providers.CreateVolume) (providers.Volume, error) {
	r, err := effect(ctx, c, "create volume", c.rpc.CreateVolume, &pb.CreateVolumeRequest{
		Name: req.Name, SizeGb: int32(req.SizeGB), DataCenter: req.DataCenter, Type: req.Type,
	})
	if err != nil {
		return providers.Volume{}, err
	}
	return volumeFrom(r.GetVolume()), nil
}

func (c *client) ResizeVolume(ctx context.Context, id string, sizeGB int) (providers.Volume, error) {
	r, err := effect(ctx, c, "resize volume", c.rpc.ResizeVolume, &pb.ResizeVolumeRequest{Id: id, SizeGb: int32(sizeGB)})
	if err != nil {
		return providers.Volume{}, err
	}
	return volumeFrom(r.GetVolume()), nil
}

func (c *client) DeleteVolume(ctx context.Context, id string) (bool, error) {
	r, err := effect(ctx, c, "delete volume", c.rpc.DeleteVolume, &pb.DeleteVolumeRequest{Id: id})
	return r.GetExisted(), err
}

func (c *client) ListSecrets(ctx context.Context, name string) ([]providers.Secret, error) {
	r, err := read(ctx, c, "list secrets", callLimit, c.rpc.ListSecrets, &pb.ListSecretsRequest{Name: name})
	if err != nil {
		return nil, err
	}
	return mapped(r.GetSecrets(), secretFrom), nil
}

func (c *client) PutSecret(ctx context.Context, name, value string) (providers.Secret, error) {
	r, err := effect(ctx, c, "store secret", c.rpc.PutSecret, &pb.PutSecretRequest{Name: name, Value: value})
	if err != nil {
		return providers.Secret{}, err
	}
	return secretFrom(r.GetSecret()), nil
}

func (c *client) DeleteSecret(ctx context.Context, id string) (bool, error) {
	r, err := effect(ctx, c, "delete secret", c.rpc.DeleteSecret, &pb.DeleteSecretRequest{Id: id})
	return r.GetExisted(), err
}
