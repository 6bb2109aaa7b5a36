package runpod_test

import (
	"net/url"
	"testing"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/runpod"
	"github.com/overbrainer/overbrainer/providers/runpod/openapitest"
)

// TestRequestsFitTheDescription makes every request that the client knows and
// checks it against the API's published description.
func TestRequestsFitTheDescription(t *testing.T) {
	spec := openapitest.Load(t)
	for _, a := range openapitest.Amendments {
		t.Logf("newer rule: %s, since %s", a.Rule, a.Why)
	}
	full := request()
	full.MinCUDA, full.DataCenters, full.VolumeID, full.Registry = "12.8", []string{"EU-RO-1"}, "v7k2p0xw3d", "reg"
	byTemplate := request()
	byTemplate.Image, byTemplate.Template, byTemplate.DiskGB, byTemplate.Command = "", "tpl", 0, nil
	made := reply{status: 201, body: podBody}
	empty := reply{status: 200, body: "{}"}
	more := reply{status: 200, body: `{"pagination":{"hasNextPage":true,"nextCursor":"c2"}}`}
	taken := []reply{problem(409, "taken"), {status: 200, body: `{"secrets":[{"id":"s1","name":"overbrainer_host_key_r-1"}]}`}, {status: 200, body: `{"id":"s1"}`}}
	for name, test := range map[string]struct {
		script   []reply
		requests int
		call     func(*runpod.Provider) error
	}{
		"create":      {[]reply{made}, 1, func(p *runpod.Provider) error { _, err := p.CreatePod(ctx, request()); return err }},
		"create full": {[]reply{made}, 1, func(p *runpod.Provider) error { _, err := p.CreatePod(ctx, full); return err }},
		"create from a template": {[]reply{made}, 1, func(p *runpod.Provider) error {
			_, err := p.CreatePod(ctx, byTemplate)
			return err
		}},
		"get":    {[]reply{{status: 200, body: `{"id":"p1"}`}}, 1, func(p *runpod.Provider) error { _, err := p.GetPod(ctx, "p1"); return err }},
		"list":   {[]reply{more, empty}, 2, func(p *runpod.Provider) error { _, err := p.ListPods(ctx); return err }},
		"delete": {[]reply{{status: 204}}, 1, func(p *runpod.Provider) error { _, err := p.DeletePod(ctx, "p1"); return err }},
		"logs": {[]reply{{status: 200, body: "", headers: map[string]string{"Content-Type": "text/event-stream"}}}, 1, func(p *runpod.Provider) error {
			return p.PodLogs(ctx, providers.LogRequest{PodID: "p1"}, nil)
		}},
		"logs since": {[]reply{{status: 400}, {status: 200, headers: map[string]string{"Content-Type": "text/event-stream"}}}, 2, func(p *runpod.Provider) error {
			return p.PodLogs(ctx, providers.LogRequest{PodID: "p1", Cursor: "2026-11-29T09:15:07Z/1"}, nil)
		}},
		"catalog": {[]reply{empty}, 2, func(p *runpod.Provider) error {
			_, err := p.Catalog(ctx, providers.CatalogQuery{Cloud: providers.Community, GPUCount: 8, MinCUDA: "12.8"})
			return err
		}},
		"volumes": {[]reply{empty}, 1, func(p *runpod.Provider) error { _, err := p.ListVolumes(ctx); return err }},
		"volume":  {[]reply{empty}, 1, func(p *runpod.Provider) error { _, err := p.GetVolume(ctx, "v 1"); return err }},
		"create volume": {[]reply{empty}, 1, func(p *runpod.Provider) error {
			_, err := p.CreateVolume(ctx, providers.CreateVolume{Name: "n", SizeGB: 10, DataCenter: "EU-RO-1", Type: "high_performance"})
			return err
		}},
		"resize volume": {[]reply{empty}, 1, func(p *runpod.Provider) error { _, err := p.ResizeVolume(ctx, "v1", 20); return err }},
		"delete volume": {[]reply{{status: 204}}, 1, func(p *runpod.Provider) error { _, err := p.DeleteVolume(ctx, "v1"); return err }},
		"templates":     {[]reply{more, empty}, 2, func(p *runpod.Provider) error { _, err := p.ListTemplates(ctx); return err }},
		"secrets":       {[]reply{empty}, 1, func(p *runpod.Provider) error { _, err := p.ListSecrets(ctx, "n"); return err }},
		"put secret": {taken, 3, func(p *runpod.Provider) error {
			_, err := p.PutSecret(ctx, "overbrainer_host_key_r-1", hostKey)
			return err
		}},
		"delete secret": {[]reply{{status: 204}}, 1, func(p *runpod.Provider) error { _, err := p.DeleteSecret(ctx, "s1"); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, test.script...)
			if err := test.call(a.provider()); err != nil {
				t.Fatal(err)
			}
			a.count(test.requests)
			for _, r := range a.got() {
				query, err := url.ParseQuery(r.query)
				if err != nil {
					t.Error(err)
				}
				if err := spec.Request(r.method, r.path, query, []byte(r.body)); err != nil {
					t.Error(err)
				}
				if r.body != "" && r.header.Get("Content-Type") != "application/json" {
					t.Errorf("content type %q", r.header.Get("Content-Type"))
				}
			}
		})
	}
	for _, action := range []string{"terminate", "stop"} {
		if err := spec.Request("POST", "/v2/pods/p1/action", nil, []byte(`{"action":"`+action+`"}`)); err != nil {
			t.Errorf("the guard's request: %v", err)
		}
	}
}
