package sim

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// maxEnv is how many environment entries a pod may have.
const maxEnv = 50

// createPod rents a pod: it is RUNNING in the answer, as far as its status
// goes, and becomes usable when its image was pulled.
func (s *server) createPod(c *call) reply {
	var req podRequest
	if r, ok := s.readCreate(c, &req); !ok {
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return problem(http.StatusServiceUnavailable, "shutting down")
	}
	p := &pod{
		id: newID(14), serial: s.requests, req: req, status: statusRunning, created: time.Now(),
		log: newPodLog(), knobs: c.knobs,
	}
	if r, ok := s.placePod(p, c.knobs); !ok {
		return r
	}
	p.key = podKeyPrefix + p.id + "_" + newID(24)
	p.dir = filepath.Join(s.opt.Home, podsDir, p.id)
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return problem(http.StatusInternalServerError, err.Error())
	}
	s.pods[p.id], s.last, c.object = p, &p.req, p.id
	if c.knobs.alias != "" {
		s.faults.name(c.knobs.alias, p.id)
	}
	s.bills.item(p.id)
	s.rebill(p.id, p.rates())
	s.start(p, true)
	s.logf("pod %s (%s) created", p.id, p.req.Name)
	return created(p.view())
}

// readCreate reads a create call and applies the rules that need no account.
func (s *server) readCreate(c *call, req *podRequest) (reply, bool) {
	if r, ok := decode(c.body, createPodShape, req); !ok {
		return r, false
	}
	if req.TemplateID != "" {
		s.mu.Lock()
		t := s.templates[req.TemplateID]
		s.mu.Unlock()
		if t == nil {
			return notFound(), false
		}
		body, err := t.merged(c.body)
		if err != nil {
			return problem(http.StatusInternalServerError, err.Error()), false
		}
		if len(body) > maxBody {
			return problem(http.StatusRequestEntityTooLarge, "request body too large"), false
		}
		*req = podRequest{}
		if r, ok := decode(body, createPodShape, req); !ok {
			return r, false
		}
	}
	if req.Cloud == "" {
		req.Cloud = cloudSecure
	}
	if req.Disk == 0 {
		req.Disk = 20
	}
	if req.GPU != nil && req.GPU.Count == 0 {
		req.GPU.Count = 1
	}
	if why := req.broken(); why != "" {
		if req.Image == "" {
			return unprocessable(why), false
		}
		return badRequest(why), false
	}
	return reply{}, true
}

// broken names the first rule across fields that the request breaks.
func (req *podRequest) broken() string {
	switch {
	case req.Image == "":
		return "$: missing property 'image'"
	case (req.GPU == nil) == (req.CPU == nil):
		return "exactly one of gpu and cpu must be set"
	case req.GPU != nil && req.GPU.Min != "" && len(req.GPU.Allowed) > 0:
		return "gpu.minCudaVersion and gpu.allowedCudaVersions are mutually exclusive"
	case req.Mounts.Persistent != nil && len(req.Mounts.Network) > 0:
		return "mounts.persistent and mounts.network are mutually exclusive"
	case req.CPU != nil && req.Mounts.Persistent != nil:
		return "mounts.persistent is not available for CPU pods"
	case req.Cloud == cloudCommunity && len(req.Mounts.Network) > 0:
		return "network volumes are available in the secure cloud only"
	case len(req.Env) > maxEnv:
		return fmt.Sprintf("env: at most %d entries", maxEnv)
	case len(req.Args) > 0 && len(req.Cmd)+len(req.Entrypoint) > 0:
		return "args and cmd or entrypoint are mutually exclusive"
	}
	for _, port := range req.Ports {
		var n int
		var proto string
		if k, _ := fmt.Sscanf(port, "%d/%s", &n, &proto); k != 2 || n < 1 || (proto != "tcp" && proto != "http") {
			return fmt.Sprintf("ports: %q is not a valid port mapping", port)
		}
	}
	return ""
}

// placePod finds the pod a host and its price. mu is held.
func (s *server) placePod(p *pod, k knobs) (reply, bool) {
	w := want{cloud: p.req.Cloud, count: 1, centers: p.req.Centers}
	if id := p.volumeID(); id != "" {
		v := s.volumes[id]
		if v == nil {
			return badRequest("network volume not found"), false
		}
		w.centers = []string{v.Center}
	}
	if p.req.GPU != nil {
		g := s.cat.gpu(p.req.GPU.ID)
		if g == nil {
			return badRequest("unknown GPU type"), false
		}
		w.count, w.cuda, w.minCUDA = p.req.GPU.Count, p.req.GPU.Allowed, p.req.GPU.Min
		where, free := s.cat.place(g, w)
		if !free && !k.force {
			return noCapacity(), false
		}
		if where == "" {
			where = "EU-RO-1"
			if len(w.centers) > 0 {
				where = w.centers[0]
			}
		}
		p.center, p.cuda, p.gpus = where, w.version(g), p.req.GPU.Count
		if o := g.in(p.req.Cloud); o != nil {
			p.cost = o.Price * float64(p.req.GPU.Count)
		}
	} else if r, ok := s.placeCPU(p, w); !ok {
		return r, false
	}
	s.bend(p, k)
	if s.balance != nil {
		s.bills.settle(time.Now(), s.speed)
		if s.left() < p.cost {
			return problem(http.StatusPaymentRequired, "insufficient balance"), false
		}
	}
	return reply{}, true
}

func (s *server) placeCPU(p *pod, w want) (reply, bool) {
	x := s.cat.cpu(p.req.CPU.ID)
	if x == nil {
		return badRequest("unknown CPU flavor"), false
	}
	if p.req.CPU.VCPUs == 0 {
		p.req.CPU.VCPUs = 2
	}
	for _, d := range s.cat.Centers {
		if band := x.Stock[d.ID]; band != "" && band != bandNone && (len(w.centers) == 0 || w.centers[0] == d.ID) {
			p.center, p.cost = d.ID, x.Price*float64(p.req.CPU.VCPUs)
			return reply{}, true
		}
	}
	return noCapacity(), false
}
