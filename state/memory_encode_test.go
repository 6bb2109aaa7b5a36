//go:build !race

package state

import (
	"runtime"
	"testing"
)

// TestEncodeTakesLittle: a document of ten thousand runs has 20 MB, and was there
// several times while it was made. (With the race detector a pool gives away one in
// four for nothing.)
func TestEncodeTakesLittle(t *testing.T) {
	s := many(20_000)
	for range 3 { // package json forgets the memory of calls before
		runtime.GC()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	data, err := Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	took := inLongPieces(after) - inLongPieces(before)
	if took > 2*uint64(len(data)) {
		t.Errorf("a document of %d bytes took %d", len(data), took)
	}
}
