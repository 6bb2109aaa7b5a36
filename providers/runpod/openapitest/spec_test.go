package openapitest_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/overbrainer/overbrainer/providers/runpod/openapitest"
)

func TestRequest(t *testing.T) {
	s := openapitest.Load(t)
	for _, test := range []struct {
		method, path, query, body string
		want                      string // "" = fits
	}{
		{"POST", "/v2/pods", "", `{"name":"n","image":"i","gpu":{"id":"NVIDIA L40S","count":1},"cmd":["a"],"ports":["22/tcp"]}`, ""},
		{"POST", "/v2/pods", "", `{"name":"n","image":"i","gpuCount":1}`, "gpuCount"},
		{"POST", "/v2/pods", "", `{"image":"i"}`, "name"},
		{"POST", "/v2/pods", "", `{"name":"n"}`, "image"},
		{"POST", "/v2/pods", "", `{"name":"n","image":"i","cmd":"a b"}`, "cmd"},
		{"GET", "/v2/pods", "limit=1000&cursor=c", "", ""},
		{"GET", "/v2/pods", "limit=1001", "", "limit"},
		{"GET", "/v2/pods", "page=2", "", "page"},
		{"GET", "/v2/nothing", "", "", "no path"},
		{"PUT", "/v2/pods/x", "", "", "no method"},
		{"GET", "/v2/pods/x/logs", "tail=5000", "", ""},
		{"GET", "/v2/pods/x/logs", "tail=5001", "", "tail"},
		{"GET", "/v2/catalog/gpus", "include=AVAILABILITY&product=POD&cloud=SECURE&count=2&minCudaVersion=12.8", "", ""},
		{"GET", "/v2/catalog/gpus", "cloud=PRIVATE", "", "cloud"},
		{"POST", "/v2/account/secrets", "", `{"name":"overbrainer_host_key_a-b.c","value":"x"}`, ""},
		{"POST", "/v2/account/secrets", "", `{"name":"RUNPOD_x y","value":"x"}`, "name"},
		{"DELETE", "/v2/pods/x", "", `{}`, "no body"},
	} {
		query, err := url.ParseQuery(test.query)
		if err != nil {
			t.Fatal(err)
		}
		err = s.Request(test.method, test.path, query, []byte(test.body))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s %s?%s %s: %v, want %q", test.method, test.path, test.query, test.body, err, test.want)
		}
	}
}

func TestAnswer(t *testing.T) {
	s := openapitest.Load(t)
	problem := `{"title":"Not Found","status":404,"detail":"resource not found"}`
	for _, test := range []struct {
		method, path string
		status       int
		kind, body   string
		want         string
	}{
		{"GET", "/v2/pods/x", 404, "application/problem+json", problem, ""},
		{"GET", "/v2/pods/x", 404, "application/json", problem, "content type"},
		{"GET", "/v2/pods/x", 404, "application/problem+json", `{"title":"x"}`, "body"},
		{"POST", "/v2/pods", 402, "application/problem+json", strings.ReplaceAll(problem, "404", "402"), ""},
		{"POST", "/v2/pods", 200, "application/json", "{}", "not declared"},
		{"DELETE", "/v2/pods/x", 204, "", "", ""},
		{"DELETE", "/v2/pods/x", 204, "", "{}", "body"},
		{"GET", "/v2/pods", 200, "application/json", `{"pods":[],"pagination":{"nextCursor":null,"hasNextPage":false}}`, ""},
		{"GET", "/v2/pods", 200, "application/json", `{"pods":[],"pagination":{}}`, "pagination"},
		{"GET", "/v2/pods", 200, "application/json", `{"pods":[{}]}`, "missing"},
		{"GET", "/v2/nothing", 404, "text/plain", "", ""},
	} {
		err := s.Answer(test.method, test.path, test.status, test.kind, []byte(test.body))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s %s %d %s %s: %v, want %q", test.method, test.path, test.status, test.kind, test.body, err, test.want)
		}
	}
}

func TestAmendmentsSayWhy(t *testing.T) {
	for _, a := range openapitest.Amendments {
		if a.Rule == "" || a.Why == "" {
			t.Errorf("%+v", a)
		}
	}
}
