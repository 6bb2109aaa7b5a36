package sim

import (
	"net/http"
	"regexp"
	"sort"
	"strings"
	"time"
)

// secret is an account secret. Nothing ever answers its value.
type secret struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	Description *string    `json:"description"`
	Created     time.Time  `json:"created_at"`
	Updated     *time.Time `json:"updated_at"`
	value       string
}

func (x *secret) view() map[string]any {
	v := map[string]any{"id": x.ID, "name": x.Name, "description": nil, "createdAt": stamp(x.Created), "valueLastUpdatedAt": nil, "version": 1}
	if x.Description != nil && *x.Description != "" {
		v["description"] = *x.Description
	}
	if x.Updated != nil {
		v["valueLastUpdatedAt"] = stamp(*x.Updated)
	}
	return v
}

func (s *server) listSecrets(c *call) reply {
	only := c.r.URL.Query().Get("name")
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []any{}
	for _, x := range s.secretList() {
		if only == "" || strings.EqualFold(only, x.Name) {
			list = append(list, x.view())
		}
	}
	return ok(map[string]any{"secrets": list})
}

func (s *server) secretList() []*secret {
	out := make([]*secret, 0, len(s.secrets))
	for _, x := range s.secrets {
		out = append(out, x)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

type secretRequest struct {
	Name, Value string
	Description *string
}

func (s *server) createSecret(c *call) reply {
	var req secretRequest
	if r, ok := decode(c.body, createSecretShape, &req); !ok {
		return r
	}
	if strings.HasPrefix(strings.ToUpper(req.Name), "RUNPOD") {
		return badRequest("secret names starting with RUNPOD are reserved")
	}
	if len(req.Value) >= 16<<20 {
		return unprocessable("$.value: must be under 16777216 bytes")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.secrets {
		if strings.EqualFold(x.Name, req.Name) {
			return problem(http.StatusConflict, "a secret with this name already exists")
		}
	}
	x := &secret{ID: newID(12), Name: req.Name, Description: req.Description, Created: time.Now(), value: req.Value}
	s.secrets[x.ID], s.dirty, c.object = x, true, x.ID
	return created(x.view())
}

func (s *server) readSecret(c *call) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.secrets[c.id]
	if x == nil {
		return notFound()
	}
	return ok(x.view())
}

func (s *server) updateSecret(c *call) reply {
	var req struct{ Value, Description *string }
	if r, ok := decode(c.body, updateSecretShape, &req); !ok {
		return r
	}
	if req.Value == nil && req.Description == nil {
		return unprocessable("$: minProperties: got 0, want 1")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.secrets[c.id]
	if x == nil {
		return notFound()
	}
	if req.Value != nil {
		now := time.Now()
		x.value, x.Updated = *req.Value, &now
	}
	if req.Description != nil {
		x.Description = req.Description
	}
	s.dirty = true
	return ok(x.view())
}

func (s *server) deleteSecret(c *call) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.secrets[c.id] == nil {
		return notFound()
	}
	delete(s.secrets, c.id)
	s.dirty = true
	return noContent()
}

var placeholder = regexp.MustCompile(`^\{\{\s*RUNPOD_SECRET_([a-zA-Z0-9_.\-/]+)\s*\}\}$`)

// resolve puts a secret's value in the place of its placeholder. A value that
// is more than a placeholder, or names no secret, stays as it is. mu is held.
func (s *server) resolve(value string) string {
	m := placeholder.FindStringSubmatch(value)
	if m == nil {
		return value
	}
	for _, x := range s.secrets {
		if strings.EqualFold(x.Name, m[1]) {
			return x.value
		}
	}
	return value
}
