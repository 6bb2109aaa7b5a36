//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/overbrainer/overbrainer/providers"
)

// secret is one of the account's, with its value.
type secret struct {
	providers.Secret
	Value string
}

func (s store) secrets() ([]secret, error) {
	var all []secret
	err := readJSON(filepath.Join(s.dir, "secrets.json"), &all)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return all, err
}

// change replaces the account's secrets by what f makes of them.
func (s store) change(f func([]secret) []secret) error {
	return s.locked(func() error {
		all, err := s.secrets()
		if err != nil {
			return err
		}
		return writeJSON(filepath.Join(s.dir, "secrets.json"), f(all))
	})
}

// ListSecrets reads names and IDs.
func (l *local) ListSecrets(ctx context.Context, name string) ([]providers.Secret, error) {
	const op = "list secrets"
	if err := l.mayRead(ctx, op); err != nil {
		return nil, err
	}
	all, err := l.store.secrets()
	if err != nil {
		return nil, broken(op, err)
	}
	var list []providers.Secret
	for _, s := range all {
		if name == "" || s.Name == name {
			list = append(list, s.Secret)
		}
	}
	return list, nil
}

// PutSecret stores a value under a name.
func (l *local) PutSecret(_ context.Context, name, value string) (providers.Secret, error) {
	const op = "store secret"
	if err := l.ready(op); err != nil {
		return providers.Secret{}, err
	}
	var stored providers.Secret
	err := l.store.change(func(all []secret) []secret {
		i := slices.IndexFunc(all, func(s secret) bool { return s.Name == name })
		if i < 0 {
			i = len(all)
			all = append(all, secret{Secret: providers.Secret{ID: rand.Text(), Name: name, CreatedAt: time.Now()}})
		}
		all[i].Value = value
		stored = all[i].Secret
		return all
	})
	if err != nil {
		return providers.Secret{}, failed(providers.Ambiguous, op, "%v", err)
	}
	return stored, nil
}

// DeleteSecret removes a secret.
func (l *local) DeleteSecret(_ context.Context, id string) (bool, error) {
	const op = "delete secret"
	if err := l.ready(op); err != nil {
		return false, err
	}
	existed := false
	err := l.store.change(func(all []secret) []secret {
		kept := slices.DeleteFunc(slices.Clone(all), func(s secret) bool { return s.ID == id })
		existed = len(kept) < len(all)
		return kept
	})
	if err != nil {
		return false, failed(providers.Ambiguous, op, "%v", err)
	}
	return existed, nil
}
