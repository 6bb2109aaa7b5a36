package statetest

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"

	"github.com/overbrainer/overbrainer/state"
)

// HTTPServer speaks the protocol of Terraform's http backend strictly: nothing is
// written without the lock's ID, and a lock is given to one at a time.
type HTTPServer struct {
	User, Password string

	mu   sync.Mutex
	doc  []byte
	lock *state.Lock
}

// ServeHTTP answers GET, POST, LOCK and UNLOCK.
func (s *HTTPServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	status, answer := s.answer(r, body)
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

func (s *HTTPServer) answer(r *http.Request, body []byte) (int, []byte) {
	if user, password, _ := r.BasicAuth(); user != s.User || password != s.Password {
		return http.StatusUnauthorized, nil
	}
	id := r.URL.Query().Get("ID")
	switch r.Method {
	case http.MethodGet:
		if s.doc == nil {
			return http.StatusNotFound, nil
		}
		return http.StatusOK, s.doc
	case http.MethodPost:
		if s.lock == nil || s.lock.ID != id {
			return s.locked(http.StatusConflict)
		}
		s.doc = body
		return http.StatusOK, nil
	case "LOCK":
		var lock state.Lock
		if json.Unmarshal(body, &lock) != nil || lock.ID == "" {
			return http.StatusBadRequest, nil
		}
		if s.lock != nil {
			return s.locked(http.StatusLocked)
		}
		s.lock = &lock
		return http.StatusOK, nil
	case "UNLOCK":
		var lock state.Lock
		if json.Unmarshal(body, &lock) != nil || s.lock == nil || s.lock.ID != lock.ID {
			return s.locked(http.StatusConflict)
		}
		s.lock = nil
		return http.StatusOK, nil
	}
	return http.StatusMethodNotAllowed, nil
}

func (s *HTTPServer) locked(status int) (int, []byte) {
	data, _ := json.Marshal(s.lock)
	return status, data
}

// Put replaces the document.
func (s *HTTPServer) Put(doc []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doc = doc
}
