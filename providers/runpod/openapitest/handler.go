package openapitest

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// Handler passes requests on to next and reports every request and answer that
// does not fit the description. Of an answer that streams, only status and
// content type are checked. Requests that are wrong on purpose, whose answer is
// a refusal, are not reported.
func (s *Spec) Handler(next http.Handler, report func(error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			report(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		rec := &recorder{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(rec, r)
		if r.Context().Err() != nil {
			return // nobody reads the answer
		}
		path := r.URL.EscapedPath()
		if rec.status < 400 {
			if err := s.Request(r.Method, path, r.URL.Query(), body); err != nil {
				report(err)
			}
		}
		if err := s.Answer(r.Method, path, rec.status, rec.Header().Get("Content-Type"), rec.body.Bytes()); err != nil {
			report(err)
		}
	})
}

// recorder keeps what passes through a ResponseWriter.
type recorder struct {
	http.ResponseWriter
	status int
	wrote  bool
	body   bytes.Buffer
}

func (r *recorder) WriteHeader(status int) {
	if !r.wrote {
		r.status, r.wrote = status, true
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	r.wrote = true
	if !strings.HasPrefix(r.Header().Get("Content-Type"), "text/event-stream") {
		r.body.Write(p)
	}
	return r.ResponseWriter.Write(p)
}

// Unwrap gives http.ResponseController the writer below.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Flush lets a stream through.
func (r *recorder) Flush() {
	if f, ok := r.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}
