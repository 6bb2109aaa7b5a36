package sim

import (
	"encoding/json"
	"maps"
	"sort"
)

// template is a stored set of container settings.
type template struct {
	ID     string         `json:"id"`
	Fields map[string]any `json:"fields"` // as the API shows them, without the ID
}

func (t *template) view() map[string]any {
	v := maps.Clone(t.Fields)
	v["id"] = t.ID
	return v
}

func (s *server) listTemplates(c *call) reply {
	s.mu.Lock()
	list := []any{}
	ids := make([]string, 0, len(s.templates))
	for id := range s.templates {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	for _, id := range ids {
		list = append(list, s.templates[id].view())
	}
	s.mu.Unlock()
	return page(c, "templates", list)
}

func (s *server) createTemplate(c *call) reply {
	fields := map[string]any{
		"args": "", "disk": 20, "mounts": map[string]any{}, "ports": []any{}, "env": map[string]any{}, "registry": nil,
		"serverless": false, "public": false, "category": "NVIDIA", "startSsh": true, "startJupyter": true,
		"allowedCudaVersions": []any{},
	}
	if r, ok := decode(c.body, createTemplateShape, &fields); !ok {
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &template{ID: newID(10), Fields: fields}
	s.templates[t.ID], s.dirty, c.object = t, true, t.ID
	return created(t.view())
}

func (s *server) readTemplate(c *call) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.templates[c.id]
	if t == nil {
		return notFound()
	}
	return ok(t.view())
}

func (s *server) updateTemplate(c *call) reply {
	var fields map[string]any
	if r, ok := decode(c.body, updateTemplateShape, &fields); !ok {
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.templates[c.id]
	if t == nil {
		return notFound()
	}
	maps.Copy(t.Fields, fields)
	s.dirty = true
	return ok(t.view())
}

func (s *server) deleteTemplate(c *call) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.templates[c.id] == nil {
		return notFound()
	}
	delete(s.templates, c.id)
	s.dirty = true
	return noContent()
}

// merged lays a create call over its template: the call wins, env is joined.
func (t *template) merged(body []byte) ([]byte, error) {
	var over map[string]any
	if err := json.Unmarshal(body, &over); err != nil {
		return nil, err
	}
	out := map[string]any{}
	for _, k := range []string{"image", "args", "disk", "ports", "registry", "cmd", "entrypoint", "startSsh", "startJupyter"} {
		if v, there := t.Fields[k]; there && v != nil {
			out[k] = v
		}
	}
	if m, is := t.Fields["mounts"].(map[string]any); is && len(m) > 0 {
		out["mounts"] = m
	}
	env := map[string]any{}
	if m, is := t.Fields["env"].(map[string]any); is {
		maps.Copy(env, m)
	}
	if m, is := over["env"].(map[string]any); is {
		maps.Copy(env, m)
	}
	maps.Copy(out, over)
	out["env"] = env
	delete(out, "templateId")
	return json.Marshal(out)
}
