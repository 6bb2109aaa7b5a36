package state

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// filled is a state of so many runs that have ended.
func filled(runs int) *State {
	s := New("0123456789abcdef0123456789abcdef")
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for i := range runs {
		id := fmt.Sprintf("sweep-%05d", i)
		s.Resources[fmt.Sprintf("run.sweep[%q]", id)] = &Resource{Type: "run", Provider: "runpod", Run: &RunResource{Current: id, Runs: []*Run{{
			ID: id, Phase: Succeeded, Fingerprint: "f", Try: 1, Dir: "runs/" + id, Target: "target.gpu", CreatedAt: at, StartedAt: &at, EndedAt: &at,
			Bounds: Bounds{Cap: "cap.small", MaxHours: 1}, Job: Job{Outputs: []string{"output/**"}}, Retrieved: true, Settled: true,
			Attempts: []*Attempt{{Name: "overbrainer-" + id + "-1", GPUType: "NVIDIA A40", SentAt: at, Result: AttemptCreated, EndedAt: &at}},
		}}}}
	}
	return s
}

func BenchmarkEncode(b *testing.B) {
	s := filled(1000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Encode(s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	data, err := Encode(filled(1000))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode("state", data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUpdate is a hundred changes that come at the same time to a state of
// 1,000 runs.
func BenchmarkUpdate(b *testing.B) {
	l := Local(b.TempDir(), "1")
	if _, err := l.Update(b.Context(), func(s *State) error { s.Resources = filled(1000).Resources; return nil }); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if _, err := l.Update(b.Context(), bump); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
	}
}
