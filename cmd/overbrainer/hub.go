package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/plan"
)

// hubBytes is what is read of a hub's answer at most.
const hubBytes = 4 << 20

// hub is where models are looked up. Its errors hold no text of the hub's, which
// might repeat the token.
type hub struct {
	url, token string
	// limit is how long all questions about one model may take.
	limit time.Duration
	log   *logging
}

// newHub gives Hugging Face's hub, or the one that HF_ENDPOINT names. HF_TOKEN,
// where it is set, opens gated models.
func (a *app) newHub() hub {
	h := hub{url: "https://huggingface.co", token: a.environ("HF_TOKEN"), limit: 10 * time.Second, log: a.logs}
	if other := strings.TrimRight(a.environ("HF_ENDPOINT"), "/"); other != "" {
		h.url = other
	}
	if h.token != "" {
		a.hide(h.token)
	}
	return h
}

// shape asks for the shape of a model by its name.
func (h hub) shape(ctx context.Context, model string) (plan.ModelShape, error) {
	ctx, cancel := context.WithTimeout(ctx, h.limit)
	defer cancel()
	config, err := h.get(ctx, "/"+model+"/resolve/main/config.json")
	if err != nil {
		return plan.ModelShape{}, err
	}
	shape, err := plan.ParseModelConfig(config)
	if err != nil {
		return shape, err
	}
	about, err := h.get(ctx, "/api/models/"+model+"?expand[]=safetensors")
	if err != nil {
		return shape, err
	}
	var doc struct {
		Safetensors struct {
			Total uint64 `json:"total"`
		} `json:"safetensors"`
	}
	if err := json.Unmarshal(about, &doc); err != nil || doc.Safetensors.Total == 0 {
		return shape, errors.New("the model hub does not tell its number of parameters")
	}
	shape.Params = doc.Safetensors.Total
	return shape, nil
}

func (h hub) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url+path, nil)
	if err != nil || req.URL.Host == "" {
		return nil, errors.New("the model hub's address, HF_ENDPOINT, is not a URL")
	}
	req.Header.Set("User-Agent", "overbrainer/"+version)
	if h.token != "" && mayHoldToken(req.URL) {
		req.Header.Set("Authorization", "Bearer "+h.token)
	}
	began := time.Now()
	res, err := http.DefaultClient.Do(req)
	asked := []any{"source", "model hub", "method", req.Method, "path", req.URL.Path}
	if err == nil {
		asked = append(asked, "status", res.StatusCode)
	}
	h.log.done(slog.LevelDebug, "request", began, err, asked...)
	if err == nil {
		defer func() { _ = res.Body.Close() }()
		switch res.StatusCode {
		case http.StatusOK:
			data, err := io.ReadAll(io.LimitReader(res.Body, hubBytes))
			if err == nil {
				return data, nil
			}
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
			return nil, fmt.Errorf("the model hub answers %d: there is no such model, or it is gated (set HF_TOKEN)", res.StatusCode)
		default:
			return nil, fmt.Errorf("the model hub answers %d", res.StatusCode)
		}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, fmt.Errorf("the model hub is too slow: no answer within %s", h.limit)
	}
	return nil, errors.New("the model hub does not answer")
}

// mayHoldToken reports whether a token may go there: not in the clear over a
// network.
func mayHoldToken(u *url.URL) bool {
	return u.Scheme == "https" || u.Hostname() == "127.0.0.1" || u.Hostname() == "localhost"
}
