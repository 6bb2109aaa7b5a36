package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/internal/remote/remotetest"
)

// homeLine is what a home sends, in bytes a second.
const homeLine = 5e6

// slow measures uploads over a home's line of what shrinks and of what does not,
// beside programs that are told to compress. Each one connects anew.
func slow(b *bench) {
	const far = 25 * time.Millisecond
	for _, l := range []remotetest.Load{
		{Name: "text", Count: 1, Size: 64 << 20, Delay: far, Of: remotetest.Text},
		{Name: "small texts", Count: 100, Size: 640 << 10, Delay: far, Of: remotetest.Text},
		{Name: "random", Count: 1, Size: 32 << 20, Delay: far, Of: remotetest.Random},
	} {
		s := b.site(l, true)
		s.proxy.Limit(homeLine)
		sent := map[string]int64{}
		var names []string
		var things []func() usage
		add := func(name string, transfer func(target string) error) {
			names = append(names, name)
			things = append(things, b.into(l.Count, func(target string) error {
				before := s.proxy.Up()
				err := transfer(target)
				sent[name] = s.proxy.Up() - before
				return err
			}))
		}
		add("ours", func(target string) error { return push(b.ctx, b.dial(s), s, target) })
		for _, p := range l.Compressing(s.server, s.port()) {
			add(strings.TrimPrefix(p.Name, "up/"), func(target string) error { return p.Run(s.dir, target) })
		}
		rows := [][]string{{"program", "up", "of ours", "sent"}}
		took := b.often(b.bigRuns, things...)
		for i, u := range took {
			rows = append(rows, []string{names[i], show(u.wall), fmt.Sprintf("%.2f", ratio(u.wall, took[0].wall)), mb(sent[names[i]])})
		}
		b.table(fmt.Sprintf("slow: %s, %d × %d KiB over %.0f MB/s, %s away each way (median of %d)",
			l.Name, l.Count, l.Size>>10, homeLine/1e6, l.Delay, b.bigRuns), rows...)
	}
}
