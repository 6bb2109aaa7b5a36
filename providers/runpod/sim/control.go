package sim

import (
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// control answers the part of the listener that is no Runpod. It changes
// things without a key, so a page in a browser must not reach it: requests
// name this machine and carry the header that only Client sends.
func (s *server) control(w http.ResponseWriter, r *http.Request) {
	host, _, err := net.SplitHostPort(r.Host)
	ip := net.ParseIP(host)
	if err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) || r.Header.Get("X-Overbrainer-Sim") == "" {
		problem(http.StatusForbidden, "the control part is for this machine's overbrainer").write(w, r)
		return
	}
	s.mu.Lock()
	s.asked = time.Now()
	s.mu.Unlock()
	s.controlled(r).write(w, r)
}

func (s *server) controlled(r *http.Request) reply {
	switch path := strings.TrimPrefix(r.URL.Path, "/sim/"); r.Method + " " + path {
	case "GET status":
		return ok(s.status())
	case "GET catalog":
		s.mu.Lock()
		defer s.mu.Unlock()
		return ok(clone(s.cat))
	case "GET journal":
		since, _ := strconv.ParseInt(r.URL.Query().Get("since"), 10, 64)
		return ok(map[string]any{"requests": s.journal.since(since)})
	case "GET faults":
		return ok(map[string]any{"armed": s.faults.list()})
	case "POST stop":
		time.AfterFunc(50*time.Millisecond, s.shut)
		return noContent()
	case "POST reset":
		s.resetAll()
		return noContent()
	case "POST fault":
		return control(r, s.arm)
	case "POST fault/clear":
		s.faults.clear()
		return noContent()
	case "POST fault/file":
		return control(r, func(f faultFile) error { return s.loadAnswers(f.Answers, f.Catalog, f.Sequence) })
	case "POST settings":
		return control(r, s.adjust)
	case "POST price":
		return control(r, s.setPrice)
	case "POST stock":
		return control(r, s.setStock)
	}
	return notFound()
}

// control reads a body and hands it to do; what do refuses is a bad request.
func control[T any](r *http.Request, do func(T) error) reply {
	var v T
	in := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 16<<20))
	in.DisallowUnknownFields()
	if err := in.Decode(&v); err != nil {
		return badRequest(err.Error())
	}
	if err := do(v); err != nil {
		return badRequest(err.Error())
	}
	return noContent()
}

// resetAll empties the account: pods, secrets, volumes, faults, catalog, bill
// and journal.
func (s *server) resetAll() {
	s.faults.clear()
	s.mu.Lock()
	pods := s.podList()
	s.mu.Unlock()
	for _, p := range pods {
		s.deletePod(p)
	}
	s.mu.Lock()
	for id := range s.volumes {
		_ = removeDisk(s.volumeDir(id))
	}
	s.volumes, s.secrets, s.templates = map[string]*volume{}, map[string]*secret{}, map[string]*template{}
	s.registry, s.sshKeys, s.balance, s.last = map[string]string{}, nil, nil, nil
	s.bills, s.requests, s.pull, s.dirty = newLedger(), 0, time.Second, true
	if cat, err := embeddedCatalog(); err == nil {
		s.cat = cat
	}
	s.mu.Unlock()
	s.journal.reset()
	s.save()
}

// Settings are changed by Client.Adjust; nil leaves a thing as it is.
type Settings struct {
	// Speed makes billing and simulated delays so many times as fast.
	Speed *float64 `json:"speed,omitempty"`
	// BalanceUSD is what the account has left; a negative number means that it
	// has no end.
	BalanceUSD *float64 `json:"balance_usd,omitempty"`
	// PullSeconds is how long an image takes to pull, before speed.
	PullSeconds *float64 `json:"pull_seconds,omitempty"`
}

func (s *server) adjust(v Settings) error {
	s.mu.Lock()
	s.bills.settle(time.Now(), s.speed)
	if v.Speed != nil && *v.Speed > 0 {
		s.speed = *v.Speed
	}
	if v.PullSeconds != nil && *v.PullSeconds >= 0 {
		s.pull = time.Duration(*v.PullSeconds * float64(time.Second))
	}
	if b := v.BalanceUSD; b != nil {
		s.balance = nil
		if *b >= 0 {
			funds := *b + s.bills.total()
			s.balance = &funds
		}
	}
	s.dirty = true
	s.mu.Unlock()
	return s.writeAddress()
}
