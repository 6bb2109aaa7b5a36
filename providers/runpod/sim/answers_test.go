package sim_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/overbrainer/overbrainer/providers/runpod/sim"
)

// TestAnswersFilesLoad arms every collected answers file there is, each of its
// sequences.
func TestAnswersFilesLoad(t *testing.T) {
	dir := casesDir(t)
	files, err := filepath.Glob(filepath.Join(dir, "*.answers.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no answers files in %s: %v", dir, err)
	}
	w := serve(t, sim.Options{Form: sim.FormRelocated})
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if err := w.ctl.FaultFile(t.Context(), file, 0); err != nil {
				t.Error(err)
			}
			st, err := w.ctl.Status(t.Context())
			if err != nil || len(st.Faults) == 0 {
				t.Errorf("armed %v, %v", st.Faults, err)
			}
		})
	}
	for _, file := range []string{"placement-400-means-two-things", "placement-402-403-429"} {
		for n := 1; n <= 4; n++ {
			err := w.ctl.FaultFile(t.Context(), filepath.Join(dir, file+".answers.json"), n)
			if (err == nil) != (n <= 3) {
				t.Errorf("%s, sequence %d: %v", file, n, err)
			}
		}
	}
}

// casesDir finds the collection of answers files, which is not part of the
// project.
func casesDir(t *testing.T) string {
	t.Helper()
	for _, up := range []string{"../../../../shared/cases", "../../../testdata/cases"} {
		if _, err := os.Stat(up); err == nil {
			return up
		}
	}
	t.Skip("the collection of answers files is not here")
	return ""
}

func TestAnswersPlay(t *testing.T) {
	dir := casesDir(t)
	w := serve(t, sim.Options{Form: sim.FormRelocated})
	play := func(t *testing.T, name string) {
		t.Helper()
		w.t = t
		if err := w.ctl.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.ctl.FaultFile(t.Context(), filepath.Join(dir, name+".answers.json"), 0); err != nil {
			t.Fatal(err)
		}
	}
	create := func() answer {
		body := podBody("sleep 1000", map[string]string{"RUN": "r-1"})
		body["dataCenterIds"] = []string{"EU-RO-1"}
		return w.call("POST", "pods", body)
	}
	pods := func() []any { return w.want(w.call("GET", "pods", nil), 200).body["pods"].([]any) }
	held := func() int {
		st, err := w.ctl.Status(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		return len(st.Pods)
	}

	t.Run("create-500", func(t *testing.T) {
		play(t, "money-create-500-pod-exists")
		w.want(create(), 500)
		if held() != 1 || len(pods()) != 0 || len(pods()) != 0 {
			t.Fatal("the pod must exist and lag behind in the list")
		}
		list := pods()
		if len(list) != 1 || list[0].(map[string]any)["env"].(map[string]any)["RUN"] != "r-1" {
			t.Fatalf("list: %v", list)
		}
		id := list[0].(map[string]any)["id"].(string)
		if got := w.want(w.call("GET", "pods/"+id, nil), 200).body; got["id"] != id || got["cost"] != 0.4 || got["name"] != "overbrainer-r-1" {
			t.Errorf("read: %v", got)
		}
		w.want(w.call("DELETE", "pods/"+id, nil), 204)
		w.want(w.call("GET", "pods/"+id, nil), 404)
	})
	t.Run("answer-lost", func(t *testing.T) {
		play(t, "money-create-answer-lost")
		if a := create(); a.err == nil {
			t.Fatalf("answered %s", a.text)
		}
		if len(pods()) != 1 {
			t.Error("the pod must be in the list")
		}
	})
	t.Run("fresh-404", func(t *testing.T) {
		play(t, "money-fresh-pod-404")
		id := w.want(create(), 201).body["id"].(string)
		for range 8 {
			w.want(w.call("GET", "pods/"+id, nil), 404)
		}
		w.until("address", func() bool {
			direct, _ := w.want(w.call("GET", "pods/"+id, nil), 200).body["ssh"].(map[string]any)["direct"].(map[string]any)
			return direct != nil && direct["port"].(float64) > 0
		})
	})
	t.Run("delete-twice", func(t *testing.T) {
		play(t, "money-delete-500-twice")
		id := w.want(create(), 201).body["id"].(string)
		w.want(w.call("GET", "pods/"+id, nil), 200)
		w.want(w.call("DELETE", "pods/"+id, nil), 500)
		w.want(w.call("DELETE", "pods/"+id, nil), 500)
		w.want(w.call("DELETE", "pods/"+id, nil), 204)
		w.want(w.call("GET", "pods/"+id, nil), 404)
		if held() != 0 {
			t.Error("the pod is still there")
		}
	})
	t.Run("vanishes", func(t *testing.T) {
		play(t, "ready-deleted-elsewhere")
		id := w.want(create(), 201).body["id"].(string)
		for range 3 {
			if s := w.want(w.call("GET", "pods/"+id, nil), 200).body["status"]; s != "STARTING" {
				t.Errorf("status %v", s)
			}
		}
		w.want(w.call("GET", "pods/"+id, nil), 404)
		if held() != 0 || len(pods()) != 0 {
			t.Error("the pod is still there")
		}
	})
	t.Run("taken-away", func(t *testing.T) {
		play(t, "job-taken-away")
		id := w.want(create(), 201).body["id"].(string)
		for range 30 {
			w.want(w.call("GET", "pods/"+id, nil), 200)
		}
		if s := w.want(w.call("GET", "pods/"+id, nil), 200).body["status"]; s != "EXITED" {
			t.Errorf("status %v", s)
		}
		if s := pods()[0].(map[string]any)["status"]; s != "EXITED" {
			t.Errorf("listed as %v", s)
		}
	})
	t.Run("already-gone", func(t *testing.T) {
		play(t, "money-delete-500-twice") // for a catalog and an account
		if err := w.ctl.ClearFaults(t.Context()); err != nil {
			t.Fatal(err)
		}
		a := w.want(create(), 201).body["id"].(string)
		b := w.want(create(), 201).body["id"].(string)
		if err := w.ctl.FaultFile(t.Context(), filepath.Join(dir, "destroy-already-gone.answers.json"), 0); err != nil {
			t.Fatal(err)
		}
		w.want(w.call("GET", "pods/"+a, nil), 404)
		w.want(w.call("DELETE", "pods/"+a, nil), 404)
		w.want(w.call("GET", "pods/"+b, nil), 200)
		if len(pods()) != 1 {
			t.Error("one pod must be left")
		}
		w.want(w.call("DELETE", "pods/"+b, nil), 204)
	})
	t.Run("two-attempts", func(t *testing.T) {
		play(t, "money-boot-attempts-count")
		for range 2 {
			id := w.want(create(), 201).body["id"].(string)
			for range 3 {
				got := w.want(w.call("GET", "pods/"+id, nil), 200).body
				if got["status"] != "STARTING" || got["ssh"].(map[string]any)["direct"] != nil {
					t.Errorf("read: %v", got)
				}
			}
			w.want(w.call("DELETE", "pods/"+id, nil), 204)
			w.want(w.call("GET", "pods/"+id, nil), 404)
		}
	})
	t.Run("stopped-pods", func(t *testing.T) {
		play(t, "money-stopped-pods-bill")
		list := pods()
		if len(list) != 2 {
			t.Fatalf("list: %v", list)
		}
		for _, p := range list {
			p := p.(map[string]any)
			if p["status"] != "EXITED" || p["mounts"].(map[string]any)["persistent"].(map[string]any)["size"] != 120.0 {
				t.Errorf("listed: %v", p)
			}
			w.want(w.call("DELETE", "pods/"+p["id"].(string), nil), 204)
		}
		if held() != 0 || len(pods()) != 0 {
			t.Error("pods are left")
		}
	})
	t.Run("cuda", func(t *testing.T) {
		play(t, "ready-cuda-too-old")
		a := w.want(create(), 201).body
		if a["cudaVersion"] != "12.4" {
			t.Errorf("first: %v", a["cudaVersion"])
		}
		w.want(w.call("DELETE", "pods/"+a["id"].(string), nil), 204)
		b := w.want(create(), 201).body
		if b["cudaVersion"] != "12.8" || b["id"] == a["id"] {
			t.Errorf("second: %v", b)
		}
	})
	t.Run("prices", func(t *testing.T) {
		play(t, "price-catalog-moves")
		query := "catalog/gpus?include=AVAILABILITY&product=POD&cloud=SECURE&count=1"
		first := w.want(w.call("GET", query, nil), 200).body["gpus"].([]any)
		second := w.want(w.call("GET", query, nil), 200).body["gpus"].([]any)
		price := func(g any) any { return g.(map[string]any)["price"].(map[string]any)["secure"] }
		if len(first) != 3 || price(first[0]) != 0.44 || len(second) != 2 || price(second[0]) != 0.59 || second[0].(map[string]any)["availability"] != "LOW" {
			t.Errorf("first %v second %v", first, second)
		}
	})
	t.Run("log", func(t *testing.T) {
		play(t, "ready-disk-too-small")
		id := w.want(create(), 201).body["id"].(string)
		w.log(id, "no space left on device")
	})
	t.Run("limit", func(t *testing.T) {
		play(t, "placement-402-403-429")
		w.want(create(), 402)
		if held() != 0 {
			t.Error("something was created")
		}
	})
}

// An answer that names no GPU type was written for the one that is asked for
// first: a pod of another type costs its own price.
func TestAnswersCostIsThatOfTheirType(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"two.answers.json": `{"answers":[{"on":"create pod","status":201,"body":{"id":"pod_a","status":"PROVISIONING","cost":0.7}}]}`,
		"catalog.json": `{"gpus":[
			{"id":"NVIDIA A40","memory":48,"secure":true,"price":{"secure":0.5},"maxCount":{"secure":8},"dataCenters":[{"id":"EU-RO-1","availability":"HIGH"}]},
			{"id":"NVIDIA L4","memory":24,"secure":true,"price":{"secure":0.7},"maxCount":{"secure":8},"dataCenters":[{"id":"EU-RO-1","availability":"HIGH"}]}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := serve(t, sim.Options{Form: sim.FormRelocated})
	if err := w.ctl.FaultFile(t.Context(), filepath.Join(dir, "two.answers.json"), 0); err != nil {
		t.Fatal(err)
	}
	for gpu, want := range map[string]float64{"NVIDIA L4": 0.7, "NVIDIA A40": 0.5} {
		body := podBody("sleep 1000", nil)
		body["gpu"] = map[string]any{"id": gpu, "count": 1}
		if got := w.want(w.call("POST", "pods", body), 201).body; got["cost"] != want {
			t.Errorf("%s costs %v, not %v", gpu, got["cost"], want)
		}
	}
}
