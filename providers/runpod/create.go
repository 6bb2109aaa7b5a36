package runpod

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/overbrainer/overbrainer/providers"
)

// createBody is the body of a create call, exactly the fields that are sent.
type createBody struct {
	Name          string            `json:"name"`
	Image         string            `json:"image,omitempty"`
	TemplateID    string            `json:"templateId,omitempty"`
	Registry      string            `json:"registry,omitempty"`
	Cloud         string            `json:"cloud"`
	GPU           createGPU         `json:"gpu"`
	Disk          int               `json:"disk,omitempty"`
	Ports         []string          `json:"ports"`
	StartSSH      bool              `json:"startSsh"`
	DataCenterIDs []string          `json:"dataCenterIds,omitempty"`
	Mounts        *createMounts     `json:"mounts,omitempty"`
	Env           map[string]string `json:"env"`
	Cmd           []string          `json:"cmd,omitempty"`
}

type createGPU struct {
	ID             string `json:"id"`
	Count          int    `json:"count"`
	MinCUDAVersion string `json:"minCudaVersion,omitempty"`
}

type createMounts struct {
	Network []createMount `json:"network"`
}

type createMount struct {
	VolumeID string `json:"volumeId"`
	Path     string `json:"path"`
}

// body builds a create request. extra is the environment of the guard.
func body(r providers.CreatePod, cloud providers.Cloud, extra map[string]string) createBody {
	b := createBody{
		Name: r.Marker.Attempt, Image: r.Image, TemplateID: r.Template, Registry: r.Registry,
		Cloud: cloudName(r.Cloud, cloud), GPU: createGPU{ID: r.GPUType, Count: max(r.GPUCount, 1), MinCUDAVersion: r.MinCUDA},
		Disk: r.DiskGB, Ports: []string{"22/tcp"}, DataCenterIDs: r.DataCenters, Env: map[string]string{}, Cmd: r.Command,
	}
	maps.Copy(b.Env, extra)
	maps.Copy(b.Env, r.Env)
	b.Env[envRunID], b.Env[envLineage] = r.Marker.RunID, r.Marker.Lineage
	if r.VolumeID != "" {
		b.Mounts = &createMounts{Network: []createMount{{VolumeID: r.VolumeID, Path: volumeMount}}}
	}
	return b
}

// check finds what the API would refuse, or what could not be found again.
func (b createBody) check(op string) error {
	fail := func(format string, args ...any) error {
		return &providers.Error{Kind: providers.Invalid, Op: op, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case b.Name == "" || b.Env[envRunID] == "" || b.Env[envLineage] == "":
		return fail("a pod without a name, run and lineage could not be found again")
	case b.Image == "" && b.TemplateID == "":
		return fail("neither an image nor a template")
	case len(b.Env) > maxEnv:
		return fail("%d environment variables, at most %d fit", len(b.Env), maxEnv)
	}
	data, err := json.Marshal(b)
	if err != nil {
		return fail("the request cannot be encoded")
	}
	if len(data) >= maxBody {
		return fail("the request has %d bytes, less than %d must do; the environment is the usual cause", len(data), maxBody)
	}
	return nil
}

func (c *client) createPod(ctx context.Context, b createBody) (providers.Pod, error) {
	k := call{
		op: "create pod", method: http.MethodPost, path: "/pods", body: b,
		effect: true, timeout: createTimeout, retry: onlyLimited,
	}
	if err := b.check(k.op); err != nil {
		return providers.Pod{}, err
	}
	a, f, err := c.do(ctx, k)
	switch {
	case err != nil:
		return providers.Pod{}, err
	case f != nil:
		return providers.Pod{}, c.createFailure(k, f)
	}
	var p pod
	if json.Unmarshal(a.body, &p) != nil || !validID(p.ID) || c.redact.Reveals(p.ID) {
		return providers.Pod{}, &providers.Error{
			Kind: providers.Ambiguous, Op: k.op, Status: a.status, Message: "the API accepted the request, but its answer is not readable; the pod may exist",
		}
	}
	return p.convert(), nil
}

// createFailure says what a failed create means. Its text is chosen by the
// status alone; what the API said stands apart, redacted.
func (c *client) createFailure(k call, f *failure) error {
	e := &providers.Error{Op: k.op, Status: f.status}
	if f.transport != nil {
		e.Kind, e.Message = providers.Ambiguous, "no answer from the API; the pod may exist"
		if f.tooLarge {
			e.Message = "the answer is too large to be read; the pod may exist"
			return e
		}
		e.Detail = c.plainCause(f.transport)
		return e
	}
	e.RetryAfter = max(f.left, retryAfter(f.answer), 0)
	e.Kind, e.Message = c.createMeaning(f)
	if f.status != http.StatusUnauthorized {
		e.Detail = c.detail(f.answer)
	}
	return e
}

func (c *client) createMeaning(f *failure) (providers.Kind, string) {
	switch status := f.status; {
	case status == http.StatusBadRequest && isCapacity(f.body):
		return providers.Capacity, "no machine is free with what was asked for"
	case status == http.StatusBadRequest:
		return providers.Rejected, "the API refused the request (400)"
	case status == http.StatusUnauthorized:
		return providers.Unauthenticated, "the API key from " + c.keySource + " was refused"
	case status == http.StatusPaymentRequired:
		return providers.NoCredits, "the account's balance is too low; it must cover an hour or more"
	case status == http.StatusForbidden && !isJSON(f.answer):
		return providers.Forbidden, "the request was stopped in front of the API, which is not a matter of the key"
	case status == http.StatusForbidden:
		return providers.Forbidden, "this GPU type is not open to the account, or the API key from " + c.keySource + " may not create pods"
	case status == http.StatusRequestTimeout:
		return providers.Ambiguous, "the API timed out (408); the pod may exist"
	case status == http.StatusTooManyRequests:
		return providers.RateLimited, "too many requests; the API's limit is used up"
	case status == http.StatusUnprocessableEntity && namesCommand(f.body):
		return providers.Invalid, "the API does not take a command (cmd); it is older than this tool needs"
	case status >= 500:
		return providers.Ambiguous, fmt.Sprintf("the API failed (%d); the pod may exist", status)
	case status >= 400:
		return providers.Invalid, fmt.Sprintf("the API finds the request invalid (%d)", status)
	default:
		return providers.Invalid, fmt.Sprintf("unexpected answer (%d); nothing was made", status)
	}
}

// capacityTexts are what the platform says when nothing is free. There is no
// code for it.
var capacityTexts = []string{"no longer any instances available", "no instances currently available", "not enough free gpus"}

func isCapacity(body []byte) bool {
	p, _ := readProblem(body)
	said := strings.ToLower(p.Detail)
	for _, text := range capacityTexts {
		if strings.Contains(said, text) {
			return true
		}
	}
	return false
}

// namesCommand reports whether a validation error is about the field cmd. A
// missing field makes the API complain of valid ones too, so that one counts
// first.
func namesCommand(body []byte) bool {
	p, _ := readProblem(body)
	named := false
	for _, raw := range p.Errors {
		text := errorText(raw)
		if strings.Contains(text, "missing property") {
			return false
		}
		named = named || strings.Contains(text, "'cmd'") || strings.Contains(text, "$.cmd")
	}
	return named
}

// cloudName is the API's word for a cloud; configured stands for an empty one.
func cloudName(c, configured providers.Cloud) string {
	if c == "" {
		c = configured
	}
	if c == providers.Community {
		return "COMMUNITY"
	}
	return "SECURE"
}
