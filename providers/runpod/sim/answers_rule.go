package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// scriptRule turns one answer of a file into a rule.
func (s *server) scriptRule(a scriptAnswer, catalog []byte) (*rule, error) {
	r := &rule{name: "file: " + a.On, on: []string{a.On}, of: a.object(), who: "account"}
	if err := s.span(r, a.Times); err != nil {
		return nil, err
	}
	r.out.header = a.Headers
	switch status := a.Status.(type) {
	case json.Number:
		r.out.status = a.code()
		if r.out.status < 200 || r.out.status > 599 {
			return nil, fmt.Errorf("answers: status %s", status)
		}
	case string:
		switch kind := cutKind(status); kind {
		case cutReset, cutRefused, cutTimeout:
			r.out.cut = kind
		default:
			return nil, fmt.Errorf("answers: status %q is none of reset, refused, timeout", status)
		}
	default:
		return nil, fmt.Errorf("answers: %s without a status", a.On)
	}
	r.name += " " + fmt.Sprint(a.Status)
	r.out.body = a.Body
	r.out.real = a.Really != "" && !deniesWords.MatchString(a.Really)
	success := r.out.status >= 200 && r.out.status < 300
	body, _ := a.Body.(map[string]any)
	switch a.On {
	case opListGPUs:
		if !success {
			return r, nil
		}
		gpus, err := scriptCatalog(a.Body, catalog)
		if err != nil {
			return nil, err
		}
		r.out.pass = true
		r.out.before = func(s *server, _ *call) { s.setGPUs(gpus) }
	case opCreatePod:
		r.out.real = r.out.real || success
		r.out.bend = bendTo(body, a.alias())
	case opReadPod:
		r.out.existing = success
		if body["status"] == statusExited {
			r.out.before = func(s *server, c *call) {
				if p := s.find(c.id); p != nil {
					s.stopPod(p)
				}
			}
		}
	case opReadLog, opListPods:
	default:
		r.out.real = r.out.real || success
	}
	return r, nil
}

// bendTo makes a created pod be what the answer says of it.
func bendTo(body map[string]any, alias string) func(*knobs) {
	return func(k *knobs) {
		k.force, k.alias = true, alias
		_, told := body["gpu"]
		k.anyGPU = !told
		if n, is := body["cost"].(json.Number); is {
			k.cost, _ = n.Float64()
		}
		if v, is := body["dataCenterId"].(string); is {
			k.center = v
		}
		if v, is := body["cudaVersion"].(string); is {
			k.cuda = v
		}
		if v, is := body["cloud"].(string); is {
			k.cloud = v
		}
	}
}

func both(a, b func(*knobs)) func(*knobs) {
	return func(k *knobs) {
		if a != nil {
			a(k)
		}
		b(k)
	}
}

// shownGPU is a GPU type as the API shows it.
type shownGPU struct {
	ID, Name  string
	Memory    int
	Pool      string
	Secure    bool
	Community bool
	Price     struct{ Secure, Community, Serverless float64 }
	MaxCount  struct{ Secure, Community int }
	Available string                              `json:"availability"`
	Centers   []struct{ ID, Availability string } `json:"dataCenters"`
	CUDA      []struct{ Version string }          `json:"cudaVersions"`
}

// scriptCatalog reads the GPU list of an answer, or the one of catalog.json
// where the answer names that.
func scriptCatalog(body any, catalog []byte) ([]*gpuType, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	if name, is := body.(string); is || body == nil {
		if catalog == nil {
			return nil, fmt.Errorf("answers: %s is not beside the file", name)
		}
		data = catalog
	}
	var shown struct{ GPUs []shownGPU }
	if err := json.Unmarshal(data, &shown); err != nil {
		return nil, fmt.Errorf("answers: GPU list: %w", err)
	}
	var out []*gpuType
	for _, g := range shown.GPUs {
		stock := map[string]string{}
		for _, d := range g.Centers {
			stock[d.ID] = d.Availability
		}
		row := &gpuType{ID: g.ID, Name: g.Name, Memory: g.Memory, Pool: g.Pool, Serverless: g.Price.Serverless}
		for _, v := range g.CUDA {
			row.CUDA = append(row.CUDA, v.Version)
		}
		if row.CUDA == nil {
			row.CUDA = []string{"12.4", "12.6", "12.8", "13.0"}
		}
		row.Secure = &offer{Price: g.Price.Secure, MaxCount: g.MaxCount.Secure, Listed: &g.Secure, Stock: stock}
		row.Community = &offer{Price: g.Price.Community, MaxCount: g.MaxCount.Community, Listed: &g.Community, Stock: maps.Clone(stock)}
		out = append(out, row)
	}
	return out, nil
}

// setGPUs replaces the GPU types of the catalog.
func (s *server) setGPUs(gpus []*gpuType) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cat.GPUs = gpus
}

// loadAnswers arms a file: it takes the place of what was armed before.
func (s *server) loadAnswers(data, catalog []byte, sequence int) error {
	sc, err := s.readAnswers(data, catalog, sequence)
	if err != nil {
		return err
	}
	if catalog != nil {
		gpus, err := scriptCatalog(nil, catalog)
		if err != nil {
			return err
		}
		s.setGPUs(gpus)
	}
	s.faults.clear()
	s.faults.know(sc.known)
	if sc.account != "" {
		s.standIns(sc)
	}
	s.faults.add(sc.rules...)
	s.faults.bind()
	for _, r := range sc.rules {
		if r.of != "" && vanished(r) {
			s.faults.mu.Lock()
			id, stays := s.faults.names[r.of], r.used == 0 && len(sc.rules) > 0 && firstFor(sc.rules, r)
			s.faults.mu.Unlock()
			if stays {
				s.deletePodByID(id)
			}
		}
	}
	return nil
}

// firstFor reports whether r is the first answer for its pod's reads: the pod
// was gone before.
func firstFor(rules []*rule, r *rule) bool {
	for _, o := range rules {
		if o.on[0] == opReadPod && (o.of == "" || o.of == r.of) {
			return o == r
		}
	}
	return false
}

func (f *faults) know(names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known = names
}

func (s *server) deletePodByID(id string) {
	if p := s.find(id); p != nil {
		s.deletePod(p)
	}
}

var numberWords = map[string]int{"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5}

// standIns makes the stopped pods that a file says the account holds. They
// carry the markers of the newest pod that was created here.
func (s *server) standIns(sc *script) {
	n := 0
	for word := range strings.FieldsSeq(sc.account) {
		if k, is := numberWords[word]; is {
			n = k
		} else if k, err := strconv.Atoi(word); err == nil {
			n = k
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range n {
		req := podRequest{Name: "stand-in", Image: "registry.example/train:1.0", Disk: 20, Cloud: cloudSecure, Env: map[string]string{}}
		if s.last != nil {
			req = *s.last
			req.Env = maps.Clone(req.Env)
		} else if err := json.Unmarshal([]byte(`{"id":"NVIDIA A40","count":1}`), &req.GPU); err != nil {
			continue
		}
		if i < len(sc.exited) {
			data, _ := json.Marshal(sc.exited[i]["mounts"])
			_ = json.Unmarshal(data, &req.Mounts)
		}
		p := &pod{id: newID(14), serial: int64(i), req: req, status: statusExited, created: time.Now(), log: newPodLog(), center: "EU-RO-1", cost: 0.4}
		p.dir = filepath.Join(s.opt.Home, podsDir, p.id)
		s.pods[p.id] = p
		s.bills.item(p.id)
		s.rebill(p.id, p.rates())
		if i < len(sc.known) {
			s.faults.name(sc.known[i], p.id)
		}
	}
}
