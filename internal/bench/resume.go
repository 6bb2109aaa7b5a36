package main

import (
	"fmt"
	"time"

	"github.com/overbrainer/overbrainer/internal/remote/remotetest"
)

// resume measures a download of 2 GiB whole, and the second part of one whose
// connection was cut at half.
func resume(b *bench) {
	l := remotetest.Load{Name: "resume", Count: 1, Size: 2 << 30}
	s := b.site(l, true)
	whole := b.into(l.Count, func(target string) error { return pull(b.ctx, b.dial(s), s, target) })
	rest := func() usage {
		var second time.Duration
		b.into(l.Count, func(target string) error {
			c := b.dial(s)
			s.proxy.CutAfter(int64(l.Size) / 2)
			if err := pull(b.ctx, c, s, target); err == nil {
				b.Fatal("the download was not cut")
			}
			began := time.Now()
			err := pull(b.ctx, b.dial(s), s, target)
			second = time.Since(began)
			return err
		})()
		return usage{wall: second}
	}
	m := b.often(b.bigRuns, whole, rest)
	b.table(fmt.Sprintf("Resume: a download of 2 GiB, cut at half (median of %d)", b.bigRuns),
		[]string{"whole", "second part", "part"},
		[]string{show(m[0].wall), show(m[1].wall), fmt.Sprintf("%.2f", ratio(m[1].wall, m[0].wall))})
	b.goal("resume", atMost("part", ratio(m[1].wall, m[0].wall), 0.65, "x"))
}
