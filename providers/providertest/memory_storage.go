package providertest

import (
	"context"
	"slices"

	"github.com/overbrainer/overbrainer/providers"
)

func (m *Memory) require(c providers.Capability, op string) error {
	if m.Description.Has(c) {
		return nil
	}
	return Error(providers.Unimplemented, op, "this provider has no "+string(c))
}

// AddVolume puts a volume into the account.
func (m *Memory) AddVolume(v providers.Volume) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.volumes = append(m.volumes, v)
}

// ListVolumes reads the account's volumes.
func (m *Memory) ListVolumes(ctx context.Context) ([]providers.Volume, error) {
	if err := m.require(providers.CapVolumes, "list volumes"); err != nil {
		return nil, err
	}
	if err := m.enter("ListVolumes", "").read(ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.volumes), nil
}

// GetVolume reads one volume.
func (m *Memory) GetVolume(ctx context.Context, id string) (providers.Volume, error) {
	if err := m.require(providers.CapVolumes, "read volume"); err != nil {
		return providers.Volume{}, err
	}
	if err := m.enter("GetVolume", id).read(ctx); err != nil {
		return providers.Volume{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := m.volume(id); i >= 0 {
		return m.volumes[i], nil
	}
	return providers.Volume{}, Error(providers.NotFound, "read volume", "no such volume")
}

func (m *Memory) volume(id string) int {
	return slices.IndexFunc(m.volumes, func(v providers.Volume) bool { return v.ID == id })
}

// CreateVolume makes a volume of 10 to 4096 GB in a data center that has them.
func (m *Memory) CreateVolume(_ context.Context, req providers.CreateVolume) (providers.Volume, error) {
	const op = "create volume"
	if err := m.require(providers.CapVolumes, op); err != nil {
		return providers.Volume{}, err
	}
	f := m.enter("CreateVolume", req.Name)
	if err := f.before(); err != nil {
		return providers.Volume{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	place := slices.IndexFunc(m.catalog.DataCenters, func(d providers.DataCenter) bool { return d.ID == req.DataCenter })
	switch {
	case place < 0 || len(m.catalog.DataCenters[place].VolumeTypes) == 0:
		return providers.Volume{}, Error(providers.Rejected, op, "this data center has no volumes")
	case req.SizeGB < 10 || req.SizeGB > 4096:
		return providers.Volume{}, Error(providers.Invalid, op, "a volume has 10 to 4096 GB")
	}
	v := providers.Volume{
		ID: m.id("vol"), Name: req.Name, SizeGB: req.SizeGB, DataCenter: req.DataCenter, Type: req.Type,
		MonthlyUSD: 0.07 * float64(req.SizeGB),
	}
	if v.Type == "" {
		v.Type = m.catalog.DataCenters[place].VolumeTypes[0]
	}
	m.volumes = append(m.volumes, v)
	return v, f.after()
}

// ResizeVolume grows a volume.
func (m *Memory) ResizeVolume(_ context.Context, id string, sizeGB int) (providers.Volume, error) {
	const op = "resize volume"
	if err := m.require(providers.CapVolumes, op); err != nil {
		return providers.Volume{}, err
	}
	f := m.enter("ResizeVolume", id)
	if err := f.before(); err != nil {
		return providers.Volume{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.volume(id)
	if i < 0 {
		return providers.Volume{}, Error(providers.NotFound, op, "no such volume")
	}
	if sizeGB < m.volumes[i].SizeGB {
		return providers.Volume{}, Error(providers.Rejected, op, "a volume cannot shrink")
	}
	m.volumes[i].SizeGB = sizeGB
	m.volumes[i].MonthlyUSD = 0.07 * float64(sizeGB)
	return m.volumes[i], f.after()
}

// DeleteVolume removes a volume.
func (m *Memory) DeleteVolume(_ context.Context, id string) (bool, error) {
	if err := m.require(providers.CapVolumes, "delete volume"); err != nil {
		return false, err
	}
	f := m.enter("DeleteVolume", id)
	if err := f.before(); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.volume(id)
	if i >= 0 {
		m.volumes = slices.Delete(m.volumes, i, i+1)
	}
	return i >= 0, f.after()
}

// ListSecrets reads names and IDs.
func (m *Memory) ListSecrets(ctx context.Context, name string) ([]providers.Secret, error) {
	if err := m.require(providers.CapSecrets, "list secrets"); err != nil {
		return nil, err
	}
	if err := m.enter("ListSecrets", name).read(ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []providers.Secret
	for _, s := range m.secrets {
		if name == "" || s.Name == name {
			out = append(out, s.Secret)
		}
	}
	return out, nil
}

// PutSecret stores a value under a name.
func (m *Memory) PutSecret(_ context.Context, name, value string) (providers.Secret, error) {
	if err := m.require(providers.CapSecrets, "store secret"); err != nil {
		return providers.Secret{}, err
	}
	f := m.enter("PutSecret", name)
	if err := f.before(); err != nil {
		return providers.Secret{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.secrets, func(s storedSecret) bool { return s.Name == name })
	if i < 0 {
		m.secrets = append(m.secrets, storedSecret{Secret: providers.Secret{ID: m.id("sec"), Name: name, CreatedAt: m.Now()}})
		i = len(m.secrets) - 1
	}
	m.secrets[i].value = value
	return m.secrets[i].Secret, f.after()
}

// SecretValue gives what is stored under a name, which no provider tells.
func (m *Memory) SecretValue(name string) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.secrets {
		if s.Name == name {
			return s.value, true
		}
	}
	return "", false
}

// DeleteSecret removes a secret.
func (m *Memory) DeleteSecret(_ context.Context, id string) (bool, error) {
	if err := m.require(providers.CapSecrets, "delete secret"); err != nil {
		return false, err
	}
	f := m.enter("DeleteSecret", id)
	if err := f.before(); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.secrets, func(s storedSecret) bool { return s.ID == id })
	if i >= 0 {
		m.secrets = slices.Delete(m.secrets, i, i+1)
	}
	return i >= 0, f.after()
}

// AddTemplate puts a template into the account.
func (m *Memory) AddTemplate(t providers.Template) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.templates = append(m.templates, t)
}

// ListTemplates reads the account's templates.
func (m *Memory) ListTemplates(ctx context.Context) ([]providers.Template, error) {
	if err := m.require(providers.CapTemplates, "list templates"); err != nil {
		return nil, err
	}
	if err := m.enter("ListTemplates", "").read(ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.templates), nil
}
