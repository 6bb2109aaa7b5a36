package sim_test

import (
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers/runpod/sim"
)

func TestNamedFaults(t *testing.T) {
	w := serve(t, sim.Options{Form: sim.FormRelocated})
	create := func() answer { return w.call("POST", "pods", podBody("sleep 100", nil)) }
	const cut = -1
	for _, c := range []struct {
		fault sim.Fault
		// status of each create in turn; cut: no answer
		creates []int
		pods    int // that exist then
	}{
		{sim.Fault{Name: "create-500-after-effect"}, []int{500, 201}, 2},
		{sim.Fault{Name: "create-500-no-effect", Times: 2}, []int{500, 500, 201}, 1},
		{sim.Fault{Name: "create-500-no-effect", At: 2}, []int{201, 500, 201}, 2},
		{sim.Fault{Name: "create-500-after-effect", GPU: "NVIDIA A40"}, []int{500, 201}, 2},
		{sim.Fault{Name: "create-500-after-effect", GPU: "NVIDIA L4"}, []int{201}, 1},
		{sim.Fault{Name: "create-reset"}, []int{cut, 201}, 2},
		{sim.Fault{Name: "create-reset-no-effect"}, []int{cut, 201}, 1},
		{sim.Fault{Name: "create-unreadable"}, []int{201}, 1},
		{sim.Fault{Name: "cut-answer", On: "create pod"}, []int{201}, 1},
		{sim.Fault{Name: "capacity"}, []int{400, 201}, 1},
		{sim.Fault{Name: "capacity:NVIDIA A40"}, []int{400, 400}, 0},
		{sim.Fault{Name: "capacity:NVIDIA L40S"}, []int{201}, 1},
		{sim.Fault{Name: "forbidden:NVIDIA A40", Times: 1}, []int{403, 201}, 1},
		{sim.Fault{Name: "no-credits"}, []int{402}, 0},
		{sim.Fault{Name: "422"}, []int{422}, 0},
		{sim.Fault{Name: "429:7"}, []int{429, 201}, 1},
		{sim.Fault{Name: "cmd-unknown"}, []int{422, 422}, 0},
		{sim.Fault{Name: "api-down:60"}, []int{cut, cut}, 0},
		{sim.Fault{Name: "500-after-effect"}, []int{500}, 1},
	} {
		t.Run(c.fault.Name, func(t *testing.T) {
			w.t = t
			if err := w.ctl.Reset(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := w.ctl.Fault(t.Context(), c.fault); err != nil {
				t.Fatal(err)
			}
			for i, want := range c.creates {
				a := create()
				switch {
				case want == cut && a.err == nil, want != cut && a.status != want:
					t.Errorf("create %d: %d %v %s", i+1, a.status, a.err, a.text)
				case want == 429 && a.header.Get("Retry-After") != "7":
					t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
				}
			}
			st, err := w.ctl.Status(t.Context())
			if err != nil || len(st.Pods) != c.pods {
				t.Errorf("%d pods, %v", len(st.Pods), err)
			}
			journal, err := w.ctl.Journal(t.Context(), 0)
			if err != nil || len(journal) != len(c.creates) {
				t.Errorf("journal: %v %v", journal, err)
			}
		})
	}
}

func TestFaultsOfPods(t *testing.T) {
	w := serve(t, sim.Options{Form: sim.FormRelocated})
	arm := func(t *testing.T, name string) {
		t.Helper()
		w.t = t
		if err := w.ctl.Fault(t.Context(), sim.Fault{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	running := func() string {
		w.t.Helper()
		id := w.want(w.call("POST", "pods", podBody("nvidia-smi -L | grep -c GPU; echo up; exec sleep 100", nil)), 201).body["id"].(string)
		w.log(id, `"up"`)
		return id
	}
	t.Run("delete-ignored", func(t *testing.T) {
		arm(t, "delete-ignored")
		id := running()
		w.want(w.call("DELETE", "pods/"+id, nil), 204)
		w.want(w.call("GET", "pods/"+id, nil), 200)
		w.want(w.call("DELETE", "pods/"+id, nil), 204)
		w.want(w.call("GET", "pods/"+id, nil), 404)
	})
	t.Run("dearer", func(t *testing.T) {
		arm(t, "dearer")
		a := w.want(w.call("POST", "pods", podBody("true", nil)), 201).body["cost"].(float64)
		b := w.want(w.call("POST", "pods", podBody("true", nil)), 201).body["cost"].(float64)
		if a != 1.5*b {
			t.Errorf("%v and %v", a, b)
		}
	})
	t.Run("elsewhere", func(t *testing.T) {
		arm(t, "elsewhere")
		body := podBody("true", nil)
		body["dataCenterIds"] = []string{"EU-RO-1"}
		if at := w.want(w.call("POST", "pods", body), 201).body["dataCenterId"]; at == "EU-RO-1" {
			t.Errorf("at %v", at)
		}
	})
	t.Run("wrong-gpu-count", func(t *testing.T) {
		arm(t, "wrong-gpu-count")
		id := running()
		w.log(id, `"0"`)
		if n := w.want(w.call("GET", "pods/"+id, nil), 200).body["gpu"].(map[string]any)["count"]; n != 1.0 {
			t.Errorf("the API tells %v", n)
		}
	})
	t.Run("ssh-never", func(t *testing.T) {
		arm(t, "ssh-never")
		id := running()
		if d := w.want(w.call("GET", "pods/"+id, nil), 200).body["ssh"].(map[string]any)["direct"]; d != nil {
			t.Errorf("mapped to %v", d)
		}
	})
	t.Run("pod-exits", func(t *testing.T) {
		w.t = t
		id := running()
		arm(t, "pod-exits")
		if a := w.want(w.call("GET", "pods/"+id, nil), 200); a.body["status"] != "EXITED" {
			t.Errorf("status %v", a.body["status"])
		}
	})
	t.Run("pod-dies", func(t *testing.T) {
		w.t = t
		id := running()
		arm(t, "pod-dies")
		w.want(w.call("GET", "pods/"+id, nil), 404)
	})
	t.Run("ssh-silent", func(t *testing.T) {
		w.t = t
		id := running()
		arm(t, "ssh-silent")
		c, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(w.port(id)))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil || !err.(net.Error).Timeout() {
			t.Errorf("read %d, %v", n, err)
		}
	})
	t.Run("a pod that is to come", func(t *testing.T) {
		w.t = t
		if err := w.ctl.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
		arm(t, "pod-dies")
		id := w.want(w.call("POST", "pods", podBody("exec sleep 100", nil)), 201).body["id"].(string)
		w.until("the pod is gone", func() bool { return w.call("GET", "pods/"+id, nil).status == 404 })
	})
	t.Run("secrets", func(t *testing.T) {
		arm(t, "secrets-403")
		w.want(w.call("GET", "account/secrets", nil), 403)
		w.want(w.call("POST", "account/secrets", map[string]any{"name": "a", "value": "b"}), 403)
		if err := w.ctl.ClearFaults(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.want(w.call("POST", "account/secrets", map[string]any{"name": "a", "value": "b"}), 201)
	})
	for _, bad := range []sim.Fault{{Name: "nonsense"}, {Name: "no-credits:x"}, {Name: "capacity:none"}, {Name: "500", On: "nonsense"}, {Name: "read-404", On: "create pod"}, {Name: "429:x"}, {Name: "429:-1"},
		{Name: "ssh-cut:abc"}, {Name: "ssh-cut"}, {Name: "ssh-cut:5x"}, {Name: "ssh-cut:0"}, {Name: "ssh-slow:fast"}, {Name: "ssh-down:x"}, {Name: "ssh-silent:now"}, {Name: "pod-dies:now"}} {
		if err := w.ctl.Fault(t.Context(), bad); err == nil {
			t.Errorf("%+v was armed", bad)
		}
	}
	if err := w.ctl.Fault(t.Context(), sim.Fault{Name: "500", On: "nonsense"}); err == nil || !strings.Contains(err.Error(), "there are: act on pod, create pod, ") {
		t.Errorf("an operation that there is not: %v", err)
	}
	if names := sim.FaultNames(); len(names) < 40 || names[0].Does == "" {
		t.Errorf("%d names", len(names))
	}
}

func TestPricesAndStockCanBeSet(t *testing.T) {
	w := serve(t, sim.Options{Form: sim.FormRelocated})
	ctx := t.Context()
	if err := w.ctl.SetPrice(ctx, "NVIDIA A40", "secure", 9); err != nil {
		t.Fatal(err)
	}
	if err := w.ctl.SetStock(ctx, "NVIDIA A40", "secure", "EU-RO-1", "none"); err != nil {
		t.Fatal(err)
	}
	a := w.want(w.call("GET", "catalog/gpus/NVIDIA%20A40?include=AVAILABILITY&product=POD", nil), 200)
	if a.body["price"].(map[string]any)["secure"] != 9.0 || len(a.body["dataCenters"].([]any)) != 2 {
		t.Errorf("read: %s", a.text)
	}
	if err := w.ctl.SetStock(ctx, "NVIDIA A40", "", "", "none"); err != nil {
		t.Fatal(err)
	}
	w.want(w.call("POST", "pods", podBody("true", nil)), 400)
	if w.ctl.SetPrice(ctx, "RTX 4090", "", 1) == nil || w.ctl.SetStock(ctx, "NVIDIA A40", "", "", "plenty") == nil {
		t.Error("nonsense was taken")
	}
}
