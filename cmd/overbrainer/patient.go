package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/providers"
)

const (
	// maxAsked is how long one look waits for an API that asks to wait.
	maxAsked = 10 * time.Minute
	// unasked is how long to wait where it does not say for how long.
	unasked = 5 * time.Second
	// sameWait is how soon after a wait another one belongs to it.
	sameWait = time.Minute
	// silentWait is how much of waits that belong together goes without saying.
	silentWait = 5 * time.Second
)

// patient is a provider whose looks wait where its API asks to, and say so. What
// has an effect waits in the provider itself.
type patient struct {
	providers.Provider
	name string
	tell func(string)

	mu     sync.Mutex
	until  time.Time     // when the last wait ends
	waited time.Duration // by it and those before that belong to it
	told   time.Duration // what was said of them
}

// wait waits, and says so once for all who do.
func (p *patient) wait(ctx context.Context, d time.Duration) error {
	p.note(d)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// note adds a wait to those before, and says so where they take long.
func (p *patient) note(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Sub(p.until) > sameWait {
		p.waited, p.told = 0, 0
	}
	if until := now.Add(d); until.After(p.until) { // several wait at the same time
		p.waited += min(d, until.Sub(p.until))
		p.until = until
	}
	if p.waited < silentWait || p.told > 0 && d <= 2*p.told {
		return
	}
	p.told = d
	asks := "asks to wait " + ui.Span(d)
	if p.waited > d {
		asks += fmt.Sprintf(" more, %s in all", ui.Span(p.waited))
	}
	p.tell(fmt.Sprintf("The API of provider %s %s; trying again then, for %s at most.", p.name, asks, ui.Span(maxAsked)))
}

// patiently looks until the API lets it.
func patiently[T any](ctx context.Context, p *patient, look func() (T, error)) (T, error) {
	for waited := time.Duration(0); ; {
		v, err := look()
		var e *providers.Error
		if !errors.As(err, &e) || e.Kind != providers.RateLimited {
			return v, err
		}
		d := e.RetryAfter
		if d <= 0 {
			d = unasked
		}
		if waited += d; waited > maxAsked || p.wait(ctx, d) != nil {
			return v, err
		}
	}
}

func (p *patient) Catalog(ctx context.Context, q providers.CatalogQuery) (providers.Catalog, error) {
	return patiently(ctx, p, func() (providers.Catalog, error) { return p.Provider.Catalog(ctx, q) })
}

func (p *patient) GetPod(ctx context.Context, id string) (providers.Pod, error) {
	return patiently(ctx, p, func() (providers.Pod, error) { return p.Provider.GetPod(ctx, id) })
}

func (p *patient) ListPods(ctx context.Context) (providers.PodList, error) {
	return patiently(ctx, p, func() (providers.PodList, error) { return p.Provider.ListPods(ctx) })
}

func (p *patient) ListVolumes(ctx context.Context) ([]providers.Volume, error) {
	return patiently(ctx, p, func() ([]providers.Volume, error) { return p.Provider.ListVolumes(ctx) })
}

func (p *patient) GetVolume(ctx context.Context, id string) (providers.Volume, error) {
	return patiently(ctx, p, func() (providers.Volume, error) { return p.Provider.GetVolume(ctx, id) })
}

func (p *patient) ListSecrets(ctx context.Context, name string) ([]providers.Secret, error) {
	return patiently(ctx, p, func() ([]providers.Secret, error) { return p.Provider.ListSecrets(ctx, name) })
}

func (p *patient) ListTemplates(ctx context.Context) ([]providers.Template, error) {
	return patiently(ctx, p, func() ([]providers.Template, error) { return p.Provider.ListTemplates(ctx) })
}
