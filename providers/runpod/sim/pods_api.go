package sim

import (
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// find gives a pod that exists.
func (s *server) find(id string) *pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pods[id]
}

func (s *server) listPods(c *call) reply {
	s.mu.Lock()
	list := []any{}
	for _, p := range s.podList() {
		list = append(list, p.view())
	}
	s.mu.Unlock()
	return page(c, "pods", list)
}

// page cuts a list as the API does. Cursors name an offset.
func page(c *call, key string, list []any) reply {
	q := c.r.URL.Query()
	limit, from := 1000, 0
	if v := q.Get("limit"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > 1000 {
			return unprocessable("query.limit: must be an integer from 1 to 1000")
		}
		limit = n
	}
	if v := q.Get("cursor"); v != "" {
		raw, err := base64.RawURLEncoding.DecodeString(v)
		n, err2 := strconv.Atoi(string(raw))
		if err != nil || err2 != nil || n < 0 {
			return unprocessable("query.cursor: not a cursor")
		}
		from = min(n, len(list))
	}
	to := min(from+limit, len(list))
	next := map[string]any{"nextCursor": nil, "hasNextPage": to < len(list)}
	if to < len(list) {
		next["nextCursor"] = base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(to)))
	}
	return ok(map[string]any{key: list[from:to], "pagination": next})
}

func (s *server) readPod(c *call) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pods[c.id]
	if p == nil {
		return notFound()
	}
	return ok(p.view())
}

// removePod answers a DELETE. It returns when every process of the pod is dead.
func (s *server) removePod(c *call) reply {
	p := s.find(c.id)
	if p == nil {
		return notFound()
	}
	s.deletePod(p)
	return noContent()
}

func (s *server) actPod(c *call) reply {
	var req struct{ Action string }
	if r, ok := decode(c.body, actionShape, &req); !ok {
		return r
	}
	p := s.find(c.id)
	if p == nil {
		return notFound()
	}
	s.mu.Lock()
	allowed := slices.Contains(p.actions(), req.Action) && (!p.locked || req.Action == "start")
	s.mu.Unlock()
	if !allowed {
		return problem(http.StatusConflict, "action '"+req.Action+"' is not valid in the current status")
	}
	switch req.Action {
	case "terminate":
		s.deletePod(p)
		return noContent()
	case "stop":
		s.stopPod(p)
	case "restart":
		s.restartPod(p)
	case "start":
		s.mu.Lock()
		p.status = statusRunning
		s.rebill(p.id, p.rates())
		s.start(p, true)
		s.mu.Unlock()
	}
	return s.readPod(c)
}

// updatePod changes what may be changed. What the container is made of resets
// it, and its disk with it.
func (s *server) updatePod(c *call) reply {
	var req struct {
		Name, Image, Args *string
		Disk              *int
		Env               *map[string]string
		Ports             *[]string
		Registry          *string
		Cmd, Entrypoint   *[]string
		Locked            *bool
		Mounts            *struct {
			Persistent *persistentMount
			Network    *[]networkMount
		}
	}
	if r, ok := decode(c.body, updatePodShape, &req); !ok {
		return r
	}
	p := s.find(c.id)
	if p == nil {
		return notFound()
	}
	s.mu.Lock()
	if m := req.Mounts; m != nil {
		have := p.req.Mounts
		same := m.Network == nil || len(*m.Network) == 1 && len(have.Network) == 1 && (*m.Network)[0].VolumeID == have.Network[0].VolumeID
		if !same || m.Persistent != nil && have.Persistent == nil {
			s.mu.Unlock()
			return badRequest("mounts: the kind of mount and its volume cannot be changed")
		}
		if m.Persistent != nil {
			p.req.Mounts.Persistent = m.Persistent
		}
	}
	set(&p.req.Name, req.Name)
	set(&p.locked, req.Locked)
	reset := set(&p.req.Image, req.Image)
	reset = set(&p.req.Args, req.Args) || reset
	reset = set(&p.req.Disk, req.Disk) || reset
	reset = set(&p.req.Cmd, req.Cmd) || reset
	reset = set(&p.req.Entrypoint, req.Entrypoint) || reset
	reset = set(&p.req.Ports, req.Ports) || reset
	if req.Env != nil {
		p.req.Env, reset = maps.Clone(*req.Env), true
	}
	running := p.status == statusRunning
	s.rebill(p.id, p.rates())
	s.mu.Unlock()
	if reset && running {
		s.restartPod(p)
	}
	return s.readPod(c)
}

func set[T any](to, from *T) bool {
	if from == nil {
		return false
	}
	*to = *from
	return true
}
