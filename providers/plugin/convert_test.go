package plugin

import (
	"reflect"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers"
)

// TestPodsCrossWhole sets every field of a pod, so that one that is added and
// not carried is noticed.
func TestPodsCrossWhole(t *testing.T) {
	pod := providers.Pod{
		ID: "pod_a", Name: "overbrainer-r-1", Marker: providers.Marker{RunID: "r", Lineage: "l", Attempt: "overbrainer-r-1"},
		Status: providers.Exited, RatePerHour: 0.44, GPUType: "NVIDIA A40", GPUCount: 2, Cloud: providers.Community,
		DataCenter: "EU-RO-1", CUDA: "12.8", DiskGB: 50, PersistentGB: 120, VolumeID: "vol_1",
		SSH: &providers.Endpoint{Host: "203.0.113.9", Port: 40122, User: "root"}, CreatedAt: time.Date(2026, 11, 29, 9, 14, 2, 0, time.UTC),
	}
	for i := range reflect.TypeFor[providers.Pod]().NumField() {
		if reflect.ValueOf(pod).Field(i).IsZero() {
			t.Errorf("%s is not set here", reflect.TypeFor[providers.Pod]().Field(i).Name)
		}
	}
	if got := podFrom(podTo(pod)); !reflect.DeepEqual(got, pod) {
		t.Errorf("\n got %+v\nwant %+v", got, pod)
	}
}

// TestCatalogsCrossWhole does the same for a catalog's own fields.
func TestCatalogsCrossWhole(t *testing.T) {
	catalog := providers.Catalog{
		GPUs: []providers.GPUType{{ID: "NVIDIA A40", Name: "A40", VRAMGB: 48, Offered: true, Price: 0.44, MaxCount: 8,
			Stock: providers.LowStock, DataCenters: []providers.PlaceStock{{DataCenter: "EU-RO-1", Stock: providers.LowStock}}}},
		DataCenters: []providers.DataCenter{{ID: "EU-RO-1", Name: "EU-RO-1", Region: "EUROPE", VolumeTypes: []string{"standard"},
			GPUs: []providers.GPUStock{{GPUType: "NVIDIA A40", Stock: providers.LowStock}}}},
		Free: true, DiskIncluded: true, ServerTime: time.Date(2026, 11, 29, 9, 14, 2, 0, time.UTC),
	}
	for i := range reflect.TypeFor[providers.Catalog]().NumField() {
		if reflect.ValueOf(catalog).Field(i).IsZero() {
			t.Errorf("%s is not set here", reflect.TypeFor[providers.Catalog]().Field(i).Name)
		}
	}
	if got := catalogFrom(catalogTo(catalog)); !reflect.DeepEqual(got, catalog) {
		t.Errorf("\n got %+v\nwant %+v", got, catalog)
	}
}
