package runpod

import (
	"context"

	"github.com/overbrainer/overbrainer/providers"
)

// ListVolumes reads the account's network volumes.
func (p *Provider) ListVolumes(ctx context.Context) ([]providers.Volume, error) {
	c, err := p.ready()
	if err != nil {
		return nil, err
	}
	return c.listVolumes(ctx)
}

// GetVolume reads one network volume.
func (p *Provider) GetVolume(ctx context.Context, id string) (providers.Volume, error) {
	c, err := p.ready()
	if err != nil {
		return providers.Volume{}, err
	}
	return c.getVolume(ctx, id)
}

// CreateVolume makes a network volume.
func (p *Provider) CreateVolume(ctx context.Context, req providers.CreateVolume) (providers.Volume, error) {
	c, err := p.ready()
	if err != nil {
		return providers.Volume{}, err
	}
	return c.createVolume(ctx, req)
}

// ResizeVolume grows a network volume.
func (p *Provider) ResizeVolume(ctx context.Context, id string, sizeGB int) (providers.Volume, error) {
	c, err := p.ready()
	if err != nil {
		return providers.Volume{}, err
	}
	return c.resizeVolume(ctx, id, sizeGB)
}

// DeleteVolume removes a network volume and what is on it.
func (p *Provider) DeleteVolume(ctx context.Context, id string) (bool, error) {
	c, err := p.ready()
	if err != nil {
		return false, err
	}
	return c.deleteVolume(ctx, id)
}

// ListSecrets reads the account's secrets, never their values.
func (p *Provider) ListSecrets(ctx context.Context, name string) ([]providers.Secret, error) {
	c, err := p.ready()
	if err != nil {
		return nil, err
	}
	return c.listSecrets(ctx, name)
}

// PutSecret stores a value under a name.
func (p *Provider) PutSecret(ctx context.Context, name, value string) (providers.Secret, error) {
	c, err := p.ready()
	if err != nil {
		return providers.Secret{}, err
	}
	return c.putSecret(ctx, name, value)
}

// DeleteSecret removes a secret.
func (p *Provider) DeleteSecret(ctx context.Context, id string) (bool, error) {
	c, err := p.ready()
	if err != nil {
		return false, err
	}
	return c.deleteSecret(ctx, id)
}
