package sim

import (
	"encoding/json"
	"maps"
	"regexp"
	"strings"
)

// An answers file describes pods by names of its own (pod_a) and by text in
// the place of what only the account knows. This file puts the account's own
// data there.

var podName = regexp.MustCompile(`^(pod_[a-z0-9]+)\b`)

// fill makes an answer's body from its template. What the template leaves out
// is the real object's.
func (f *faults) fill(c *call, out outcome, was reply) any {
	body := clone(out.body)
	m, is := body.(map[string]any)
	if !is || out.status >= 400 {
		return body
	}
	if list, is := m["pods"].([]any); is {
		m["pods"] = f.fillList(list)
		if m["pagination"] == nil {
			m["pagination"] = map[string]any{"nextCursor": nil, "hasNextPage": false}
		}
		return m
	}
	if c.op == opCreatePod || c.op == opReadPod || c.op == opUpdatePod {
		id := c.id
		if id == "" {
			id = c.object
		}
		return f.fillPod(m, id)
	}
	if real, is := clone(was.body).(map[string]any); is {
		return overlay(real, m)
	}
	return m
}

// fillList makes a list of pods from templates and from sentences that begin
// with a pod's name. A pod that is gone is left out, one that is not mentioned
// added, unless the list is empty on purpose.
func (f *faults) fillList(list []any) []any {
	out := []any{}
	told := map[string]bool{}
	for _, item := range list {
		name, m := "", map[string]any{}
		switch v := item.(type) {
		case string:
			if found := podName.FindStringSubmatch(v); found != nil {
				name = found[1]
			}
		case map[string]any:
			m = v
			name, _ = v["id"].(string)
		}
		f.mu.Lock()
		id := f.names[name]
		f.mu.Unlock()
		if f.s.find(id) != nil {
			told[id] = true
			out = append(out, f.fillPod(m, id))
		}
	}
	if len(list) == 0 {
		return out
	}
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	for _, p := range f.s.podList() {
		if !told[p.id] {
			out = append(out, p.view())
		}
	}
	return out
}

// fillPod lays a template over the real pod. Without one, what text stands for
// is left out.
func (f *faults) fillPod(m map[string]any, id string) any {
	var real map[string]any
	f.s.mu.Lock()
	p := f.s.pods[id]
	if p != nil {
		real, _ = clone(p.view()).(map[string]any)
		m = maps.Clone(m)
		delete(m, "id")
		if cost, is := m["cost"].(json.Number); is && m["gpu"] == nil {
			if usd, err := cost.Float64(); err == nil && f.s.priceOfAnother(p, usd) {
				delete(m, "cost")
			}
		}
	}
	f.s.mu.Unlock()
	if real == nil {
		real = map[string]any{}
	}
	out := overlay(real, m)
	if ssh, is := out["ssh"].(map[string]any); is {
		direct, is := ssh["direct"].(map[string]any)
		if is && direct["port"] == nil {
			ssh["direct"] = nil // not mapped yet
		}
	}
	return out
}

// overlay lays over on base, object by object. Text in angle brackets keeps
// what base has.
func overlay(base, over map[string]any) map[string]any {
	for k, v := range over {
		switch v := v.(type) {
		case string:
			if strings.HasPrefix(v, "<") && strings.HasSuffix(v, ">") {
				continue
			}
			base[k] = v
		case map[string]any:
			inner, is := base[k].(map[string]any)
			if !is {
				inner = map[string]any{}
			}
			base[k] = overlay(inner, v)
		default:
			base[k] = v
		}
	}
	return base
}

// clone copies JSON values, keeping numbers as they are written.
func clone(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	in := json.NewDecoder(strings.NewReader(string(data)))
	in.UseNumber()
	var out any
	_ = in.Decode(&out)
	return out
}

// scripted is a log that says what an answer lists, and nothing after it.
func scripted(body any) *podLog {
	log := newPodLog()
	m, _ := body.(map[string]any)
	lines, _ := m["lines"].([]any)
	for _, l := range lines {
		if text, is := l.(string); is {
			log.system("%s", text)
		}
	}
	return log
}
