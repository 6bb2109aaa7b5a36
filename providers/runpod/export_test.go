package runpod

import (
	"bytes"
	"context"
	"time"
)

// NewForTest returns a provider that talks to base and waits with sleep.
func NewForTest(base, key string, sleep func(context.Context, time.Duration) error) (*Provider, error) {
	p := New(Options{Version: "1.2.3"})
	c, err := newClient(base, key, keyVariable, "1.2.3", func(string) string { return "" })
	if err != nil {
		return nil, err
	}
	c.sleep, c.jitter = sleep, func() float64 { return 1 }
	p.use(c, "secure")
	return p, nil
}

// SimulatorHome and GuardFunctions are for tests.
var (
	SimulatorHome  = simulatorHome
	GuardFunctions = guardFunctions
)

// DrainStream reads every event of a stream.
func DrainStream(data []byte) (lines int) {
	r := newEventReader(bytes.NewReader(data))
	for {
		ev, err := r.next()
		if err != nil {
			return lines
		}
		_ = ev.line()
		lines++
	}
}
