package providertest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/providertest"
)

func TestMemoryConforms(t *testing.T) {
	providertest.Run(t, func(*testing.T) providertest.Subject {
		return providertest.Subject{Provider: providertest.NewMemory()}
	})
}

func TestMemoryWithoutOptionalParts(t *testing.T) {
	providertest.Run(t, func(*testing.T) providertest.Subject {
		m := providertest.NewMemory()
		m.Description.Capabilities = nil
		return providertest.Subject{Provider: m}
	})
}

func TestFaults(t *testing.T) {
	ctx := context.Background()
	m := providertest.NewMemory()
	lost := providertest.Error(providers.Ambiguous, "create pod", "no answer")
	done := 0
	m.Fail(providertest.Fault{Op: "CreatePod", Skip: 1, Err: lost, After: true, Do: func() { done++ }})
	m.Fail(providertest.Fault{Op: "ListPods", Times: -1, Err: providertest.Error(providers.Transient, "list pods", "down")})
	for i, want := range []error{nil, lost, nil} {
		_, err := m.CreatePod(ctx, providers.CreatePod{GPUType: "NVIDIA A40"})
		if !errors.Is(err, want) {
			t.Errorf("create %d: %v", i+1, err)
		}
	}
	if len(m.Pods()) != 3 || done != 1 {
		t.Errorf("%d pods, fault called %d times", len(m.Pods()), done)
	}
	for range 2 {
		if _, err := m.ListPods(ctx); !providers.Is(err, providers.Transient) {
			t.Error(err)
		}
	}
	if m.Count("CreatePod") != 3 || m.Count("ListPods") != 2 {
		t.Errorf("calls %+v", m.Calls())
	}
}

func TestFollowedLog(t *testing.T) {
	m := providertest.NewMemory()
	id := m.AddPod(providers.Pod{})
	m.Log(id, "one", "two")
	var got []string
	err := m.PodLogs(context.Background(), providers.LogRequest{PodID: id, Follow: true}, func(l providers.LogLine) error {
		got = append(got, l.Text)
		switch l.Text {
		case "two":
			go m.Log(id, "three")
		case "three":
			go m.Take(id)
		}
		return nil
	})
	if !providers.Is(err, providers.NotFound) || len(got) != 3 {
		t.Errorf("%v, %v", got, err)
	}
}
