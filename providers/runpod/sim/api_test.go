package sim_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/overbrainer/overbrainer/providers/runpod/sim"
)

func TestRefusals(t *testing.T) {
	w := serve(t, sim.Options{Form: sim.FormRelocated})
	pod := func(change func(map[string]any)) map[string]any {
		b := podBody("sleep 100", nil)
		change(b)
		return b
	}
	gpu := func(m map[string]any) map[string]any { return pod(func(b map[string]any) { b["gpu"] = m }) }
	for _, c := range []struct {
		name         string
		method, path string
		body         any
		status       int
		says         string
	}{
		{"unknown field", "POST", "pods", pod(func(b map[string]any) { b["gpuCount"] = 1 }), 422, "additional properties 'gpuCount' not allowed"},
		{"nested unknown field", "POST", "pods", gpu(map[string]any{"id": "NVIDIA A40", "n": 1}), 422, "$.gpu: additional properties 'n' not allowed"},
		{"missing name", "POST", "pods", pod(func(b map[string]any) { delete(b, "name") }), 422, "missing property 'name'"},
		{"missing image", "POST", "pods", pod(func(b map[string]any) { delete(b, "image") }), 422, "missing property 'image'"},
		{"env of numbers", "POST", "pods", pod(func(b map[string]any) { b["env"] = map[string]any{"A": 1} }), 422, "$.env.A: got number, want string"},
		{"not JSON", "POST", "pods", "{", 422, "not valid JSON"},
		{"no gpu", "POST", "pods", pod(func(b map[string]any) { delete(b, "gpu") }), 400, "exactly one of gpu and cpu"},
		{"cuda twice", "POST", "pods", gpu(map[string]any{"id": "NVIDIA A40", "minCudaVersion": "12.8", "allowedCudaVersions": []string{"12.8"}}), 400, "mutually exclusive"},
		{"port", "POST", "pods", pod(func(b map[string]any) { b["ports"] = []string{"22"} }), 400, "is not a valid port mapping"},
		{"too many GPUs", "POST", "pods", gpu(map[string]any{"id": "NVIDIA A40", "count": 16}), 400, "no longer any instances available"},
		{"place without stock", "POST", "pods", pod(func(b map[string]any) { b["dataCenterIds"] = []string{"AP-JP-1"} }), 400, "no longer any instances available"},
		{"unknown volume", "POST", "pods", pod(func(b map[string]any) {
			b["mounts"] = map[string]any{"network": []any{map[string]any{"volumeId": "v", "path": "/workspace"}}}
		}), 400, "network volume"},
		{"unknown template", "POST", "pods", pod(func(b map[string]any) { b["templateId"] = "t" }), 404, "resource not found"},
		{"large body", "POST", "pods", pod(func(b map[string]any) { b["args"] = strings.Repeat("x", 102400) }), 413, "too large"},
		{"unknown action", "POST", "pods/x/action", map[string]any{"action": "explode"}, 422, "$.action: value must be one of 'start', 'stop', 'restart', 'terminate'"},
		{"method", "PUT", "pods", nil, 405, "not allowed for this path"},
		{"path", "GET", "nothing", nil, 404, "resource not found"},
		{"filter without include", "GET", "catalog/gpus?count=2", nil, 400, "requires include=AVAILABILITY"},
		{"include without product", "GET", "catalog/gpus?include=AVAILABILITY", nil, 400, "product is required"},
		{"country", "GET", "catalog/gpus?include=AVAILABILITY&product=POD&countryCodes=fr", nil, 422, "countryCodes"},
		{"two CUDA filters", "GET", "catalog/gpus?include=AVAILABILITY&product=POD&cudaVersions=12.8&minCudaVersion=12", nil, 400, "mutually exclusive"},
		{"unknown query", "GET", "pods?filter=x", nil, 200, "pods"},
		{"cursor", "GET", "pods?cursor=!", nil, 422, "cursor"},
		{"volume size", "POST", "network-volumes", map[string]any{"name": "v", "size": 5, "dataCenter": "EU-RO-1"}, 422, "minimum"},
		{"volume place", "POST", "network-volumes", map[string]any{"name": "v", "size": 10, "dataCenter": "AP-IN-1"}, 400, "EU-RO-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := w.call(c.method, c.path, c.body)
			if a.err != nil || a.status != c.status || !strings.Contains(a.text, c.says) {
				t.Fatalf("got %d %v %s", a.status, a.err, a.text)
			}
			if a.header.Get("X-Request-Id") == "" || a.header.Get("Date") == "" || a.header.Get("RateLimit") == "" && c.status != 413 {
				t.Errorf("headers: %v", a.header)
			}
			if want := "application/problem+json"; a.status >= 400 && a.header.Get("Content-Type") != want {
				t.Errorf("content type %s", a.header.Get("Content-Type"))
			}
		})
	}
	if st, err := w.ctl.Status(t.Context()); err != nil || len(st.Pods) != 0 || st.SpendUSD != 0 || st.Requests == 0 {
		t.Errorf("status: %+v %v", st, err)
	}
}

func TestEdgeAndControl(t *testing.T) {
	w := serve(t, sim.Options{Form: sim.FormRelocated})
	for agent, status := range map[string]int{"": 403, "Go-http-client/1.1": 403, "Python-urllib/3.12": 403, "curl/8": 200, "overbrainer/1": 200} {
		req, _ := http.NewRequestWithContext(t.Context(), "GET", w.url+"/v2/pods", nil)
		req.Header.Set("User-Agent", agent)
		req.Header.Set("Authorization", "Bearer k")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != status {
			t.Errorf("agent %q: %d", agent, resp.StatusCode)
		}
	}
	for _, change := range []func(*http.Request){
		func(r *http.Request) { r.Header.Set("X-Overbrainer-Sim", "") },
		func(r *http.Request) { r.Host = "evil.example" },
	} {
		req, _ := http.NewRequestWithContext(t.Context(), "POST", w.url+"/sim/stop", nil)
		req.Header.Set("X-Overbrainer-Sim", "1")
		change(req)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != 403 {
			t.Errorf("control answered %d", resp.StatusCode)
		}
	}
}

func TestPaging(t *testing.T) {
	w := serve(t, sim.Options{Form: sim.FormRelocated})
	var ids []string
	for range 3 {
		ids = append(ids, w.want(w.call("POST", "pods", podBody("sleep 100", nil)), 201).body["id"].(string))
	}
	var got []string
	path := "pods?limit=2"
	for {
		a := w.want(w.call("GET", path, nil), 200)
		for _, p := range a.body["pods"].([]any) {
			got = append(got, p.(map[string]any)["id"].(string))
		}
		page := a.body["pagination"].(map[string]any)
		if page["hasNextPage"] != true {
			break
		}
		path = "pods?limit=2&cursor=" + page["nextCursor"].(string)
	}
	if len(got) != 3 || got[0] != ids[2] || got[2] != ids[0] {
		t.Errorf("got %v of %v", got, ids)
	}
}

func TestPodKeyIsForItsPodOnly(t *testing.T) {
	w := serve(t, sim.Options{Form: sim.FormRelocated})
	first := w.want(w.call("POST", "pods", podBody(`echo "key=$RUNPOD_API_KEY"; exec sleep 100`, nil)), 201).body["id"].(string)
	other := w.want(w.call("POST", "pods", podBody("sleep 100", nil)), 201).body["id"].(string)
	said := w.log(first, "key=")
	account := w.key
	_, rest, _ := strings.Cut(said, "key=")
	w.key, _, _ = strings.Cut(rest, `"`)
	w.want(w.call("GET", "pods/"+first, nil), 200)
	w.want(w.call("GET", "pods/"+other, nil), 403)
	w.want(w.call("DELETE", "pods/"+other, nil), 403)
	w.want(w.call("GET", "pods", nil), 403)
	w.want(w.call("POST", "pods", podBody("true", nil)), 403)
	w.want(w.call("GET", "account/secrets", nil), 403)
	w.want(w.call("DELETE", "pods/"+first, nil), 204)
	w.want(w.call("GET", "pods/"+first, nil), 404)
	w.key = account
	w.want(w.call("GET", "pods/"+other, nil), 200)
}
