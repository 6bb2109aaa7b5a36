package remote

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"sync"
)

const (
	// blockSize is the unit of dd on the machine: offsets are multiples of it.
	blockSize = 64 << 10
	minUnit   = 1 << 20
	maxUnit   = 32 << 20
)

// extents is how much of a large file is there. The file is cut into units,
// each filled from its beginning, so that several channels can work on it and
// a later transfer can go on where this one ended.
type extents struct {
	size, unit int64

	mu    sync.Mutex
	have  []int64 // bytes there, by unit
	first int     // units before this one are complete
	grown chan struct{}
}

// newExtents cuts a file. About 128 units keep small what an interruption can
// cost, and the number of programs started per file as well.
func newExtents(size int64) *extents {
	unit := int64(1) << bits.Len64(uint64(max(size-1, 0))/128)
	unit = min(max(unit, minUnit), maxUnit)
	return &extents{size: size, unit: unit, have: make([]int64, (size+unit-1)/unit), grown: make(chan struct{}, 1)}
}

func (e *extents) length(i int) int64 { return min(e.unit, e.size-int64(i)*e.unit) }

// add notes that n more bytes of a unit are there.
func (e *extents) add(i int, n int64) {
	e.mu.Lock()
	e.have[i] += n
	for e.first < len(e.have) && e.have[e.first] == e.length(e.first) {
		e.first++
	}
	e.mu.Unlock()
	select {
	case e.grown <- struct{}{}:
	default:
	}
}

// frontier is how many bytes from the beginning of the file are there.
func (e *extents) frontier() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	at := int64(e.first) * e.unit
	if e.first < len(e.have) {
		at += e.have[e.first]
	}
	return min(at, e.size)
}

// done is how many bytes are there.
func (e *extents) done() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	sum := int64(0)
	for _, n := range e.have {
		sum += n
	}
	return sum
}

// span is a piece of a unit that is missing: its last length bytes.
type span struct {
	unit           int
	offset, length int64 // in the file
}

// missing lists what is not there, in the file's order.
func (e *extents) missing() []span {
	e.mu.Lock()
	defer e.mu.Unlock()
	var spans []span
	for i, n := range e.have {
		if l := e.length(i); n < l {
			spans = append(spans, span{unit: i, offset: int64(i)*e.unit + n, length: l - n})
		}
	}
	return spans
}

// deal gives the spans to n channels in turn, so that the file grows from its
// beginning on all of them and can be hashed behind them.
func deal(spans []span, n int) [][]span {
	n = min(n, len(spans))
	hands := make([][]span, n)
	for i, s := range spans {
		hands[i%n] = append(hands[i%n], s)
	}
	return hands
}

// text writes what is there, a line "unit bytes" each, whole blocks only.
func (e *extents) text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var b strings.Builder
	for i, n := range e.have {
		if n < e.length(i) {
			n -= n % blockSize
		}
		if n > 0 {
			fmt.Fprintf(&b, "%d %d\n", i, n)
		}
	}
	return b.String()
}

// load takes over what text wrote or a machine noted. Lines that cannot be
// true are left out: the digest of the whole decides in the end.
func (e *extents) load(text string) {
	for line := range strings.Lines(text) {
		unit, count, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		i, err1 := strconv.Atoi(unit)
		n, err2 := strconv.ParseInt(count, 10, 64)
		if !ok || err1 != nil || err2 != nil || i < 0 || i >= len(e.have) || n <= 0 || n > e.unit {
			continue
		}
		n = min(n, e.length(i))
		if n < e.length(i) {
			n -= n % blockSize
		}
		e.have[i] = max(e.have[i], n)
	}
	e.settle()
}

// settle finds the first incomplete unit again.
func (e *extents) settle() {
	if len(e.have) > 0 {
		e.add(0, 0)
	}
}

// wholeUnits forgets units that are not complete.
func (e *extents) wholeUnits() {
	for i := range e.have {
		if e.have[i] < e.length(i) {
			e.have[i] = 0
		}
	}
}
