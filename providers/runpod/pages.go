package runpod

import (
	"context"
	"net/url"

	"github.com/overbrainer/overbrainer/providers"
)

// maxPages bounds a listing that does not end.
const maxPages = 100

// pagination is the API's note on a page. Servers without paging leave it out.
type pagination struct {
	NextCursor  string `json:"nextCursor"`
	HasNextPage bool   `json:"hasNextPage"`
}

// pages reads a listing page by page.
func (c *client) pages(ctx context.Context, k call, take func(answer) (pagination, error)) error {
	seen := map[string]bool{}
	query := url.Values{}
	for key, values := range k.query {
		query[key] = values
	}
	k.query = query
	for range maxPages {
		a, f, err := c.do(ctx, k)
		switch {
		case err != nil:
			return err
		case f != nil:
			return c.fail(k, f)
		}
		p, err := take(a)
		if err != nil {
			return err
		}
		if !p.HasNextPage || p.NextCursor == "" {
			return nil
		}
		if seen[p.NextCursor] {
			return &providers.Error{Kind: providers.Transient, Op: k.op, Status: a.status, Message: "the listing goes round in circles: a page's cursor came back"}
		}
		seen[p.NextCursor] = true
		query.Set("cursor", p.NextCursor)
	}
	return &providers.Error{Kind: providers.Transient, Op: k.op, Message: "the listing has more than 100 pages"}
}
