package runpod

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// BenchmarkEvents reads a log stream of 1,000 lines.
func BenchmarkEvents(b *testing.B) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "id: 2026-03-04T05:06:07Z/%d\ndata: {\"ts\":\"2026-03-04T05:06:07.123Z\",\"source\":\"container\",\"line\":\"step %d loss 0.25\"}\n\n", i, i)
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		events, lines := newEventReader(strings.NewReader(text.String())), 0
		for {
			ev, err := events.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil || ev.line().Text == "" {
				b.Fatal(ev, err)
			}
			lines++
		}
		if lines != 1000 {
			b.Fatal(lines)
		}
	}
}
