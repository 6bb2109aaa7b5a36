package runpod_test

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers"
)

func TestCatalog(t *testing.T) {
	gpus := reply{status: 200, headers: map[string]string{"Date": "Sun, 29 Nov 2026 10:00:00 GMT"}, body: `{"gpus":[
		{"id":"NVIDIA L40S","name":"L40S","memory":48,"secure":true,"community":false,"price":{"secure":1.09,"community":0.79,"serverless":1},
		 "maxCount":{"secure":8,"community":2},"availability":"MEDIUM","dataCenters":[{"id":"US-NC-1","name":"x","availability":"LOW"}],"cudaVersions":[]},
		{"id":"unknown","name":"unknown","memory":0},
		{"id":"NVIDIA  A40","name":null,"memory":null,"secure":null,"community":null,"price":null,"maxCount":null,"availability":null,"dataCenters":null,"new":{}},
		{"id":"NVIDIA  A40","memory":1}, null,
		{"id":"free","secure":false,"price":{"secure":0},"availability":"PLENTY"}]}`}
	places := reply{status: 200, body: `{"dataCenters":[{"id":"EU-FR-1","name":"EU-FR-1","region":"EUROPE","networkVolumeTypes":["HIGH_PERFORMANCE"],
		"gpuAvailability":[{"id":"NVIDIA H100 80GB HBM3","availability":"LOW"}]},{"id":"AP-IN-1","networkVolumeTypes":null}]}`}
	a := newAPI(t, gpus, places)
	got, err := a.provider().Catalog(ctx, providers.CatalogQuery{MinCUDA: "12.8"})
	if err != nil {
		t.Fatal(err)
	}
	want := providers.Catalog{
		GPUs: []providers.GPUType{
			{ID: "NVIDIA L40S", Name: "L40S", VRAMGB: 48, Offered: true, Price: 1.09, MaxCount: 8, Stock: providers.MediumStock,
				DataCenters: []providers.PlaceStock{{DataCenter: "US-NC-1", Stock: providers.LowStock}}},
			{ID: "NVIDIA  A40", Offered: true, Stock: providers.UnknownStock},
			{ID: "free", Stock: providers.UnknownStock},
		},
		DataCenters: []providers.DataCenter{
			{ID: "EU-FR-1", Name: "EU-FR-1", Region: "EUROPE", VolumeTypes: []string{"high_performance"},
				GPUs: []providers.GPUStock{{GPUType: "NVIDIA H100 80GB HBM3", Stock: providers.LowStock}}},
			{ID: "AP-IN-1"},
		},
		ServerTime: time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	r := a.got()
	if q := r[0].query; r[0].path != "/v2/catalog/gpus" || q != "cloud=SECURE&count=1&include=AVAILABILITY&minCudaVersion=12.8&product=POD" {
		t.Errorf("%s?%s", r[0].path, q)
	}
	if r[1].path != "/v2/catalog/datacenters" || r[1].query != "include=GPU_AVAILABILITY" {
		t.Errorf("%s?%s", r[1].path, r[1].query)
	}

	a = newAPI(t, gpus, places)
	got, err = a.provider().Catalog(ctx, providers.CatalogQuery{Cloud: providers.Community, GPUCount: 4})
	if err != nil {
		t.Fatal(err)
	}
	if g := got.GPUs[0]; g.Offered || g.Price != 0.79 || g.MaxCount != 2 {
		t.Errorf("%+v", g)
	}
	if q, _ := url.ParseQuery(a.got()[0].query); q.Get("cloud") != "COMMUNITY" || q.Get("count") != "4" {
		t.Errorf("%v", q)
	}
}

func TestVolumes(t *testing.T) {
	one := `{"id":"v7k2p0xw3d","name":"corpus","size":1500,"dataCenter":"EU-RO-1","type":"STANDARD"}`
	want := providers.Volume{ID: "v7k2p0xw3d", Name: "corpus", SizeGB: 1500, DataCenter: "EU-RO-1", Type: "standard", MonthlyUSD: 95}
	list := newAPI(t, reply{status: 200, body: `{"networkVolumes":[` + one + `,{"id":"old","dataCenterId":"EU-FR-1","type":"HIGH_PERFORMANCE","size":10}]}`})
	got, err := list.provider().ListVolumes(ctx)
	if err != nil || len(got) != 2 || got[0] != want || got[1] != (providers.Volume{ID: "old", SizeGB: 10, DataCenter: "EU-FR-1", Type: "high_performance"}) {
		t.Errorf("%+v, %v", got, err)
	}
	a := newAPI(t, reply{status: 200, body: one})
	if v, err := a.provider().GetVolume(ctx, "a/b c"); err != nil || v != want || a.got()[0].path != "/v2/network-volumes/a%2Fb%20c" {
		t.Errorf("%+v, %v, %s", v, err, a.got()[0].path)
	}
	a = newAPI(t, reply{status: 201, body: one})
	if v, err := a.provider().CreateVolume(ctx, providers.CreateVolume{Name: "corpus", SizeGB: 1500, DataCenter: "EU-RO-1", Type: "standard"}); err != nil || v != want {
		t.Errorf("%+v, %v", v, err)
	}
	if b := a.got()[0].body; b != `{"name":"corpus","size":1500,"dataCenter":"EU-RO-1","type":"STANDARD"}` {
		t.Error(b)
	}
	a = newAPI(t, reply{status: 503})
	_, err = a.provider().CreateVolume(ctx, providers.CreateVolume{Name: "x", SizeGB: 10, DataCenter: "y"})
	wantError(t, err, providers.Ambiguous, 503)
	a.count(1)

	a = newAPI(t, reply{status: 503})
	_, err = a.provider().ResizeVolume(ctx, "v1", 2000)
	wantError(t, err, providers.Ambiguous, 503)
	a.count(2)
	if r := a.got()[1]; r.method != "PATCH" || r.body != `{"size":2000}` {
		t.Errorf("%+v", r)
	}
	a = newAPI(t, problem(400, "size must not shrink"))
	_, err = a.provider().ResizeVolume(ctx, "v1", 2)
	wantError(t, err, providers.Rejected, 400, "shrink")
	if existed, err := newAPI(t, problem(404, "resource not found")).provider().DeleteVolume(ctx, "v1"); existed || err != nil {
		t.Errorf("%v, %v", existed, err)
	}
	_, err = newAPI(t).provider().DeleteVolume(ctx, "")
	wantError(t, err, providers.Invalid, 0)
}

func TestSecrets(t *testing.T) {
	if list, err := newAPI(t, reply{status: 200, body: `{"secrets":null}`}).provider().ListSecrets(ctx, ""); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	two := reply{status: 200, body: `{"secrets":[{"id":"s0","name":"Overbrainer_Host_Key_r","createdAt":"2026-09-02T07:41:10Z"},
		{"id":"s1","name":"overbrainer_host_key_r","createdAt":"2026-09-02T07:41:10.5Z"}]}`}
	a := newAPI(t, two)
	list, err := a.provider().ListSecrets(ctx, "overbrainer_host_key_r")
	if err != nil || len(list) != 1 || list[0].ID != "s1" || list[0].CreatedAt.IsZero() || a.got()[0].query != "name=overbrainer_host_key_r" {
		t.Errorf("%+v, %v, %+v", list, err, a.got())
	}
	// A name that is taken: the one that has exactly this name gets the value.
	a = newAPI(t, reply{status: 503}, problem(409, "name taken"), two, reply{status: 200, body: `{"id":"s1","name":"overbrainer_host_key_r"}`})
	s, err := a.provider().PutSecret(ctx, "overbrainer_host_key_r", hostKey)
	if err != nil || s.ID != "s1" {
		t.Errorf("%+v, %v", s, err)
	}
	a.count(4)
	r := a.got()
	if r[1].body != `{"name":"overbrainer_host_key_r","value":"`+hostKey+`"}` || r[3].method != "PATCH" ||
		r[3].path != "/v2/account/secrets/s1" || r[3].body != `{"value":"`+hostKey+`"}` {
		t.Errorf("%+v", r)
	}
	noSecret(t, fmt.Sprintf("%+v", s))

	a = newAPI(t, problem(409, "taken"), reply{status: 200, body: `{"secrets":[]}`})
	_, err = a.provider().PutSecret(ctx, "n", hostKey)
	wantError(t, err, providers.Conflict, 409, "does not list it")
	_, err = newAPI(t, problem(403, "no "+hostKey)).provider().PutSecret(ctx, "n", hostKey)
	wantError(t, err, providers.Forbidden, 403, "read and write access")
	_, err = newAPI(t, problem(422, "bad value: "+hostKey)).provider().PutSecret(ctx, "n", hostKey)
	wantError(t, err, providers.Invalid, 422, "invalid")
	if strings.Contains(err.Error(), "bad value") {
		t.Errorf("%v shows what the API said", err)
	}
	a = newAPI(t, reply{status: 500}, reply{status: 204})
	if existed, err := a.provider().DeleteSecret(ctx, "s/1"); err != nil || !existed || a.got()[1].path != "/v2/account/secrets/s%2F1" {
		t.Errorf("%v, %v", existed, err)
	}
	if existed, err := newAPI(t, problem(404, "resource not found")).provider().DeleteSecret(ctx, "s1"); err != nil || existed {
		t.Errorf("%v, %v", existed, err)
	}
}

// Of a template that is listed twice the first counts, serverless ones are no
// pods', and its environment is never read.
func TestTemplates(t *testing.T) {
	a := newAPI(t,
		reply{status: 200, body: `{"templates":[{"id":"t1","name":"one","image":"i:1","disk":200,"env":{"A":"secret"}},
			{"id":"s1","serverless":true},{"id":"t1","name":"again"},null],"pagination":{"hasNextPage":true,"nextCursor":"c"}}`},
		reply{status: 200, body: `{"templates":[{"id":"t2"}]}`})
	got, err := a.provider().ListTemplates(ctx)
	want := []providers.Template{{ID: "t1", Name: "one", Image: "i:1", DiskGB: 200}, {ID: "t2"}}
	if err != nil || !reflect.DeepEqual(got, want) || a.got()[0].query != "limit=100" {
		t.Errorf("%+v, %v", got, err)
	}
}
