package providertest

import (
	"context"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers"
)

func testPodLife(t *testing.T, s *suite) {
	req := s.request(t)
	made, err := s.Provider.CreatePod(s.ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Provider.GetPod(s.ctx, made.ID)
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.Provider.ListPods(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Pods) != 1 {
		t.Fatalf("%d pods in the list", len(list.Pods))
	}
	for what, p := range map[string]providers.Pod{"create": made, "get": got, "list": list.Pods[0]} {
		if p.ID != made.ID || p.Name != req.Marker.Attempt || p.Marker != req.Marker {
			t.Errorf("%s: pod %q named %q with marker %+v", what, p.ID, p.Name, p.Marker)
		}
		if p.GPUType != req.GPUType || p.GPUCount != 1 || p.RatePerHour <= 0 != s.free || p.DiskGB != req.DiskGB {
			t.Errorf("%s: %d × %s, %v USD an hour, disk %d", what, p.GPUCount, p.GPUType, p.RatePerHour, p.DiskGB)
		}
		if p.Status.Dead() || p.Status == providers.UnknownStatus || p.CreatedAt.IsZero() {
			t.Errorf("%s: status %s, created %s", what, p.Status, p.CreatedAt)
		}
	}
	for i, want := range []bool{true, false} {
		existed, err := s.Provider.DeletePod(s.ctx, made.ID)
		if err != nil || existed != want {
			t.Errorf("delete %d: existed %v, error %v", i+1, existed, err)
		}
	}
	_, err = s.Provider.GetPod(s.ctx, made.ID)
	wantKind(t, "read of a deleted pod", err, providers.NotFound)
	if list, err := s.Provider.ListPods(s.ctx); err != nil || len(list.Pods) != 0 {
		t.Errorf("after the delete: %+v, %v", list.Pods, err)
	}
}

func testUnknownPod(t *testing.T, s *suite) {
	_, err := s.Provider.GetPod(s.ctx, "nosuchpod0001")
	wantKind(t, "read", err, providers.NotFound)
	if existed, err := s.Provider.DeletePod(s.ctx, "nosuchpod0001"); err != nil || existed {
		t.Errorf("delete: %v, %v", existed, err)
	}
	if !s.description.Has(providers.CapLogs) {
		return
	}
	err = s.Provider.PodLogs(s.ctx, providers.LogRequest{PodID: "nosuchpod0001", Follow: true}, func(providers.LogLine) error { return nil })
	wantKind(t, "log", err, providers.NotFound)
}

func testUnknownGPU(t *testing.T, s *suite) {
	req := s.request(t)
	req.GPUType = "No Such GPU"
	_, err := s.Provider.CreatePod(s.ctx, req)
	wantKind(t, "create", err, providers.Capacity, providers.Rejected, providers.Invalid)
	if list, err := s.Provider.ListPods(s.ctx); err != nil || len(list.Pods) != 0 {
		t.Errorf("a refused create left %+v, %v", list.Pods, err)
	}
}

func testCancelledRead(t *testing.T, s *suite) {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	start := time.Now()
	if _, err := s.Provider.ListPods(ctx); err == nil {
		t.Error("a read whose context had ended succeeded")
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

// testLog checks that a log can be asked for and that both forms end: a replay
// by itself, a followed one with its context.
func testLog(t *testing.T, s *suite) {
	if !s.description.Has(providers.CapLogs) {
		t.Skip("no logs")
	}
	made, err := s.Provider.CreatePod(s.ctx, s.request(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = s.Provider.DeletePod(context.WithoutCancel(s.ctx), made.ID) }()
	take := func(providers.LogLine) error { return nil }
	replay, cancel := context.WithTimeout(s.ctx, 20*time.Second)
	defer cancel()
	if err := s.Provider.PodLogs(replay, providers.LogRequest{PodID: made.ID}, take); err != nil {
		t.Errorf("replay: %v", err)
	}
	follow, stop := context.WithTimeout(s.ctx, 200*time.Millisecond)
	defer stop()
	done := make(chan struct{})
	go func() {
		_ = s.Provider.PodLogs(follow, providers.LogRequest{PodID: made.ID, Follow: true}, take)
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Error("following goes on after its context has ended")
	}
}
