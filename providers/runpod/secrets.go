package runpod

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/overbrainer/overbrainer/internal/safetext"
	"github.com/overbrainer/overbrainer/providers"
)

type secret struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	CreatedAt string `json:"createdAt"`
}

func (s secret) convert() providers.Secret {
	return providers.Secret{ID: safetext.Printable(s.ID), Name: safetext.Printable(s.Name), CreatedAt: parseTime(s.CreatedAt)}
}

func secretPath(id string) string { return "/account/secrets/" + url.PathEscape(id) }

// listSecrets reads secrets; the API compares names without regard to case, so
// those that differ are left out here.
func (c *client) listSecrets(ctx context.Context, name string) ([]providers.Secret, error) {
	k := call{op: "list secrets", path: "/account/secrets"}
	if name != "" {
		k.query = url.Values{"name": {name}}
	}
	var list struct {
		Secrets []*secret `json:"secrets"`
	}
	if _, err := c.get(ctx, k, &list); err != nil {
		return nil, err
	}
	var out []providers.Secret
	for _, s := range list.Secrets {
		if s != nil && s.ID != "" && (name == "" || s.Name == name) {
			out = append(out, s.convert())
		}
	}
	return out, nil
}

// putSecret creates a secret, or sets the value of the one that has the name.
func (c *client) putSecret(ctx context.Context, name, value string) (providers.Secret, error) {
	// From here on, the value is masked wherever the API might say it.
	c.redact.Add(value)
	body := struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}{name, value}
	k := call{op: "store secret", method: http.MethodPost, path: "/account/secrets", body: body, effect: true, retry: retryable}
	a, f, err := c.do(ctx, k)
	switch {
	case err != nil:
		return providers.Secret{}, err
	case f != nil && f.transport == nil && f.status == http.StatusConflict:
		return c.replaceSecret(ctx, name, value)
	case f != nil:
		return providers.Secret{}, c.secretFailure(k, f)
	}
	return c.readSecret(k, a)
}

func (c *client) replaceSecret(ctx context.Context, name, value string) (providers.Secret, error) {
	found, err := c.listSecrets(ctx, name)
	if err != nil {
		return providers.Secret{}, err
	}
	if len(found) == 0 {
		return providers.Secret{}, &providers.Error{
			Kind: providers.Conflict, Op: "store secret", Status: http.StatusConflict,
			Message: fmt.Sprintf("the API says that a secret named %s exists, but does not list it", name),
		}
	}
	body := struct {
		Value string `json:"value"`
	}{value}
	k := call{op: "store secret", method: http.MethodPatch, path: secretPath(found[0].ID), body: body, effect: true, retry: retryable}
	a, f, err := c.do(ctx, k)
	switch {
	case err != nil:
		return providers.Secret{}, err
	case f != nil:
		return providers.Secret{}, c.secretFailure(k, f)
	}
	return c.readSecret(k, a)
}

func (c *client) readSecret(k call, a answer) (providers.Secret, error) {
	var s secret
	if err := decode(k, a, &s); err != nil {
		return providers.Secret{}, err
	}
	return s.convert(), nil
}

// secretFailure says what a failed write means. The request held the value, so
// nothing at all of the answer is shown.
func (c *client) secretFailure(k call, f *failure) error {
	e := c.fail(k, f)
	if f.transport == nil {
		e.Detail = ""
	}
	if e.Kind == providers.Forbidden && isJSON(f.answer) {
		e.Message = "the API key from " + c.keySource + " may not write account secrets; it needs read and write access to them"
	}
	return e
}

func (c *client) deleteSecret(ctx context.Context, id string) (bool, error) {
	if id == "" {
		return false, noID("delete secret")
	}
	return c.remove(ctx, call{op: "delete secret", method: http.MethodDelete, path: secretPath(id), effect: true, retry: retryable})
}
