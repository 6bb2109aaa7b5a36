package plan

import (
	"errors"
	"fmt"

	"github.com/overbrainer/overbrainer/providers"
)

// scope is one look at a catalog.
type scope struct {
	key      string
	provider string
	query    providers.CatalogQuery
	catalog  providers.Catalog
	err      error
}

// ScopeKey names what a look at a catalog was for: provider, cloud, GPU count
// and CUDA floor.
func ScopeKey(provider string, q providers.CatalogQuery) string {
	key := fmt.Sprintf("%s/%s/%d", provider, q.Cloud, max(q.GPUCount, 1))
	if q.MinCUDA != "" {
		key += "/" + q.MinCUDA
	}
	return key
}

// Query is the catalog query of a target.
func (t TargetSpec) Query() providers.CatalogQuery {
	return providers.CatalogQuery{Cloud: providers.Cloud(t.Cloud), GPUCount: max(t.GPUCount, 1), MinCUDA: t.MinCUDA}
}

func (b *builder) scope(provider string, q providers.CatalogQuery) *scope {
	key := ScopeKey(provider, q)
	if s := b.scopes[key]; s != nil {
		return s
	}
	s := &scope{key: key, provider: provider, query: q}
	b.scopes[key] = s
	if b.in.Catalog == nil {
		s.err = errors.New("there is no catalog to read")
		return s
	}
	s.catalog, s.err = b.in.Catalog(b.ctx, provider, q)
	if s.err != nil {
		b.error("the catalog of "+provider+" cannot be read", s.err.Error())
		return s
	}
	if b.p.Catalogs == nil {
		b.p.Catalogs = map[string]CatalogSeen{}
	}
	b.p.Catalogs[key] = seenOf(s.catalog)
	return s
}
