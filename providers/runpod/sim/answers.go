package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// answersFile is a sequence of answers, per operation, as cases describe them.
// Fields that are for people or for a test's own use are ignored.
type answersFile struct {
	// State and Account say in words what exists before.
	State   string `json:"state"`
	Account string `json:"account"`
	// SSH says in words how the pods' SSH behaves.
	SSH     string         `json:"ssh"`
	Answers []scriptAnswer `json:"answers"`
}

// scriptAnswer is one answer.
type scriptAnswer struct {
	On       string            `json:"on"`
	Status   any               `json:"status"` // a number, reset, refused or timeout
	Body     any               `json:"body"`
	Headers  map[string]string `json:"headers"`
	Times    any               `json:"times"` // a number, "for ever", "for 20 s"
	Of       string            `json:"of"`
	Sequence int               `json:"sequence"`
	// Really says in words what the account truly holds after the answer.
	Really string `json:"really"`
}

var (
	forSpan     = regexp.MustCompile(`^for (\d+) ?(s|seconds?|min|minutes?|h|hours?)$`)
	deniesWords = regexp.MustCompile(`(?i)\b(no|not|nothing|never|none)\b`)
)

// script is an answers file made ready.
type script struct {
	rules   []*rule
	known   []string // names of pods that no answer creates
	account string
	exited  []map[string]any // what a list says of stand-in pods
}

// readAnswers turns one sequence of an answers file into rules. catalog is
// the GPU list that stands for "catalog.json" in it.
func (s *server) readAnswers(data, catalog []byte, sequence int) (*script, error) {
	in := json.NewDecoder(bytes.NewReader(data))
	in.UseNumber()
	var file answersFile
	if err := in.Decode(&file); err != nil {
		return nil, fmt.Errorf("answers: %w", err)
	}
	var list []scriptAnswer
	for _, a := range file.Answers {
		if max(1, a.Sequence) == max(1, sequence) {
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("answers: none in sequence %d", max(1, sequence))
	}
	out := &script{account: file.Account}
	created := map[string]bool{}
	for i, a := range list {
		if !knownOp(a.On) {
			return nil, fmt.Errorf("answers: unknown operation %q", a.On)
		}
		if a.alias() != "" && a.On == opCreatePod {
			created[a.alias()] = true
		}
		if naturally404(list, i) {
			continue
		}
		r, err := s.scriptRule(a, catalog)
		if err != nil {
			return nil, err
		}
		r.stays = lastOf(list, i)
		if strings.Contains(file.SSH, "nvidia-smi -L prints nothing") && a.On == opCreatePod {
			r.out.bend = both(r.out.bend, func(k *knobs) { k.lessGPUs = 1 << 20 })
		}
		if vanished(r) {
			r.out.before = func(s *server, c *call) { s.deletePodByID(c.id) }
		}
		out.rules = append(out.rules, r)
	}
	for _, a := range list {
		for _, n := range a.mentions() {
			if !created[n] && !slices.Contains(out.known, n) {
				out.known = append(out.known, n)
			}
		}
		if m, is := a.Body.(map[string]any); is && a.On == opListPods {
			for _, item := range orEmpty(anyList(m["pods"])) {
				if p, is := item.(map[string]any); is {
					out.exited = append(out.exited, p)
				}
			}
		}
	}
	slices.Sort(out.known)
	return out, nil
}

func anyList(v any) []any { l, _ := v.([]any); return l }

// lastOf reports whether no later answer takes over from the i-th.
func lastOf(list []scriptAnswer, i int) bool {
	for _, b := range list[i+1:] {
		of, by := list[i].object(), b.object()
		if b.On == list[i].On && (of == "" || by == "" || of == by) {
			return false
		}
	}
	return true
}

// naturally404 tells a read that is 404 since a delete before it succeeded:
// the account answers that by itself, and only then.
func naturally404(list []scriptAnswer, i int) bool {
	if a := list[i]; a.On != opReadPod || a.code() != 404 || a.Of != "" {
		return false
	}
	return slices.ContainsFunc(list[:i], func(a scriptAnswer) bool {
		return a.On == opDeletePod && a.code() >= 200 && a.code() < 300
	})
}

// vanished tells a read that is 404 from then on: the pod is really gone.
func vanished(r *rule) bool {
	return slices.Equal(r.on, []string{opReadPod}) && r.out.status == 404 && (r.times < 0 || r.stays)
}

func (a scriptAnswer) code() int {
	n, is := a.Status.(json.Number)
	if !is {
		return 0
	}
	code, _ := strconv.Atoi(n.String())
	return code
}

// alias is the name under which the answer's pod is known in the file.
func (a scriptAnswer) alias() string {
	if m, is := a.Body.(map[string]any); is {
		if id, is := m["id"].(string); is && podName.MatchString(id) {
			return id
		}
	}
	if found := podName.FindStringSubmatch(a.Really); found != nil {
		return found[1]
	}
	return ""
}

// object is the pod whose calls the answer is for; "" means any.
func (a scriptAnswer) object() string {
	if a.Of != "" || a.On != opReadPod {
		return a.Of
	}
	return a.alias()
}

// mentions lists every name of a pod in the answer.
func (a scriptAnswer) mentions() []string {
	out := []string{a.object()}
	if m, is := a.Body.(map[string]any); is {
		for _, item := range anyList(m["pods"]) {
			name, _ := item.(string)
			if p, is := item.(map[string]any); is {
				name, _ = p["id"].(string)
			}
			if found := podName.FindStringSubmatch(name); found != nil {
				out = append(out, found[1])
			}
		}
	}
	return slices.DeleteFunc(out, func(n string) bool { return n == "" })
}

// span reads how often or how long an answer is given.
func (s *server) span(r *rule, v any) error {
	switch v := v.(type) {
	case nil:
		return nil
	case json.Number:
		n, err := strconv.Atoi(v.String())
		if err != nil || n < 1 {
			return fmt.Errorf("answers: times %s", v)
		}
		r.times = n
		return nil
	case string:
		if v == "for ever" || v == "forever" {
			r.times = -1
			return nil
		}
		if m := forSpan.FindStringSubmatch(v); m != nil {
			n, err := strconv.Atoi(m[1])
			unit := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour}[m[2][0]]
			r.lasts = s.scaled(time.Duration(n) * unit)
			return err
		}
	}
	return fmt.Errorf("answers: times %v is neither a number, \"for ever\" nor \"for 20 s\"", v)
}

func knownOp(op string) bool {
	for _, methods := range routes {
		for _, ep := range methods {
			if ep.op == op {
				return true
			}
		}
	}
	return false
}

// Operations are the calls that a fault can be for, sorted.
func Operations() []string {
	seen := map[string]bool{}
	for _, methods := range routes {
		for _, ep := range methods {
			seen[ep.op] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
