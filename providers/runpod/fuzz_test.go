package runpod_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/runpod"
)

// FuzzAnswers gives whatever bytes in the place of the API's answers. What is
// made of them can be written as JSON, has numbers of the size that they are
// for, holds no control characters and never the key.
func FuzzAnswers(f *testing.F) {
	for _, body := range []string{
		`{"id":"p1","name":"overbrainer-r-1","status":"RUNNING","cost":0.44,"gpu":{"id":"NVIDIA A40","count":1},"ssh":{"direct":{"host":"h","port":22,"username":"root"}},"env":{"OVERBRAINER_RUN_ID":"r"}}`,
		`{"pods":[null,{"id":"a","cost":1e308,"disk":-1e300,"mounts":{"persistent":{"size":1e99}}}],"pagination":{"hasNextPage":true,"nextCursor":"x"}}`,
		`{"gpus":[{"id":"A\u001b[31m","memory":1e40,"price":{"secure":1e308},"maxCount":{"secure":-5},"dataCenters":[null]}]}`,
		`{"secrets":[{"id":"s","name":"n","createdAt":"yesterday"}]}`, `{"networkVolumes":[{"size":1e300,"type":"STANDARD"}]}`,
		`{"title":"Bad Request","status":400,"detail":"key rpa_FUZZFUZZFUZZFUZZFUZZFUZZFUZZ refused","errors":["a",{"message":"b"},7]}`,
		`<html>502</html>`, `[]`, `"`, ``, strings.Repeat(`{"a":`, 5000),
	} {
		for _, status := range []int{200, 201, 400, 404, 422, 500} {
			f.Add(status, []byte(body))
		}
	}
	const key = "rpa_FUZZFUZZFUZZFUZZFUZZFUZZFUZZ"
	p, err := runpod.NewForTest("https://api.example/v2", key, func(context.Context, time.Duration) error { return nil })
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 599 {
			return
		}
		p.Answering(status, http.Header{"Content-Type": {"application/json"}}, body)
		ctx := t.Context()
		check := func(what string, v any, err error) {
			data, jsonErr := json.Marshal(v)
			if jsonErr != nil {
				t.Errorf("%s: %v", what, jsonErr)
			}
			if err == nil {
				return
			}
			if text := err.Error(); strings.Contains(text, key) || strings.ContainsAny(text, "\x00\x1b\r") || len(text) > 4096 {
				t.Errorf("%s says %q", what, text)
			}
			_ = data
		}
		pod, err := p.GetPod(ctx, "p1")
		check("read", pod, err)
		checkPod(t, pod)
		pod, err = p.CreatePod(ctx, providers.CreatePod{Marker: providers.Marker{RunID: "r", Lineage: "l", Attempt: "overbrainer-r-1"}, GPUType: "A", GPUCount: 1, Image: "i", DiskGB: 1})
		check("create", pod, err)
		checkPod(t, pod)
		pods, err := p.ListPods(ctx)
		check("list", pods, err)
		for _, pod := range pods.Pods {
			checkPod(t, pod)
		}
		catalog, err := p.Catalog(ctx, providers.CatalogQuery{GPUCount: 1})
		check("catalog", catalog, err)
		secrets, err := p.ListSecrets(ctx, "")
		check("secrets", secrets, err)
		volumes, err := p.ListVolumes(ctx)
		check("volumes", volumes, err)
		templates, err := p.ListTemplates(ctx)
		check("templates", templates, err)
		existed, err := p.DeletePod(ctx, "p1")
		check("delete", existed, err)
	})
}

func checkPod(t *testing.T, p providers.Pod) {
	if p.RatePerHour < 0 || p.RatePerHour > 1e6 || p.DiskGB < 0 || p.PersistentGB < 0 || p.GPUCount < 0 {
		t.Errorf("numbers of %+v", p)
	}
	for _, text := range []string{p.Name, p.GPUType, p.DataCenter, p.Marker.RunID, p.Marker.Lineage, p.CUDA} {
		if strings.ContainsAny(text, "\x00\x1b\r\n") {
			t.Errorf("%q is not printable", text)
		}
	}
}
