//go:build linux

package main

import (
	"context"

	"github.com/overbrainer/overbrainer/providers"
)

// What a provider does not list among its capabilities says so.

func absent(op string) error {
	return failed(providers.Unimplemented, op, "this machine has no network volumes and no templates")
}

// ListVolumes is not part of this provider.
func (l *local) ListVolumes(context.Context) ([]providers.Volume, error) {
	return nil, absent("list volumes")
}

// GetVolume is not part of this provider.
func (l *local) GetVolume(context.Context, string) (providers.Volume, error) {
	return providers.Volume{}, absent("read volume")
}

// CreateVolume is not part of this provider.
func (l *local) CreateVolume(context.Context, providers.CreateVolume) (providers.Volume, error) {
	return providers.Volume{}, absent("create volume")
}

// ResizeVolume is not part of this provider.
func (l *local) ResizeVolume(context.Context, string, int) (providers.Volume, error) {
	return providers.Volume{}, absent("resize volume")
}

// DeleteVolume is not part of this provider.
func (l *local) DeleteVolume(context.Context, string) (bool, error) {
	return false, absent("delete volume")
}

// ListTemplates is not part of this provider.
func (l *local) ListTemplates(context.Context) ([]providers.Template, error) {
	return nil, absent("list templates")
}
