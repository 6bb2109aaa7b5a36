package sim

import (
	"math"
	"time"
)

// bend applies what a fault does to a pod that is being made. mu is held.
func (s *server) bend(p *pod, k knobs) {
	if k.price > 0 {
		p.cost *= k.price
	}
	if k.cost > 0 && !(k.anyGPU && s.priceOfAnother(p, k.cost)) {
		p.cost = k.cost
	}
	if k.center != "" {
		p.center = k.center
	}
	if k.elsewhere {
		for _, d := range s.cat.Centers {
			if d.ID != p.center && len(d.Volumes) > 0 {
				p.center = d.ID
				break
			}
		}
	}
	if k.cloud != "" {
		p.req.Cloud = k.cloud
	}
	if k.cuda != "" {
		p.cuda = k.cuda
	}
	p.gpus = max(0, p.gpus-k.lessGPUs)
}

// priceOfAnother reports whether a cost is what the catalog says of another
// type than the pod's: an answer that names no type was written for whichever
// is asked for first, and a pod of the next one costs its own price. mu is
// held.
func (s *server) priceOfAnother(p *pod, cost float64) bool {
	for _, g := range s.cat.GPUs {
		if p.req.GPU == nil || g.ID == p.req.GPU.ID {
			continue
		}
		for _, o := range []*offer{g.Secure, g.Community} {
			if o != nil && math.Abs(o.Price*float64(max(1, p.gpus))-cost) < 1e-9 {
				return true
			}
		}
	}
	return false
}

// holds reports whether something keeps a pod's container from starting: a
// fault, or answers that say for now that it has not.
func (f *faults) holds(p *pod) bool {
	if p.knobs.neverUp {
		return true
	}
	f.bind()
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	for _, r := range f.rules {
		if len(r.on) != 1 || r.on[0] != opReadPod || r.of != "" && f.names[r.of] != p.id || !r.live(now) {
			continue
		}
		return notUp(r.out)
	}
	return false
}

// notUp reports whether an answer to "read pod" shows a pod that is not up.
func notUp(out outcome) bool {
	m, is := out.body.(map[string]any)
	if !is {
		return false
	}
	if out.status == 404 {
		return false
	}
	if m["status"] == statusProvisioning || m["status"] == statusStarting {
		return true
	}
	rt, told := m["runtime"]
	return told && rt == nil
}

// bind gives the pods' names of an answers file to pods that exist: each name
// that none was created under, in order, to the oldest pod that has none.
func (f *faults) bind() {
	f.mu.Lock()
	need := len(f.known) > 0
	f.mu.Unlock()
	if !need {
		return
	}
	f.s.mu.Lock()
	pods := f.s.podList()
	f.s.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	taken := map[string]bool{}
	for _, id := range f.names {
		taken[id] = true
	}
	for _, name := range f.known {
		if f.names[name] != "" {
			continue
		}
		for i := len(pods) - 1; i >= 0; i-- {
			if id := pods[i].id; !taken[id] {
				f.names[name], taken[id] = id, true
				break
			}
		}
	}
}
