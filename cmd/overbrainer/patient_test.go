package main

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/overbrainer/overbrainer/providers"
)

// limitedProvider turns every look away until a time.
type limitedProvider struct {
	providers.Provider
	until time.Time
	asks  time.Duration // to wait; 0: does not say
}

func (p *limitedProvider) Catalog(context.Context, providers.CatalogQuery) (providers.Catalog, error) {
	if time.Now().Before(p.until) {
		return providers.Catalog{}, &providers.Error{Kind: providers.RateLimited, RetryAfter: p.asks}
	}
	return providers.Catalog{GPUs: []providers.GPUType{{ID: "a"}}}, nil
}

// An API that asks to wait is waited for, for some minutes, and that is said once
// for all who wait.
func TestLooksWaitWhereTheAPIAsksTo(t *testing.T) {
	for _, test := range []struct {
		name       string
		limited    time.Duration
		asks       time.Duration
		ends       time.Duration // when the caller gives up
		took       time.Duration
		fails      bool
		said       int
		words      string
		alsoWaited int
	}{
		{name: "no limit", took: 0},
		{name: "a minute", limited: time.Minute, asks: 7 * time.Second, took: 63 * time.Second, said: 1, words: "runpod asks to wait 7s"},
		{name: "a hundred at once", limited: time.Minute, asks: time.Minute, took: time.Minute, said: 1, words: "runpod asks to wait 1m; trying again then, for 10m at most.", alsoWaited: 99},
		{name: "it does not say for how long", limited: 4 * time.Second, took: 5 * time.Second, said: 1},
		{name: "a short one", limited: 3 * time.Second, asks: 4 * time.Second, took: 4 * time.Second},
		{name: "short ones in a row", limited: 30 * time.Second, asks: 2 * time.Second, took: 30 * time.Second, said: 1, words: "runpod asks to wait 2s more, 6s in all;"},
		{name: "too long", limited: time.Hour, asks: 4 * time.Minute, took: 8 * time.Minute, fails: true, said: 1},
		{name: "the caller gives up", limited: time.Hour, asks: time.Minute, ends: 90 * time.Second, took: 90 * time.Second, fails: true, said: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var said []string
				began := time.Now()
				p := &patient{Provider: &limitedProvider{until: began.Add(test.limited), asks: test.asks}, name: "runpod", tell: func(text string) { said = append(said, text) }}
				ctx := t.Context()
				if test.ends > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.ends)
					defer cancel()
				}
				var all sync.WaitGroup
				for range 1 + test.alsoWaited {
					all.Go(func() {
						c, err := p.Catalog(ctx, providers.CatalogQuery{})
						if failed := err != nil; failed != test.fails || !failed && len(c.GPUs) != 1 {
							t.Errorf("%v, %v", c, err)
						}
					})
				}
				all.Wait()
				if took := time.Since(began); took != test.took {
					t.Errorf("took %s, want %s", took, test.took)
				}
				if len(said) != test.said || !strings.Contains(strings.Join(said, "\n"), test.words) {
					t.Errorf("said %q", said)
				}
			})
		})
	}
}
