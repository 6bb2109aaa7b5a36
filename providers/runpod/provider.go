package runpod

import (
	"context"
	"log/slog"
	"sync"

	"github.com/overbrainer/overbrainer/providers"
)

// Options are a provider's surroundings.
type Options struct {
	// Version is told to the API and to the watchdog.
	Version string
	// Build tells apart the binaries that share a version; a simulator of
	// another build is refused. Empty means Version.
	Build string
	// Environ reads the environment.
	Environ func(string) string
	// Exe is the program that serves the simulator: overbrainer itself.
	Exe string
	// Log takes one debug record for each request; nil discards them.
	Log *slog.Logger
}

// Provider is the contract on Runpod.
type Provider struct {
	options Options

	mu     sync.RWMutex
	client *client
	cloud  providers.Cloud
}

var _ providers.Provider = (*Provider)(nil)

// New returns a provider that is not configured yet.
func New(o Options) *Provider {
	if o.Environ == nil {
		o.Environ = func(string) string { return "" }
	}
	if o.Build == "" {
		o.Build = o.Version
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Provider{options: o}
}

// ready gives the client, or the error of a call that came before Configure.
func (p *Provider) ready() (*client, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.client == nil {
		return nil, &providers.Error{Kind: providers.Invalid, Message: "the provider is not configured"}
	}
	return p.client, nil
}

// Describe says what this provider is. After Configure the guard's environment
// names the API in use.
func (p *Provider) Describe(context.Context) (providers.Description, error) {
	url := DefaultURL
	if c, err := p.ready(); err == nil {
		url = c.base
	}
	return providers.Description{
		Name:    "runpod",
		Version: p.options.Version,
		Schema: providers.Schema{Attributes: []providers.Attribute{
			{Name: "api_key", Type: providers.String, Sensitive: true,
				Description: "API key; by default RUNPOD_API_KEY, then the key that runpodctl has stored"},
			{Name: "api_url", Type: providers.String,
				Description: "where the API answers: https, or http on this machine only; by default " + DefaultURL},
			{Name: "cloud", Type: providers.String,
				Description: "kind of host for targets that do not say: secure (default) or community"},
			{Name: "simulator", Type: providers.Bool,
				Description: "pods are processes of a local simulator: no account, no GPU, no cost"},
		}},
		Capabilities: []providers.Capability{
			providers.CapVolumes, providers.CapSecrets, providers.CapTemplates, providers.CapLogs, providers.CapGuard,
		},
		Guard:             guard(url, p.options.Version),
		SecretPlaceholder: "{{ RUNPOD_SECRET_%s }}",
		VolumeMount:       volumeMount,
		Environment:       []string{keyVariable, simulatorVariable},
	}, nil
}

// Catalog reads types and data centers.
func (p *Provider) Catalog(ctx context.Context, q providers.CatalogQuery) (providers.Catalog, error) {
	c, err := p.ready()
	if err != nil {
		return providers.Catalog{}, err
	}
	return c.catalog(ctx, q, p.cloud)
}

// CreatePod rents a pod. A detail of its error is what the API said, redacted.
func (p *Provider) CreatePod(ctx context.Context, req providers.CreatePod) (providers.Pod, error) {
	c, err := p.ready()
	if err != nil {
		return providers.Pod{}, err
	}
	return c.createPod(ctx, body(req, p.cloud, guard(c.base, p.options.Version).Env))
}

// GetPod reads one pod.
func (p *Provider) GetPod(ctx context.Context, id string) (providers.Pod, error) {
	c, err := p.ready()
	if err != nil {
		return providers.Pod{}, err
	}
	return c.getPod(ctx, id)
}

// ListPods reads every pod of the account.
func (p *Provider) ListPods(ctx context.Context) (providers.PodList, error) {
	c, err := p.ready()
	if err != nil {
		return providers.PodList{}, err
	}
	return c.listPods(ctx)
}

// DeletePod ends a pod.
func (p *Provider) DeletePod(ctx context.Context, id string) (bool, error) {
	c, err := p.ready()
	if err != nil {
		return false, err
	}
	return c.deletePod(ctx, id)
}

// PodLogs streams a pod's log.
func (p *Provider) PodLogs(ctx context.Context, req providers.LogRequest, sink func(providers.LogLine) error) error {
	c, err := p.ready()
	if err != nil {
		return err
	}
	return c.podLogs(ctx, req, sink)
}

// ListTemplates reads the account's pod templates.
func (p *Provider) ListTemplates(ctx context.Context) ([]providers.Template, error) {
	c, err := p.ready()
	if err != nil {
		return nil, err
	}
	return c.listTemplates(ctx)
}
