package remote

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/overbrainer/overbrainer/internal/remote/remotetest"
)

// TestRateIsOfWhatMoves: neither what was there before nor the time until something
// came counts, and what turned out to be wrong is taken back.
func TestRateIsOfWhatMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &meter{total: 10_000}
		_, fail := context.WithCancelCause(t.Context())
		var bits atomic.Uint64
		rate := func() float64 { return math.Float64frombits(bits.Load()) }
		stop := m.watch(fail, func(_, _ int64, now float64) { bits.Store(math.Float64bits(now)) }, 0)
		time.Sleep(time.Minute)
		m.found(5000)
		time.Sleep(time.Minute)
		if rate() != 0 {
			t.Errorf("%v before anything came", rate())
		}
		for range 20 {
			m.got(100)
			time.Sleep(time.Second)
		}
		m.got(100)
		time.Sleep(reportEvery)
		if math.Abs(rate()-100) > 5 {
			t.Errorf("%v of 100 a second", rate())
		}
		m.lost(5000, 5000)
		m.got(1)
		time.Sleep(reportEvery)
		if math.Abs(rate()-100) > 5 {
			t.Errorf("%v after some of what was found was wrong", rate())
		}
		stop()
	})
}

// TestWhatIsThereMovesNothing: a transfer of what is there already has no rate.
func TestWhatIsThereMovesNothing(t *testing.T) {
	s := remotetest.StartBuiltin(t, remotetest.Options{})
	files := map[string][]byte{"small": content(1, 100), "large": content(2, smallFile+1)}
	src, up, down := t.TempDir(), t.TempDir(), t.TempDir()
	list := tree(t, src, files)
	c := dial(t, s, nil)
	for i := range 2 {
		rates := map[string]float64{}
		told := func(what string) Progress { return func(_, _ int64, rate float64) { rates[what] = rate } }
		if err := c.Push(within(t, time.Minute), Push{Dir: up, Staging: up + "/.staging", Files: list, Open: opener(src), Progress: told("push")}); err != nil {
			t.Fatal(err)
		}
		if err := c.Pull(within(t, time.Minute), Pull{Dir: src, Files: list, Dest: down, Progress: told("pull")}); err != nil {
			t.Fatal(err)
		}
		for what, rate := range rates {
			if (rate > 0) != (i == 0) {
				t.Errorf("%s %d moves %v a second", what, i, rate)
			}
		}
	}

	// What an earlier transfer left of a file.
	f := File{Path: "x", Size: 20 << 20, SHA256: strings.Repeat("a", 64)}
	root, err := os.OpenRoot(down)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	pulled := newPart(&download{root: root, parts: "parts", meter: &meter{}}, f, 1)
	put(t, down, filepath.ToSlash(pulled.name), nil, false)
	put(t, down, filepath.ToSlash(pulled.name)+".have", []byte("0 1048576\n"), false)
	pulled = newPart(pulled.d, f, 1)
	sent := newSending(&upload{meter: &meter{}, notes: map[string]string{partName(f): "0 1048576\n"}}, f, 1)
	for what, m := range map[string]*meter{"download": pulled.d.meter, "upload": sent.u.meter} {
		if m.had.Load() != 1<<20 || m.done.Load() != 1<<20 {
			t.Errorf("%s: %d bytes were there of %d", what, m.had.Load(), m.done.Load())
		}
	}
}
