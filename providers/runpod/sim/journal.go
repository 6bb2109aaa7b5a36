package sim

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// Request is one request that reached the simulated API. Its headers are not
// kept, so no key is.
type Request struct {
	Seq    int64     `json:"seq"`
	Time   time.Time `json:"time"`
	Method string    `json:"method"`
	Path   string    `json:"path"` // with the query
	// Op is the operation: "create pod", "list gpu types", … or "" where there
	// is none of that path.
	Op string `json:"op,omitempty"`
	// By is "account", or the pod whose own key asked.
	By     string `json:"by,omitempty"`
	Status int    `json:"status"` // 0: the connection was cut
	// Body is the request's, the value of a secret replaced by its length.
	Body  json.RawMessage `json:"body,omitempty"`
	Agent string          `json:"user_agent,omitempty"`
	// Fault names the fault that changed the answer.
	Fault string `json:"fault,omitempty"`
	// Object is the ID of what was created, read or deleted.
	Object string `json:"object,omitempty"`
}

// keepRequests bounds the part of the journal that is held in memory.
const keepRequests = 100000

// journal records requests, in a file and in memory.
type journal struct {
	mu   sync.Mutex
	file *os.File
	seq  int64
	all  []Request
}

func openJournal(path string) (*journal, error) {
	j := &journal{}
	if f, err := os.Open(path); err == nil {
		in := bufio.NewScanner(f)
		in.Buffer(nil, 32<<20)
		for in.Scan() {
			var r Request
			if json.Unmarshal(in.Bytes(), &r) == nil {
				j.all = append(j.all, r)
				j.seq = r.Seq
			}
		}
		_ = f.Close()
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	j.file = f
	return j, nil
}

func (j *journal) add(r Request) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	r.Seq = j.seq
	j.all = append(j.all, r)
	if len(j.all) > keepRequests+keepRequests/4 {
		j.all = append([]Request(nil), j.all[len(j.all)-keepRequests:]...)
	}
	if data, err := json.Marshal(r); err == nil {
		_, _ = j.file.Write(append(data, '\n'))
	}
}

// since gives the requests after seq.
func (j *journal) since(seq int64) []Request {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := []Request{}
	for _, r := range j.all {
		if r.Seq > seq {
			out = append(out, r)
		}
	}
	return out
}

// reset forgets everything.
func (j *journal) reset() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.all = nil
	_ = j.file.Truncate(0)
}

func (j *journal) close() { _ = j.file.Close() }

// recordedBody is what the journal keeps of a request's body.
func recordedBody(op string, body []byte) json.RawMessage {
	if len(body) == 0 {
		return nil
	}
	var v any
	if json.Unmarshal(body, &v) != nil {
		text, _ := json.Marshal(fmt.Sprintf("%d bytes, not JSON", len(body)))
		return text
	}
	if m, ok := v.(map[string]any); ok && (op == opCreateSecret || op == opUpdateSecret || op == opCreateRegistry) {
		for _, key := range []string{"value", "password"} {
			if s, ok := m[key].(string); ok {
				m[key] = fmt.Sprintf("(%d bytes)", len(s))
			}
		}
	}
	out, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return out
}
