// Package httpstate keeps a state behind the protocol that Terraform's http
// backend speaks: GET, POST, LOCK and UNLOCK of one address, with 409 or 423
// and the lock's JSON for what is locked. GitLab and others serve it.
package httpstate

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// Config is the backend block, by Terraform's names.
type Config struct {
	Address       string // of the state: http or https
	UpdateMethod  string // default POST
	LockAddress   string // required: without it writers overwrite each other
	LockMethod    string // default LOCK
	UnlockAddress string // default LockAddress
	UnlockMethod  string // default UNLOCK
	Username      string
	Password      string

	SkipCertVerification bool
	ClientCAPEM          string // the only authorities trusted; default the system's
	ClientCertPEM        string
	ClientKeyPEM         string

	RetryMax     int           // further tries of a request
	RetryWaitMin time.Duration // before the first of them; it doubles
	RetryWaitMax time.Duration
	// Timeout of one request; default 2 minutes.
	Timeout time.Duration
}

// Backend is the place. See state.Backend.
type Backend struct {
	cfg    Config
	where  string
	client *http.Client
}

// New checks the configuration; nothing is sent yet.
func New(cfg Config) (*Backend, error) {
	where, err := checked("address", cfg.Address)
	if err != nil {
		return nil, err
	}
	if cfg.LockAddress == "" {
		return nil, errors.New("lock_address is missing: without a lock two commands overwrite each other's state")
	}
	if cfg.UnlockAddress == "" {
		cfg.UnlockAddress = cfg.LockAddress
	}
	for name, address := range map[string]string{"lock_address": cfg.LockAddress, "unlock_address": cfg.UnlockAddress} {
		if _, err := checked(name, address); err != nil {
			return nil, err
		}
	}
	or(&cfg.UpdateMethod, http.MethodPost)
	or(&cfg.LockMethod, "LOCK")
	or(&cfg.UnlockMethod, "UNLOCK")
	if cfg.RetryMax < 0 || cfg.RetryWaitMin < 0 || cfg.RetryWaitMax < cfg.RetryWaitMin {
		return nil, errors.New("retry_max, retry_wait_min and retry_wait_max are not negative, and the longest wait is not below the shortest")
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 2 * time.Minute
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if transport.TLSClientConfig, err = tlsConfig(cfg); err != nil {
		return nil, err
	}
	client := &http.Client{Transport: transport, Timeout: cfg.Timeout, CheckRedirect: stay}
	return &Backend{cfg: cfg, where: where, client: client}, nil
}

// stay follows no redirect: it would make a GET of a write.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func or(to *string, value string) {
	if *to == "" {
		*to = value
	}
}

// checked gives the address without what is secret in it.
func checked(name, address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", errors.New(name + " must be an http or https URL")
	}
	if u.User != nil {
		return "", errors.New(name + " must not hold a user or password: OVERBRAINER_HTTP_USERNAME and OVERBRAINER_HTTP_PASSWORD do")
	}
	return public(u), nil
}

func public(u *url.URL) string {
	p := *u
	p.RawQuery, p.Fragment = "", ""
	return p.String()
}

func tlsConfig(cfg Config) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: cfg.SkipCertVerification}
	if cfg.ClientCAPEM != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(cfg.ClientCAPEM)) {
			return nil, errors.New("client_ca_certificate_pem holds no certificate")
		}
	}
	if (cfg.ClientCertPEM == "") != (cfg.ClientKeyPEM == "") {
		return nil, errors.New("client_certificate_pem and client_private_key_pem belong together")
	}
	if cfg.ClientCertPEM != "" {
		pair, err := tls.X509KeyPair([]byte(cfg.ClientCertPEM), []byte(cfg.ClientKeyPEM))
		if err != nil {
			return nil, errors.New("client_certificate_pem and client_private_key_pem are no pair")
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// Where gives the address without its query.
func (b *Backend) Where() string { return b.where }

// Read gets the state.
func (b *Backend) Read(ctx context.Context) ([]byte, error) {
	answer, err := b.send(ctx, http.MethodGet, b.cfg.Address, nil)
	if err != nil {
		return nil, b.unreachable(err)
	}
	switch answer.status {
	case http.StatusOK:
		if len(answer.body) == 0 {
			return nil, nil
		}
		return answer.body, nil
	case http.StatusNoContent, http.StatusNotFound:
		return nil, nil
	}
	return nil, b.refused("reading the state", answer)
}

// Begin locks.
func (b *Backend) Begin(ctx context.Context, lock state.Lock) (state.Transaction, error) {
	answer, err := b.send(ctx, b.cfg.LockMethod, b.cfg.LockAddress, encode(lock))
	if err != nil {
		return nil, b.unreachable(err)
	}
	switch answer.status {
	case http.StatusOK, http.StatusCreated, http.StatusNoContent:
		return &transaction{b: b, lock: lock}, nil
	case http.StatusConflict, http.StatusLocked:
		held := decode(answer.body)
		if held.ID == lock.ID { // the answer to an earlier try was lost
			return &transaction{b: b, lock: lock}, nil
		}
		return nil, &state.HeldError{Lock: held}
	}
	return nil, b.refused("locking", answer)
}

// Unlock ends the lock with the ID. Not every server compares it, so it is asked
// first whose lock is held: by trying to lock, which is the protocol's only way.
func (b *Backend) Unlock(ctx context.Context, id string) error {
	probe := state.Lock{ID: "force-unlock-" + rand.Text(), Operation: "force-unlock", Created: time.Now().UTC()}
	tx, err := b.Begin(ctx, probe)
	var held *state.HeldError
	switch {
	case err == nil: // nobody had it
		if err := tx.End(ctx); err != nil {
			return err
		}
		return &state.NoLockError{ID: id}
	case !errors.As(err, &held):
		return err
	case held.Lock.ID != "" && held.Lock.ID != id:
		return &state.NoLockError{ID: id, Held: held.Lock.ID}
	}
	return b.release(ctx, id)
}

// release tells the server that the lock with the ID has ended.
func (b *Backend) release(ctx context.Context, id string) error {
	answer, err := b.send(ctx, b.cfg.UnlockMethod, withID(b.cfg.UnlockAddress, id), encode(state.Lock{ID: id}))
	if err != nil {
		return b.unreachable(err)
	}
	switch answer.status {
	case http.StatusOK, http.StatusNoContent:
		return nil
	case http.StatusConflict, http.StatusLocked, http.StatusNotFound, http.StatusPreconditionFailed:
		return &state.NoLockError{ID: id}
	}
	return b.refused("unlocking", answer)
}
