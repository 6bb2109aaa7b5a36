package runpod_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers"
)

func request() providers.CreatePod {
	return providers.CreatePod{
		Marker: providers.Marker{RunID: "train-1", Lineage: "lin-1", Attempt: "overbrainer-train-1-1"},
		Image:  "example/trainer:1.4", GPUType: "NVIDIA L40S", GPUCount: 2, DiskGB: 60,
		Env: map[string]string{"OVERBRAINER_DEADLINE": "1790000000"}, Command: []string{"bash", "-c", "echo <\"'\n>"},
	}
}

func TestCreateBody(t *testing.T) {
	a := newAPI(t, reply{status: 201, body: podBody})
	got, err := a.provider().CreatePod(ctx, request())
	if err != nil {
		t.Fatal(err)
	}
	want := providers.Pod{
		ID: "q3w8z0m5t1xk7", Name: "overbrainer-r-1", Marker: providers.Marker{RunID: "r", Lineage: "l", Attempt: "overbrainer-r-1"},
		Status: providers.Running, RatePerHour: 2.18, GPUType: "NVIDIA L40S", GPUCount: 2, Cloud: providers.Secure, DataCenter: "US-NC-1",
		CUDA: "12.8", DiskGB: 60, VolumeID: "v7k2p0xw3d", SSH: &providers.Endpoint{Host: "203.0.113.9", Port: 40122, User: "root"},
		CreatedAt: time.Date(2026, 11, 29, 9, 14, 2, 118000000, time.UTC),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	env := map[string]any{
		"OVERBRAINER_DEADLINE": "1790000000", "OVERBRAINER_RUN_ID": "train-1", "OVERBRAINER_LINEAGE": "lin-1",
		"OVERBRAINER_API_URL": a.URL + "/v2", "OVERBRAINER_VERSION": "1.2.3",
	}
	plain := map[string]any{
		"name": "overbrainer-train-1-1", "image": "example/trainer:1.4", "cloud": "SECURE", "disk": 60.0, "startSsh": false,
		"gpu": map[string]any{"id": "NVIDIA L40S", "count": 2.0}, "ports": []any{"22/tcp"}, "env": env,
		"cmd": []any{"bash", "-c", "echo <\"'\n>"},
	}
	if sent := sentBody(t, a.got()[0]); !reflect.DeepEqual(sent, plain) {
		t.Errorf("\n got %v\nwant %v", sent, plain)
	}

	full := request()
	full.Image, full.Template, full.Registry, full.Cloud, full.MinCUDA, full.DiskGB = "", "tpl", "reg", providers.Community, "12.8", 0
	full.DataCenters, full.VolumeID, full.Command, full.GPUCount = []string{"EU-RO-1"}, "vol1", nil, 0
	if _, err := a.provider().CreatePod(ctx, full); err != nil {
		t.Fatal(err)
	}
	all := map[string]any{
		"name": "overbrainer-train-1-1", "templateId": "tpl", "registry": "reg", "cloud": "COMMUNITY", "startSsh": false,
		"gpu": map[string]any{"id": "NVIDIA L40S", "count": 1.0, "minCudaVersion": "12.8"}, "ports": []any{"22/tcp"}, "env": env,
		"dataCenterIds": []any{"EU-RO-1"}, "mounts": map[string]any{"network": []any{map[string]any{"volumeId": "vol1", "path": "/workspace/data"}}},
	}
	if sent := sentBody(t, a.got()[1]); !reflect.DeepEqual(sent, all) {
		t.Errorf("\n got %v\nwant %v", sent, all)
	}
}

func sentBody(t *testing.T, r seen) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal([]byte(r.body), &body); err != nil {
		t.Fatal(err)
	}
	return body
}

func TestCreateRequestsThatCannotWork(t *testing.T) {
	for name, change := range map[string]func(*providers.CreatePod){
		"less than":   func(r *providers.CreatePod) { r.Command = []string{"sh", "-c", strings.Repeat("x", 64<<10)} },
		"at most 50":  func(r *providers.CreatePod) { r.Env = manyVariables(60) },
		"without":     func(r *providers.CreatePod) { r.Marker.Lineage = "" },
		"an image":    func(r *providers.CreatePod) { r.Image = "" },
		"environment": func(r *providers.CreatePod) { r.Env["BIG"] = strings.Repeat("x", 6<<20) },
	} {
		a := newAPI(t, reply{status: 201, body: podBody})
		r := request()
		change(&r)
		_, err := a.provider().CreatePod(ctx, r)
		wantError(t, err, providers.Invalid, 0, name)
		a.count(0)
	}
}

func manyVariables(n int) map[string]string {
	env := map[string]string{}
	for i := range n {
		env[fmt.Sprintf("V%d", i)] = ""
	}
	return env
}

const capacity = "There are no longer any instances available with the requested specifications. Please refresh and try again."

func TestCreateAnswers(t *testing.T) {
	edge := reply{status: 403, body: "error code: 1010", headers: map[string]string{"Content-Type": "text/plain"}}
	tooOld := reply{status: 422, body: `{"title":"x","status":422,"detail":"Request validation failed.","errors":["$: additional properties 'cmd' not allowed"]}`}
	nameless := reply{status: 422, body: `{"status":422,"detail":"Request validation failed.","errors":["$: additional properties 'cmd', 'env' not allowed","$: missing property 'name'"]}`}
	for _, test := range []struct {
		name  string
		reply reply
		kind  providers.Kind
		text  string
	}{
		{"capacity", problem(400, capacity), providers.Capacity, "no machine is free"},
		{"capacity, other words", problem(400, "no instances currently available"), providers.Capacity, "no machine is free"},
		{"a rule", problem(400, `ports: "22" is not a valid port mapping`), providers.Rejected, "is not a valid port mapping"},
		{"capacity in the title only", reply{status: 400, body: `{"title":"no longer any instances available","detail":"x"}`}, providers.Rejected, "refused"},
		{"capacity with another status", problem(409, capacity), providers.Invalid, "409"},
		{"key", problem(401, "missing bearer token"), providers.Unauthenticated, "RUNPOD_API_KEY"},
		{"balance", problem(402, "insufficient balance"), providers.NoCredits, "balance"},
		{"pool", problem(403, "access denied"), providers.Forbidden, "not open to the account"},
		{"edge", edge, providers.Forbidden, "error code: 1010"},
		{"template", problem(404, "resource not found"), providers.Invalid, "404"},
		{"method", problem(405, "not allowed"), providers.Invalid, "405"},
		{"timeout", problem(408, ""), providers.Ambiguous, "may exist"},
		{"too large", problem(413, ""), providers.Invalid, "413"},
		{"schema", problem(422, "bad image"), providers.Invalid, "bad image"},
		{"too old", tooOld, providers.Invalid, "older than this tool needs"},
		{"a missing field makes others suspect", nameless, providers.Invalid, "missing property 'name'"},
		{"server", problem(500, "boom"), providers.Ambiguous, "may exist"},
		{"gateway", reply{status: 502, body: "<html>"}, providers.Ambiguous, "may exist"},
		{"redirect", reply{status: 302}, providers.Invalid, "302"},
		{"no pod", reply{status: 201, body: "ok"}, providers.Ambiguous, "may exist"},
		{"no ID", reply{status: 201, body: "{}"}, providers.Ambiguous, "may exist"},
		{"bad ID", reply{status: 201, body: `{"id":"a/b"}`}, providers.Ambiguous, "may exist"},
		{"huge", reply{status: 201, body: strings.Repeat(" ", 9<<20)}, providers.Ambiguous, "may exist"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := newAPI(t, test.reply)
			_, err := a.provider().CreatePod(ctx, request())
			status := test.reply.status
			if test.name == "huge" {
				status = 201
			}
			wantError(t, err, test.kind, status, test.text)
			a.count(1)
		})
	}
}

func TestCreateIsRetriedOnlyWhenLimited(t *testing.T) {
	limited := reply{status: 429, body: `{"title":"x","status":429,"detail":"rate limit exceeded"}`, headers: map[string]string{"Retry-After": "2"}}
	a := newAPI(t, limited, reply{status: 503})
	_, err := a.provider().CreatePod(ctx, request())
	wantError(t, err, providers.Ambiguous, 503)
	a.count(2)
	a.waited(2 * time.Second)

	a = newAPI(t, limited, reply{status: 201, body: podBody})
	if _, err := a.provider().CreatePod(ctx, request()); err != nil {
		t.Error(err)
	}

	a = newAPI(t, limited)
	_, err = a.provider().CreatePod(ctx, request())
	wantError(t, err, providers.RateLimited, 429, "too many requests")
	a.count(1 + int(12*time.Minute/(2*time.Second)))

	a = newAPI(t, reply{drop: true})
	_, err = a.provider().CreatePod(ctx, request())
	wantError(t, err, providers.Ambiguous, 0, "may exist")
	a.count(1)
}

func TestCreateIsFinishedThoughInterrupted(t *testing.T) {
	live, cancel := context.WithCancel(ctx)
	a := newAPI(t)
	a.handle = func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		time.Sleep(20 * time.Millisecond)
		w.WriteHeader(201)
		_, _ = fmt.Fprint(w, podBody)
	}
	if pod, err := a.provider().CreatePod(live, request()); err != nil || pod.ID != "q3w8z0m5t1xk7" {
		t.Errorf("%+v, %v", pod, err)
	}
}

// TestCreateErrorsHideDisguisedSecrets has the API send a secret back in forms
// that a plain search does not find.
func TestCreateErrorsHideDisguisedSecrets(t *testing.T) {
	var wrapped, joined, escaped strings.Builder
	for i, c := range []byte(hostKey) {
		wrapped.WriteByte(c)
		joined.WriteByte(c)
		fmt.Fprintf(&escaped, `\u%04X`, c)
		if i%8 == 7 {
			wrapped.WriteString("\n")
		}
		if i%11 == 10 {
			joined.WriteString("-")
		}
	}
	for name, text := range map[string]string{
		"plain": hostKey, "nested": `{"a":{"b":"` + hostKey + `"}}`, "wrapped": wrapped.String(), "joined": joined.String(),
		"percent": url.QueryEscape("+" + hostKey), "escaped twice": escaped.String(), "half": hostKey[:20], "key": apiKey,
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, reply{status: 201, body: `{"id":"s1","name":"n"}`}, problem(422, "field env: "+text))
			p := a.provider()
			if _, err := p.PutSecret(ctx, "n", hostKey); err != nil {
				t.Fatal(err)
			}
			_, err := p.CreatePod(ctx, request())
			wantError(t, err, providers.Invalid, 422, "invalid")
		})
	}
	a := newAPI(t, reply{status: 400, body: `{"detail":"no longer any instances available ` + apiKey + `"}`})
	_, err := a.provider().CreatePod(ctx, request())
	wantError(t, err, providers.Capacity, 400)
	a = newAPI(t, reply{status: 201, body: `{"id":"` + strings.Repeat(apiKey, 20) + `"}`})
	_, err = a.provider().CreatePod(ctx, request())
	wantError(t, err, providers.Ambiguous, 201)
}

func TestPodIDs(t *testing.T) {
	a := newAPI(t, reply{status: 200, body: "{}"})
	p := a.provider()
	for _, id := range []string{"", "a/b", "..", "a b", "ä", "a?b", strings.Repeat("a", 65)} {
		_, err := p.GetPod(ctx, id)
		wantError(t, err, providers.Invalid, 0)
		_, err = p.DeletePod(ctx, id)
		wantError(t, err, providers.Invalid, 0)
		wantError(t, p.PodLogs(ctx, providers.LogRequest{PodID: id}, nil), providers.Invalid, 0)
	}
	a.count(0)
}

func TestOddPods(t *testing.T) {
	a := newAPI(t, reply{status: 200, body: `{"pods":[
		{"id":"pod_a","name":null,"status":"DREAMING","cost":0,"gpu":null,"ssh":null,"env":null,"mounts":null,"createdAt":null},
		{"id":"b-1","name":"x\u001b[31m\ny","status":"exited","cost":-1,"env":{"OVERBRAINER_RUN_ID":"r\u0007"},
		 "mounts":{"persistent":{"size":120,"path":"/workspace"}}}]}`})
	list, err := a.provider().ListPods(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := []providers.Pod{
		{ID: "pod_a", Status: providers.UnknownStatus},
		{ID: "b-1", Name: "x y", Status: providers.Exited, PersistentGB: 120, Marker: providers.Marker{RunID: "r", Attempt: "x y"}},
	}
	if !reflect.DeepEqual(list.Pods, want) {
		t.Errorf("\n got %+v\nwant %+v", list.Pods, want)
	}
}
