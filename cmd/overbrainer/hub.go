package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/overbrainer/overbrainer/plan"
)

// Where models are looked up, and what is read of an answer at most.
const (
	hubURL   = "https://huggingface.co"
	hubLimit = 10 * time.Second
	hubBytes = 4 << 20
)

// hubShape asks the Hugging Face hub for the shape of a model. HF_TOKEN, where
// it is set, opens gated ones.
func (a *app) hubShape(ctx context.Context, model string) (plan.ModelShape, error) {
	ctx, cancel := context.WithTimeout(ctx, hubLimit)
	defer cancel()
	config, err := a.hubGet(ctx, "/"+model+"/resolve/main/config.json")
	if err != nil {
		return plan.ModelShape{}, err
	}
	shape, err := plan.ParseModelConfig(config)
	if err != nil {
		return shape, err
	}
	about, err := a.hubGet(ctx, "/api/models/"+model+"?expand[]=safetensors")
	if err != nil {
		return shape, err
	}
	var doc struct {
		Safetensors struct {
			Total uint64 `json:"total"`
		} `json:"safetensors"`
	}
	if err := json.Unmarshal(about, &doc); err != nil || doc.Safetensors.Total == 0 {
		return shape, errors.New("the hub does not tell its number of parameters")
	}
	shape.Params = doc.Safetensors.Total
	return shape, nil
}

func (a *app) hubGet(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, hubURL+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "overbrainer/"+version)
	if token := a.environ("HF_TOKEN"); token != "" {
		a.hide(token)
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, errors.New("the model hub does not answer")
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return nil, fmt.Errorf("the model hub answers %d: there is no such model, or it is gated (set HF_TOKEN)", res.StatusCode)
	default:
		return nil, fmt.Errorf("the model hub answers %d", res.StatusCode)
	}
	return io.ReadAll(io.LimitReader(res.Body, hubBytes))
}
