package remote

import (
	"fmt"
	"testing"
)

func TestExtents(t *testing.T) {
	for _, size := range []int64{1, blockSize, minUnit - 1, minUnit, minUnit + 1, 200 << 20, 1 << 40} {
		e := newExtents(size)
		if e.unit%blockSize != 0 || e.unit < minUnit || e.unit > maxUnit {
			t.Fatalf("size %d: unit %d", size, e.unit)
		}
		spans := e.missing()
		hands := deal(spans, 3)
		for i := len(hands) - 1; i >= 0; i-- { // the last channel is the fastest
			for _, s := range hands[i] {
				if e.frontier() > s.offset {
					t.Fatalf("size %d: frontier %d before %d came", size, e.frontier(), s.offset)
				}
				e.add(s.unit, s.length)
			}
		}
		if e.frontier() != size || e.done() != size || len(e.missing()) != 0 {
			t.Fatalf("size %d: frontier %d, done %d", size, e.frontier(), e.done())
		}
		again := newExtents(size)
		again.load(e.text())
		if again.frontier() != size {
			t.Errorf("size %d: %d after loading", size, again.frontier())
		}
	}
}

func TestExtentsResume(t *testing.T) {
	e := newExtents(3*minUnit + 10)
	e.load(fmt.Sprintf("0 %d\n2 %d\n1 0\n7 5\nx y\n3 10\n", minUnit, blockSize+1))
	if got := fmt.Sprint(e.missing()); got != fmt.Sprint([]span{
		{1, minUnit, minUnit}, {2, 2*minUnit + blockSize, minUnit - blockSize},
	}) {
		t.Error(got)
	}
	if e.frontier() != minUnit || e.done() != minUnit+blockSize+10 {
		t.Error(e.frontier(), e.done())
	}
}
