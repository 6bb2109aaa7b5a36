package runpod

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/overbrainer/overbrainer/internal/safetext"
	"github.com/overbrainer/overbrainer/providers"
)

// problem is the API's form of an error.
type problem struct {
	Title  string            `json:"title"`
	Detail string            `json:"detail"`
	Status json.RawMessage   `json:"status"`
	Errors []json.RawMessage `json:"errors"`
}

// readProblem reads an error body; ok is false unless it is a JSON object.
func readProblem(body []byte) (p problem, ok bool) {
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		return p, false
	}
	// Fields of another type than expected leave theirs empty, not the rest.
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return p, false
	}
	_ = json.Unmarshal(fields["title"], &p.Title)
	_ = json.Unmarshal(fields["detail"], &p.Detail)
	_ = json.Unmarshal(fields["errors"], &p.Errors)
	p.Status = fields["status"]
	return p, true
}

// knowsNothing reports whether a 404 says that the object does not exist. Only
// the API's own form does: a proxy's page or an empty answer says nothing about
// pods.
func knowsNothing(a answer) bool {
	if a.status != http.StatusNotFound {
		return false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(a.body, &fields) != nil || fields == nil {
		return false
	}
	if raw, has := fields["status"]; has {
		var status float64
		if json.Unmarshal(raw, &status) == nil {
			return status == http.StatusNotFound
		}
	}
	_, title := fields["title"]
	_, detail := fields["detail"]
	return title || detail
}

// isJSON tells an answer of the API from one of what stands in front of it.
func isJSON(a answer) bool {
	kind, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	if kind == "application/json" || strings.HasSuffix(kind, "+json") {
		return true
	}
	_, ok := readProblem(a.body)
	return ok
}

// detail is what an answer says of itself: the detail or else the title, and
// the list of errors; text that is no JSON as it is. It is empty where the text
// holds a secret in some disguise.
func (c *client) detail(a answer) string {
	text := string(a.body)
	if p, ok := readProblem(a.body); ok {
		parts := []string{first(p.Detail, p.Title)}
		for _, e := range p.Errors {
			parts = append(parts, errorText(e))
		}
		text = joinText(parts)
	}
	text = strings.TrimSpace(safetext.Printable(c.redact.String(text)))
	text = c.redact.String(text)
	if c.redact.Reveals(text) {
		return ""
	}
	return safetext.Cut(text, maxDetail)
}

// errorText reads one entry of the list of errors: a string, or an object with
// a message or detail, or whatever it is.
func errorText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var o struct{ Message, Detail string }
	if json.Unmarshal(raw, &o) == nil && first(o.Message, o.Detail) != "" {
		return first(o.Message, o.Detail)
	}
	return string(raw)
}

func joinText(parts []string) string {
	var kept []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "; ")
}

// fail says what a failure of any call but a create means.
func (c *client) fail(k call, f *failure) *providers.Error {
	e := &providers.Error{Op: k.op, Status: f.status}
	unclear := providers.Transient
	if k.effect {
		unclear = providers.Ambiguous
	}
	if f.transport != nil {
		e.Kind, e.Message = unclear, "no usable answer from the API"
		if f.tooLarge {
			e.Kind, e.Message = providers.Unknown, f.transport.Error()
		} else {
			e.Detail = c.plainCause(f.transport)
		}
		return e
	}
	e.RetryAfter = max(f.left, retryAfter(f.answer), 0)
	switch f.status {
	case http.StatusUnauthorized:
		e.Kind, e.Message = providers.Unauthenticated, "the API key from "+c.keySource+" was refused"
		return e
	case http.StatusForbidden:
		c.forbidden(e, f.answer)
		return e
	case http.StatusNotFound:
		e.Kind, e.Message = providers.Unknown, "answered 404, though not in the API's form"
		if knowsNothing(f.answer) {
			e.Kind, e.Message = providers.NotFound, "the API does not know it"
		} else if !k.effect {
			e.Kind = providers.Transient
		}
	case http.StatusBadRequest:
		e.Kind, e.Message = providers.Rejected, "the API refused the request (400)"
	case http.StatusPaymentRequired:
		e.Kind, e.Message = providers.NoCredits, "the account's balance is too low"
	case http.StatusConflict:
		e.Kind, e.Message = providers.Conflict, "the API says that this conflicts with what there is (409)"
	case http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		e.Kind, e.Message = providers.Invalid, fmt.Sprintf("the API finds the request invalid (%d)", f.status)
	case http.StatusTooManyRequests:
		e.Kind, e.Message = providers.RateLimited, "too many requests; the API's limit is used up"
	case http.StatusRequestTimeout:
		e.Kind, e.Message = unclear, "the API timed out (408)"
	default:
		e.Kind, e.Message = providers.Unknown, fmt.Sprintf("the API answered %d", f.status)
		if f.status >= 500 {
			e.Kind = unclear
		} else if f.status >= 300 && f.status < 400 {
			e.Message += ", a redirect, which is never followed"
		}
	}
	e.Detail = c.detail(f.answer)
	return e
}

// forbidden tells a key without the right from a request that was stopped in
// front of the API.
func (c *client) forbidden(e *providers.Error, a answer) {
	e.Kind = providers.Forbidden
	e.Message = "permission denied; the API key from " + c.keySource + " lacks access to this"
	if !isJSON(a) {
		e.Message = "permission denied in front of the API, which is not a matter of the key"
		e.Detail = c.detail(a)
	}
}

// plainCause is the cause of a transport error without addresses that could
// hold a credential.
func (c *client) plainCause(err error) string {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var timeout net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return "timed out"
	}
	return safetext.Cut(c.redact.String(safetext.Printable(err.Error())), maxDetail)
}
