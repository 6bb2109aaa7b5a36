package sim

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// cutKind is how a connection ends without an answer.
type cutKind string

// Ways to end a connection.
const (
	cutNone    cutKind = ""
	cutReset   cutKind = "reset"   // cut after the request was read
	cutRefused cutKind = "refused" // nobody listened; the request had no effect
	cutTimeout cutKind = "timeout" // held until the client gives up
	cutHalf    cutKind = "half"    // cut in the middle of the answer's body
)

// timeoutMost is how long a request is held that is to time out.
const timeoutMost = 10 * time.Minute

// knobs bend what a create call makes.
type knobs struct {
	force      bool          // no stock needed
	price      float64       // factor on the price; 0: 1
	cost       float64       // price an hour; 0: the catalog's
	anyGPU     bool          // the cost was told of no GPU type in particular
	center     string        // where it lands, whatever was asked
	elsewhere  bool          // lands where it was not asked to
	cloud      string        // the cloud it is told to be in
	cuda       string        // the host's version
	lessGPUs   int           // so many fewer than asked
	tellGPUs   bool          // and the API says so
	noSSH      bool          // no port is ever mapped
	sshPort    int           // the public port; 0: any
	pull       time.Duration // longer download, nominal
	neverUp    bool          // the download never ends
	alias      string        // its name in an answers file
	unresolved bool          // secrets' placeholders stay
	image      image         // how its image differs
}

// outcome is what a rule does to a call that it matches.
type outcome struct {
	// real lets the call have its effect.
	real bool
	// pass gives the real answer; then nothing below matters.
	pass bool
	cut  cutKind
	// status and body are the answer, the body a template that is filled in.
	status int
	body   any
	text   string
	header map[string]string
	// bend sets knobs before a create call has its effect.
	bend func(*knobs)
	// existing leaves calls alone whose pod is gone: no answer brings it back.
	existing bool
	// before runs before the call, without any lock held.
	before func(*server, *call)
}

// rule changes how some calls are answered.
type rule struct {
	name  string
	on    []string // operations; none = every one
	gpu   string   // only creates of this type
	of    string   // only calls on this object, by its name in an answers file
	who   string   // account, pod, or "" for both
	skip  int      // matching calls let through first
	times int      // so often; 0 = once, negative = for ever
	lasts time.Duration
	stays bool // the last one of its operation
	out   outcome

	seen, used int
	since      time.Time
}

// live reports whether the rule still has something to say. mu is held.
func (r *rule) live(now time.Time) bool {
	switch {
	case r.stays, r.times < 0 && r.lasts == 0:
		return true
	case r.lasts > 0:
		return r.since.IsZero() || now.Before(r.since.Add(r.lasts))
	}
	return r.used < max(1, r.times)
}

// faults are the armed rules, in the order in which they are asked.
type faults struct {
	s     *server
	mu    sync.Mutex
	rules []*rule
	names map[string]string // an answers file's name of a pod → its ID
	known []string          // such names of the file, in order
	// waiting are faults of a pod until one runs.
	waiting []waitingFault
}

type waitingFault struct {
	name string
	act  podAct
}

func newFaults(s *server) *faults { return &faults{s: s, names: map[string]string{}} }

func (f *faults) add(rules ...*rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = append(f.rules, rules...)
}

// name gives a pod its name in an answers file.
func (f *faults) name(alias, id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.names[alias] = id
}

// clear disarms everything, and mends the ways to the pods.
func (f *faults) clear() {
	f.mu.Lock()
	f.rules, f.names, f.known, f.waiting = nil, map[string]string{}, nil, nil
	f.mu.Unlock()
	for _, fwd := range f.s.forwarders() {
		fwd.mend()
	}
}

// await lets a fault of a pod wait for the next one that runs.
func (f *faults) await(name string, act podAct) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting = append(f.waiting, waitingFault{name, act})
}

// awaited gives the faults that wait for a pod, once.
func (f *faults) awaited() []waitingFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.waiting
	f.waiting = nil
	return w
}

// list names what is armed.
func (f *faults) list() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := []string{}
	for _, r := range f.rules {
		if r.live(time.Now()) {
			out = append(out, r.name)
		}
	}
	for _, w := range f.waiting {
		out = append(out, w.name)
	}
	return out
}

// pick finds the rule for a call and counts it.
func (f *faults) pick(c *call) *rule {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	for _, r := range f.rules {
		if !f.matches(r, c) || !r.live(now) {
			continue
		}
		r.seen++
		if r.seen <= r.skip {
			continue
		}
		if r.since.IsZero() {
			r.since = now
		}
		r.used++
		return r
	}
	return nil
}

func (f *faults) matches(r *rule, c *call) bool {
	who := "account"
	if c.by != nil {
		who = "pod"
	}
	switch {
	case len(r.on) > 0 && !slices.Contains(r.on, c.op):
		return false
	case r.who != "" && r.who != who:
		return false
	case r.gpu != "" && !strings.Contains(string(c.body), `"`+r.gpu+`"`):
		return false
	case r.of != "" && f.names[r.of] != c.id:
		return false
	}
	return true
}

// apply answers a call: as the first matching rule says, else really.
func (f *faults) apply(c *call, real func() reply) (reply, cutKind) {
	f.bind()
	r := f.pick(c)
	if r == nil {
		return real(), cutNone
	}
	c.fault = r.name
	out := r.out
	if out.before != nil {
		out.before(f.s, c)
	}
	if out.bend != nil {
		out.bend(&c.knobs)
	}
	var was reply
	if out.real || out.pass {
		was = real()
	}
	switch {
	case out.pass:
		return was, cutNone
	case out.existing && f.s.find(c.id) == nil:
		return real(), cutNone
	case out.cut != cutNone:
		return was, out.cut
	case out.real && was.status >= 400 && out.status < 400:
		// A success that cannot be had: a body that does not pass, say.
		return was, cutNone
	}
	return f.answer(c, out, was), cutNone
}

// answer makes the reply of a rule.
func (f *faults) answer(c *call, out outcome, was reply) reply {
	rep := reply{status: out.status, header: out.header, text: out.text}
	switch {
	case out.text != "" || out.status == http.StatusNoContent:
		return rep
	case out.body == nil && out.status < 400:
		rep.body, rep.stream = was.body, was.stream
		return rep
	case out.body == nil:
		rep.body = problem(out.status, strings.ToLower(http.StatusText(out.status))).body
		return rep
	}
	if c.op == opReadLog && out.status < 400 {
		return f.s.streamLog(c, scripted(out.body))
	}
	rep.body = f.fill(c, out, was)
	return rep
}

// cut ends a connection without a proper answer.
func (s *server) cut(w http.ResponseWriter, r *http.Request, kind cutKind, rep reply) {
	switch kind {
	case cutTimeout:
		t := time.NewTimer(timeoutMost)
		defer t.Stop()
		select {
		case <-r.Context().Done():
		case <-t.C:
		}
	case cutHalf:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "4096")
		w.WriteHeader(max(rep.status, http.StatusOK))
		_, _ = w.Write([]byte(`{"id":"`))
		_ = http.NewResponseController(w).Flush()
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, is := conn.(interface{ SetLinger(int) error }); is {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
