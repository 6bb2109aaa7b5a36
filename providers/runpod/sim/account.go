package sim

import (
	"sort"
)

func (s *server) listKeys(*call) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ok(map[string]any{"keys": orEmpty(s.sshKeys)})
}

// replaceKeys sets the account's SSH keys; the whole set, as the API has it.
func (s *server) replaceKeys(c *call) reply {
	var req struct{ Keys []string }
	if r, ok := decode(c.body, keysShape, &req); !ok {
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sshKeys, s.dirty = req.Keys, true
	return ok(map[string]any{"keys": orEmpty(s.sshKeys)})
}

func (s *server) listRegistries(*call) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []map[string]any{}
	for id, name := range s.registry {
		list = append(list, map[string]any{"id": id, "name": name})
	}
	sort.Slice(list, func(i, j int) bool { return list[i]["id"].(string) < list[j]["id"].(string) })
	return ok(map[string]any{"registries": list})
}

func (s *server) createRegistry(c *call) reply {
	var req struct{ Name string }
	if r, ok := decode(c.body, registryShape, &req); !ok {
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := newID(24)
	s.registry[id], s.dirty, c.object = req.Name, true, id
	return created(map[string]any{"id": id, "name": req.Name})
}

func (s *server) readRegistry(c *call) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, there := s.registry[c.id]
	if !there {
		return notFound()
	}
	return ok(map[string]any{"id": c.id, "name": name})
}

func (s *server) deleteRegistry(c *call) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.registry[c.id]; !there {
		return notFound()
	}
	for _, p := range s.pods {
		if p.req.Registry != nil && *p.req.Registry == c.id {
			return badRequest("registry credential is in use")
		}
	}
	delete(s.registry, c.id)
	s.dirty = true
	return noContent()
}
