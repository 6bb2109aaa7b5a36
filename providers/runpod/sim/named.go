package sim

import (
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Fault is a fault to arm.
type Fault struct {
	// Name is one of FaultNames, with its argument behind a colon.
	Name string `json:"name"`
	// At is the matching call that meets it first; 0 and 1 are the next one.
	At int `json:"at,omitempty"`
	// Times is how many calls meet it; 0 leaves that to the fault, a negative
	// number means every one until reset.
	Times int `json:"times,omitempty"`
	// On limits a fault of any call to one operation.
	On string `json:"on,omitempty"`
	// By limits it to calls of the "account" or of a "pod" by its own key; ""
	// leaves that to the fault.
	By string `json:"by,omitempty"`
	// GPU limits a fault of create calls to those of one GPU type.
	GPU string `json:"gpu,omitempty"`
}

// FaultName describes a fault that can be armed.
type FaultName struct {
	Name string `json:"name"`
	Does string `json:"does"`
}

// namedFault makes rules, or does at once what is to be done.
type namedFault struct {
	does  string
	on    []string
	who   string // account unless said
	times int    // default
	out   outcome
	// arg adds an argument to the rule.
	arg func(r *rule, arg string, s *server) error
	// check looks at the rule once it is whole.
	check func(r *rule) error
	// now reads the argument and gives what is done to a pod: the newest one at
	// once, or the next one as soon as it runs.
	now func(arg string) (podAct, error)
}

// podAct does something to a pod that runs.
type podAct func(s *server, p *pod)

const forEver = -1

// FaultNames lists the faults by name.
func FaultNames() []FaultName {
	var out []FaultName
	for name, f := range namedFaults {
		out = append(out, FaultName{Name: name, Does: f.does})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// arm arms a fault by name.
func (s *server) arm(f Fault) error {
	name, arg, hasArg := strings.Cut(f.Name, ":")
	n, known := namedFaults[name]
	if !known {
		return fmt.Errorf("unknown fault %q", name)
	}
	if hasArg && n.arg == nil && n.now == nil {
		return fmt.Errorf("fault %s takes no argument", name)
	}
	r := &rule{name: f.Name, on: n.on, who: n.who, skip: max(0, f.At-1), times: n.times, out: n.out}
	switch r.who {
	case "":
		r.who = "account"
	case "any":
		r.who = ""
	}
	if f.By == "account" || f.By == "pod" {
		r.who = f.By
	}
	r.gpu = f.GPU
	if f.On != "" {
		if !knownOp(f.On) {
			return fmt.Errorf("unknown operation %q; there are: %s", f.On, strings.Join(Operations(), ", "))
		}
		if len(n.on) > 0 && !slices.Contains(n.on, f.On) {
			return fmt.Errorf("fault %s is for %s", name, strings.Join(n.on, ", "))
		}
		r.on = []string{f.On}
	}
	if n.arg != nil && hasArg {
		if err := n.arg(r, arg, s); err != nil {
			return fmt.Errorf("fault %s: %w", name, err)
		}
	}
	if n.check != nil {
		if err := n.check(r); err != nil {
			return fmt.Errorf("fault %s: %w", name, err)
		}
	}
	if f.Times != 0 {
		r.times = f.Times
	}
	if n.now == nil {
		s.faults.add(r)
		return nil
	}
	act, err := n.now(arg)
	if err != nil {
		return fmt.Errorf("fault %s: %w", name, err)
	}
	if f.At <= 1 {
		s.actOn(s.newest(), f.Name, act)
		return nil
	}
	r.out.pass = true
	r.out.before = func(s *server, c *call) {
		if p := s.find(c.id); p != nil {
			s.actOn(p, f.Name, act)
		}
	}
	s.faults.add(r)
	return nil
}

// actOn does something to a pod that runs; where it does not, or is nil, the
// fault waits for the next one that does.
func (s *server) actOn(p *pod, name string, act podAct) {
	s.faults.await(name, act)
	if p != nil && s.up(p) {
		for _, w := range s.faults.awaited() {
			w.act(s, p)
		}
	}
}

// up reports whether a pod's main process was started.
func (s *server) up(p *pod) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.running() && p.proc != nil
}

// newest gives the newest pod whose container was started.
func (s *server) newest() *pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.podList() {
		if p.running() {
			return p
		}
	}
	return nil
}

// answered is an outcome that answers with an error, with or without effect.
func answered(status int, real bool) outcome { return outcome{status: status, real: real} }

func detailed(status int, detail string, errs ...string) outcome {
	r := problem(status, detail, errs...)
	return outcome{status: status, body: clone(r.body)}
}

func cutting(kind cutKind, real bool) outcome { return outcome{cut: kind, real: real} }

func bending(bend func(*knobs)) outcome { return outcome{pass: true, bend: bend} }

func seconds(text string) (time.Duration, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a number of seconds", text)
	}
	return time.Duration(n * float64(time.Second)), nil
}

// ofType limits a fault of create calls to one GPU type.
func ofType(r *rule, arg string, s *server) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cat.gpu(arg) == nil {
		return fmt.Errorf("unknown GPU type %q", arg)
	}
	r.gpu, r.times = arg, forEver
	return nil
}

// retryAfter sets the seconds that a 429 asks to wait.
func retryAfter(r *rule, arg string, _ *server) error {
	if n, err := strconv.Atoi(arg); err != nil || n < 0 {
		return fmt.Errorf("%q is not a whole number of seconds", arg)
	}
	r.out.header = map[string]string{"Retry-After": arg}
	return nil
}

// lasting makes a fault last for real seconds from its first call on.
func lasting(r *rule, arg string, _ *server) error {
	d, err := seconds(arg)
	r.lasts = d
	return err
}

var tooMany = outcome{status: http.StatusTooManyRequests, header: map[string]string{"Retry-After": "1"},
	body: map[string]any{"title": "Too Many Requests", "status": 429, "detail": "rate limit exceeded for the minute window"}}
