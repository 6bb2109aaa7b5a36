package httpstate

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// maxBody is the largest answer that is read, in bytes.
const maxBody = 1 << 30

// answer is what the server said.
type answer struct {
	status int
	body   []byte
}

// send does one request and tries again what got no answer, or one of a server
// that is not well. Every request of the protocol may be repeated: the lock's
// ID tells a second one from somebody else's.
func (b *Backend) send(ctx context.Context, method, address string, body []byte) (answer, error) {
	wait := b.cfg.RetryWaitMin
	for try := 0; ; try++ {
		a, err := b.once(ctx, method, address, body)
		tired := err == nil && a.status < 500 && a.status != http.StatusTooManyRequests
		if tired || try >= b.cfg.RetryMax || ctx.Err() != nil {
			return a, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return a, err
		}
		wait = min(wait*2, b.cfg.RetryWaitMax)
	}
}

func (b *Backend) once(ctx context.Context, method, address string, body []byte) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
		sum := md5.Sum(body)
		req.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
	}
	if b.cfg.Username != "" || b.cfg.Password != "" {
		req.SetBasicAuth(b.cfg.Username, b.cfg.Password)
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err == nil && len(data) > maxBody {
		err = fmt.Errorf("the answer has more than %d bytes", maxBody)
	}
	return answer{status: resp.StatusCode, body: data}, err
}

// unreachable words a request without an answer. The URL that net/http puts in
// front may hold a password.
func (b *Backend) unreachable(err error) error {
	if errors.Is(err, context.Canceled) {
		return context.Canceled
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	e := &state.BackendError{Trouble: state.Unreachable, Where: b.where, Err: err, Hint: "is the server up, and the address right?"}
	var cert *tls.CertificateVerificationError
	if errors.As(err, &cert) {
		e.Hint = "client_ca_certificate_pem names the authority that the server's certificate is from"
	}
	return e
}

// refused words an answer that is none of the protocol's. The body is the
// server's and not shown.
func (b *Backend) refused(doing string, a answer) error {
	e := &state.BackendError{Trouble: state.Refused, Where: b.where, Err: fmt.Errorf("%s was answered with %d %s", doing, a.status, http.StatusText(a.status))}
	switch a.status {
	case http.StatusUnauthorized:
		e.Trouble, e.Hint = state.Denied, "OVERBRAINER_HTTP_USERNAME and OVERBRAINER_HTTP_PASSWORD say who asks"
	case http.StatusForbidden:
		e.Trouble, e.Hint = state.Denied, "the user may not do this there; GitLab asks for the Maintainer role to lock and write"
	case http.StatusNotFound:
		e.Trouble, e.Hint = state.Missing, "is the address right?"
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		e.Trouble = state.Unsuitable
		e.Hint = `the server wants other methods; GitLab's are lock_method = "POST" and unlock_method = "DELETE"`
	case http.StatusRequestEntityTooLarge:
		e.Hint = "the server takes no state of this size"
	}
	if a.status >= 500 && a.status != http.StatusNotImplemented {
		e.Trouble, e.Hint = state.Unreachable, "the server is not well; try again later"
	}
	return e
}
