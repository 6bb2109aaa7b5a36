package runpod

import (
	"context"
	"net/http"
	"net/url"

	"github.com/overbrainer/overbrainer/internal/safetext"
	"github.com/overbrainer/overbrainer/providers"
)

// template is what is read of a template; never its environment.
type template struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	Image      string  `json:"image"`
	Disk       float64 `json:"disk"`
	Serverless bool    `json:"serverless"`
}

// listTemplates reads the account's pod templates. One that is listed twice
// counts once.
func (c *client) listTemplates(ctx context.Context) ([]providers.Template, error) {
	var out []providers.Template
	seen := map[string]bool{"": true}
	k := call{op: "list templates", method: http.MethodGet, path: "/templates", query: url.Values{"limit": {"100"}}, retry: retryable}
	err := c.pages(ctx, k, func(a answer) (pagination, error) {
		var page struct {
			Templates  []*template `json:"templates"`
			Pagination pagination  `json:"pagination"`
		}
		if err := decode(k, a, &page); err != nil {
			return pagination{}, err
		}
		for _, t := range page.Templates {
			if t == nil || t.Serverless || seen[t.ID] {
				continue
			}
			seen[t.ID] = true
			out = append(out, providers.Template{
				ID: safetext.Printable(t.ID), Name: safetext.Printable(t.Name), Image: safetext.Printable(t.Image), DiskGB: whole(t.Disk),
			})
		}
		return page.Pagination, nil
	})
	return out, err
}
