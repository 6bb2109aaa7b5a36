package sim_test

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/overbrainer/overbrainer/providers/runpod/sim"
)

// published is a published description of the API.
type published struct {
	doc      map[string]any
	compiler *jsonschema.Compiler
	url      string
}

func readPublished(t *testing.T, name string) *published {
	t.Helper()
	data, err := os.ReadFile("../../../../shared/runpod/" + name)
	if err != nil {
		t.Skip("the published description of the API is not here")
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	p := &published{doc: doc.(map[string]any), compiler: jsonschema.NewCompiler(), url: "https://api.example/" + name}
	if err := p.compiler.AddResource(p.url, doc); err != nil {
		t.Fatal(err)
	}
	return p
}

// check holds an answer against the schema of its path, method and status.
func (p *published) check(t *testing.T, method, path string, a answer) {
	t.Helper()
	steps := []string{"paths", path, strings.ToLower(method), "responses", strconv.Itoa(a.status)}
	at := any(p.doc)
	for i, step := range steps {
		m, is := at.(map[string]any)
		if at = m[step]; !is || at == nil {
			t.Errorf("%s %s %d is not described (%s)", method, path, a.status, steps[i])
			return
		}
	}
	if ref, is := at.(map[string]any)["$ref"].(string); is {
		steps = strings.Split(strings.TrimPrefix(ref, "#/"), "/")
		at = p.doc["components"].(map[string]any)["responses"].(map[string]any)[steps[2]]
	}
	content, _ := at.(map[string]any)["content"].(map[string]any)
	if content == nil {
		if a.text != "" {
			t.Errorf("%s %s %d has a body: %s", method, path, a.status, a.text)
		}
		return
	}
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	if content[kind] == nil {
		t.Errorf("%s %s %d has content type %q", method, path, a.status, kind)
		return
	}
	pointer := "#"
	for _, step := range append(steps, "content", kind, "schema") {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(step)
	}
	schema, err := p.compiler.Compile(p.url + pointer)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(a.text))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		t.Errorf("%s %s %d: %v\n%s", method, path, a.status, err, a.text)
	}
}

// TestAnswersAreAsPublished holds answers of every kind against the published
// description. Where that is older than the API (exec forms, paging), answers
// only have more fields, which it allows.
func TestAnswersAreAsPublished(t *testing.T) {
	api := readPublished(t, "openapi.json")
	w := serve(t, sim.Options{Form: sim.FormRelocated})
	try := func(method, path, described string, body any, status int) answer {
		t.Helper()
		a := w.want(w.call(method, path, body), status)
		api.check(t, method, described, a)
		return a
	}
	made := try("POST", "pods", "/v2/pods", podBody("sleep 100", map[string]string{"A": "b"}), 201)
	id := made.body["id"].(string)
	w.until("runtime", func() bool { return w.call("GET", "pods/"+id, nil).body["runtime"] != nil })
	try("GET", "pods/"+id, "/v2/pods/{id}", nil, 200)
	try("GET", "pods", "/v2/pods", nil, 200)
	try("PATCH", "pods/"+id, "/v2/pods/{id}", map[string]any{"name": "other"}, 200)
	try("PATCH", "pods/"+id, "/v2/pods/{id}", map[string]any{"gpu": map[string]any{"id": "x"}}, 422)
	try("POST", "pods/"+id+"/action", "/v2/pods/{id}/action", map[string]any{"action": "stop"}, 200)
	try("POST", "pods/"+id+"/action", "/v2/pods/{id}/action", map[string]any{"action": "stop"}, 409)
	try("GET", "pods/"+id, "/v2/pods/{id}", nil, 200)
	try("POST", "pods/"+id+"/action", "/v2/pods/{id}/action", map[string]any{"action": "start"}, 200)
	try("DELETE", "pods/"+id, "/v2/pods/{id}", nil, 204)
	try("DELETE", "pods/"+id, "/v2/pods/{id}", nil, 404)
	try("POST", "pods", "/v2/pods", map[string]any{"image": "x", "gpuCount": 1}, 422)
	try("GET", "catalog/gpus", "/v2/catalog/gpus", nil, 200)
	try("GET", "catalog/gpus?include=AVAILABILITY&product=POD&count=2&cloud=COMMUNITY", "/v2/catalog/gpus", nil, 200)
	try("GET", "catalog/gpus/NVIDIA%20L40S?include=AVAILABILITY&product=POD&minCudaVersion=12", "/v2/catalog/gpus/{id}", nil, 200)
	try("GET", "catalog/cpus?include=AVAILABILITY&product=POD", "/v2/catalog/cpus", nil, 200)
	try("GET", "catalog/datacenters?include=GPU_AVAILABILITY,CPU_AVAILABILITY", "/v2/catalog/datacenters", nil, 200)
	try("GET", "catalog/datacenters/EU-RO-1", "/v2/catalog/datacenters/{id}", nil, 200)
	vol := try("POST", "network-volumes", "/v2/network-volumes", map[string]any{"name": "v", "size": 50, "dataCenter": "EU-RO-1"}, 201).body["id"].(string)
	try("GET", "network-volumes", "/v2/network-volumes", nil, 200)
	try("PATCH", "network-volumes/"+vol, "/v2/network-volumes/{id}", map[string]any{"size": 20}, 400)
	try("PATCH", "network-volumes/"+vol, "/v2/network-volumes/{id}", map[string]any{"size": 60}, 200)
	try("GET", "network-volumes/"+vol, "/v2/network-volumes/{id}", nil, 200)
	try("POST", "network-volumes", "/v2/network-volumes", map[string]any{"name": "v", "size": 50, "dataCenter": "AP-IN-1"}, 400)
	try("GET", "billing/pods?bucketSize=hour&podId="+id, "/v2/billing/pods", nil, 200)
	try("GET", "billing/network-volumes?lastN=2", "/v2/billing/network-volumes", nil, 200)
	try("GET", "billing", "/v2/billing", nil, 200)
	try("DELETE", "network-volumes/"+vol, "/v2/network-volumes/{id}", nil, 204)
	tpl := try("POST", "templates", "/v2/templates", map[string]any{"name": "t", "image": "i", "env": map[string]string{"X": "1"}}, 201).body["id"].(string)
	try("GET", "templates", "/v2/templates", nil, 200)
	try("GET", "templates/"+tpl, "/v2/templates/{id}", nil, 200)
	try("DELETE", "templates/"+tpl, "/v2/templates/{id}", nil, 204)
	try("GET", "account/ssh-keys", "/v2/account/ssh-keys", nil, 200)
	try("PUT", "account/ssh-keys", "/v2/account/ssh-keys", map[string]any{"keys": []string{"ssh-ed25519 AAAA me"}}, 200)
	try("GET", "registries", "/v2/registries", nil, 200)
	try("GET", "clusters", "/v2/clusters", nil, 200)
	try("GET", "serverless", "/v2/serverless", nil, 200)
	w.key = ""
	try("GET", "pods", "/v2/pods", nil, 401)
}

func TestSecretsAreAsPublished(t *testing.T) {
	api := readPublished(t, "openapi-secrets.json")
	w := serve(t, sim.Options{Form: sim.FormRelocated})
	base := "/v2/account/secrets"
	if api.doc["paths"].(map[string]any)[base] == nil {
		base = "/account/secrets"
	}
	try := func(method, path, described string, body any, status int) answer {
		t.Helper()
		a := w.want(w.call(method, path, body), status)
		api.check(t, method, described, a)
		if strings.Contains(a.text, "s3cr3t") {
			t.Errorf("%s %s tells the value", method, path)
		}
		return a
	}
	id := try("POST", "account/secrets", base, map[string]any{"name": "ob_x", "value": "s3cr3t"}, 201).body["id"].(string)
	try("POST", "account/secrets", base, map[string]any{"name": "OB_X", "value": "s3cr3t"}, 409)
	try("POST", "account/secrets", base, map[string]any{"name": "runpod_x", "value": "v"}, 400)
	try("POST", "account/secrets", base, map[string]any{"name": "a b", "value": "v"}, 422)
	try("GET", "account/secrets?name=ob_X", base, nil, 200)
	try("GET", "account/secrets/"+id, base+"/{id}", nil, 200)
	try("PATCH", "account/secrets/"+id, base+"/{id}", map[string]any{"value": "s3cr3t2", "description": "d"}, 200)
	try("PATCH", "account/secrets/"+id, base+"/{id}", map[string]any{}, 422)
	try("DELETE", "account/secrets/"+id, base+"/{id}", nil, 204)
	try("DELETE", "account/secrets/"+id, base+"/{id}", nil, 404)
	journal, err := w.ctl.Journal(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(journal)
	if strings.Contains(string(text), "s3cr3t") || strings.Contains(string(text), w.key) || !strings.Contains(string(text), "(6 bytes)") {
		t.Errorf("journal: %s", text)
	}
	if data, err := os.ReadFile(w.home + "/journal.jsonl"); err != nil || strings.Contains(string(data), "s3cr3t") {
		t.Errorf("journal file: %s %v", data, err)
	}
}
