package sim

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestTurns: no more containers start at once than there are places, and one whose
// SSH nobody asks for keeps its place for a bounded time.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := make(turns, 2)
		began := time.Now()
		first, second := places.take(t.Context()), places.take(t.Context())
		if waited := time.Since(began); first == nil || second == nil || waited > 0 {
			t.Fatalf("free places were waited for, %s", waited)
		}
		time.AfterFunc(time.Second, first)
		third := places.take(t.Context())
		if waited := time.Since(began); third == nil || waited != time.Second {
			t.Errorf("the third came after %s", waited)
		}
		fourth := places.take(t.Context())
		if waited := time.Since(began); fourth == nil || waited != bootPatience {
			t.Errorf("the fourth came after %s, when the second had waited for long enough", waited)
		}
		second() // gives nothing back twice
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if places.take(ctx) != nil {
			t.Error("a place was given back twice")
		}
		third()
		fourth()
	})
}
