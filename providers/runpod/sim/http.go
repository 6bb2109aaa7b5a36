package sim

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	maxBody       = 102400
	maxSecretBody = 17 << 20
)

// call is one request of the API on its way to an answer.
type call struct {
	r    *http.Request
	op   string
	id   string // the object in the path
	body []byte
	// by is the pod whose own key asked; nil: the account's.
	by *pod
	// knobs bend what a create call makes, see faults.
	knobs knobs
	// object is the ID of what was made or changed, for the journal.
	object string
	fault  string
}

// ServeHTTP answers the API and the control part.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasPrefix(r.URL.Path, "/sim/"):
		s.control(w, r)
	case strings.HasPrefix(r.URL.Path, "/v2/"):
		s.api(w, r)
	default:
		w.Header().Set("x-request-id", newID(20))
		notFound().write(w, r)
	}
}

func (s *server) api(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	s.mu.Lock()
	s.requests++
	s.asked = now
	s.dirty = true
	s.mu.Unlock()
	w.Header().Set("x-request-id", newID(20))

	c := &call{r: r}
	entry := Request{Time: now.UTC(), Method: r.Method, Path: r.URL.RequestURI(), Agent: r.UserAgent()}
	rep, cut := s.answer(c, w.Header())
	entry.Op, entry.Body, entry.Fault, entry.Object = c.op, recordedBody(c.op, c.body), c.fault, c.object
	entry.By = "account"
	if c.by != nil {
		entry.By = c.by.id
	}
	if cut == cutNone {
		entry.Status = rep.status
	}
	s.journal.add(entry)
	if cut != cutNone {
		s.cut(w, r, cut, rep)
		return
	}
	rep.write(w, r)
}

// answer decides what a request gets: the edge first, then the key, then the
// path, then armed faults, then the real thing.
func (s *server) answer(c *call, h http.Header) (reply, cutKind) {
	if blockedAgent(c.r.UserAgent()) {
		return reply{status: http.StatusForbidden, text: "error code: 1010"}, cutNone
	}
	ep, id, allow := match(c.r)
	limit := int64(maxBody)
	if ep != nil {
		c.op, c.id, c.object = ep.op, id, id
		if ep.op == opCreateSecret || ep.op == opUpdateSecret {
			limit = maxSecretBody
		}
	}
	if r, known := s.tooLarge(c, limit); known {
		return r, cutNone
	}
	if r, refused := s.authenticate(c); refused {
		return r, cutNone
	}
	s.quota.headers(h)
	switch {
	case ep == nil && allow != "":
		r := problem(http.StatusMethodNotAllowed, "The requested method is not allowed for this path.")
		r.header = map[string]string{"Allow": allow}
		return r, cutNone
	case ep == nil:
		return notFound(), cutNone
	}
	if c.by != nil && !ownBusiness(c) {
		return problem(http.StatusForbidden, "access denied"), cutNone
	}
	return s.faults.apply(c, func() reply { return ep.do(s, c) })
}

func (s *server) tooLarge(c *call, limit int64) (reply, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, c.r.Body, limit))
	c.body = body
	var big *http.MaxBytesError
	if errors.As(err, &big) {
		return problem(http.StatusRequestEntityTooLarge, "request body too large"), true
	}
	if err != nil {
		return badRequest("request body cannot be read"), true
	}
	return reply{}, false
}

// authenticate finds whose key asks. Any key that no pod has is the account's.
func (s *server) authenticate(c *call) (reply, bool) {
	key, ok := strings.CutPrefix(c.r.Header.Get("Authorization"), "Bearer ")
	if !ok || strings.TrimSpace(key) == "" {
		return problem(http.StatusUnauthorized, "missing bearer token"), true
	}
	if !strings.HasPrefix(key, podKeyPrefix) {
		return reply{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pods {
		if p.key == key {
			c.by = p
			return reply{}, false
		}
	}
	// The key of a pod that is deleted: its last questions are answered as
	// what it asks about, unknown.
	c.by = &pod{id: strings.TrimPrefix(key[:strings.LastIndex(key, "_")], podKeyPrefix)}
	return reply{}, false
}

// ownBusiness reports whether a pod's own key may do this.
func ownBusiness(c *call) bool {
	switch c.op {
	case opReadPod, opDeletePod, opActPod, opReadLog:
		return c.id == c.by.id
	}
	return false
}

// blockedAgent tells the names that libraries send by themselves; the edge in
// front of the API turns these away.
func blockedAgent(agent string) bool {
	if strings.TrimSpace(agent) == "" {
		return true
	}
	for _, p := range []string{"Go-http-client/", "Python-urllib/", "python-requests/", "Java/", "libwww-perl/"} {
		if strings.HasPrefix(agent, p) {
			return true
		}
	}
	return false
}
