package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/internal/job"
	"github.com/overbrainer/overbrainer/internal/remote"
	"github.com/overbrainer/overbrainer/internal/remote/remotetest"
)

// transfers are the topics of moving files, one for each load.
func transfers() []topic {
	var list []topic
	for _, l := range remotetest.Loads() {
		goals := []string{"up_" + l.Name, "down_" + l.Name}
		if l.Delay > 0 {
			goals = []string{l.Name}
		}
		list = append(list, topic{l.Name, goals, func(b *bench) { b.move(l, goals) }})
	}
	return list
}

// needed are the peers that a load's goals name.
func needed(l remotetest.Load) []string {
	switch {
	case l.Delay > 0:
		return []string{"scp", "rsync"}
	case l.Count == 1:
		return []string{"cat", "openssl", "sha256sum"}
	}
	return []string{"scp", "tar"}
}

// site is a load on a server, and where transfers of it end.
type site struct {
	load   remotetest.Load
	server *remotetest.Server
	proxy  *remotetest.Proxy // nil: none
	dir    string
	files  []remote.File
}

func (b *bench) site(l remotetest.Load, proxied bool) *site {
	s := &site{load: l, server: remotetest.StartSSHD(b, remotetest.Options{})}
	var items []remotetest.Item
	s.dir, items = l.Make(b)
	for _, item := range items {
		s.files = append(s.files, remote.File{Path: item.Path, Size: item.Size, SHA256: item.SHA256})
	}
	if proxied {
		s.proxy = remotetest.StartProxy(b, s.server, l.Delay)
	}
	return s
}

func (s *site) port() int {
	if s.proxy != nil {
		return s.proxy.Port
	}
	return s.server.Port
}

// dial connects as the program does, which keeps one connection to a pod open.
func (b *bench) dial(s *site) *remote.Client {
	c, err := remote.Dial(b.ctx, remote.Config{Host: s.server.Host, Port: s.port(), User: s.server.User, Signer: s.server.Signer, HostKey: s.server.HostKey})
	b.must(err)
	b.Cleanup(func() { _ = c.Close() })
	return c
}

func push(ctx context.Context, c *remote.Client, s *site, target string) error {
	return c.Push(ctx, remote.Push{Dir: target, Staging: target + "/.staging", Files: s.files, Open: func(f remote.File) (io.ReadSeekCloser, error) {
		return os.Open(filepath.Join(s.dir, filepath.FromSlash(f.Path)))
	}})
}

func pull(ctx context.Context, c *remote.Client, s *site, target string) error {
	return c.Pull(ctx, remote.Pull{Dir: s.dir, Files: s.files, Dest: target})
}

// collect brings a load home as the results of a job: listed and hashed on the pod,
// moved, looked at once more, compared here, made durable and put in their places.
func collect(ctx context.Context, c *remote.Client, s *site, target string) error {
	const launched = ".pod/launch" // what a job's start leaves
	if err := os.MkdirAll(filepath.Join(s.dir, ".pod"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.dir, launched), nil, 0o600); err != nil {
		return err
	}
	_, err := job.At(c, "", s.dir).Collect(ctx, job.Collect{Dir: target, Globs: []string{"**"}})
	return err
}

// into times one transfer into a new directory, which is removed after it; one
// of many files stays to the topic's end, because ext4 looks at each file that
// was deleted in the last seconds before it makes a new one.
func (b *bench) into(files int, transfer func(target string) error) func() usage {
	return func() usage {
		target, err := os.MkdirTemp(b.base, "into")
		b.must(err)
		began := time.Now()
		b.must(transfer(target))
		u := usage{wall: time.Since(began)}
		if files < 1000 {
			_ = os.RemoveAll(target)
		} else {
			b.Cleanup(func() { _ = os.RemoveAll(target) })
		}
		return u
	}
}

// move measures a load in both directions and decides its goals.
func (b *bench) move(l remotetest.Load, goals []string) {
	s := b.site(l, l.Delay > 0)
	c := b.dial(s)
	names := []string{"up/ours", "down/ours", "down/results"}
	things := []func() usage{
		b.into(l.Count, func(target string) error { return push(b.ctx, c, s, target) }),
		b.into(l.Count, func(target string) error { return pull(b.ctx, c, s, target) }),
		b.into(l.Count, func(target string) error { return collect(b.ctx, c, s, target) }),
	}
	for _, p := range l.Peers(s.server, s.port()) {
		_, program, _ := strings.Cut(p.Name, "/")
		if slices.Contains(needed(l), program) {
			names = append(names, p.Name)
			things = append(things, b.into(l.Count, func(target string) error { return p.Run(s.dir, target) }))
		}
	}
	runs := b.runs
	if l.Count*l.Size >= 1<<30 && l.Count == 1 {
		runs = b.bigRuns
	}
	took := map[string]time.Duration{}
	for i, u := range b.often(runs, things...) {
		took[names[i]] = u.wall
	}
	b.shown(l, runs, names, took)
	b.decided(l, goals, took)
}

// shown prints a load's table.
func (b *bench) shown(l remotetest.Load, runs int, names []string, took map[string]time.Duration) {
	rows := [][]string{{"program", "up", "of ours", "down", "of ours"}}
	cell := func(direction, program string) []string {
		d, ok := took[direction+"/"+program]
		if !ok {
			return []string{"", ""}
		}
		return []string{show(d), fmt.Sprintf("%.2f", ratio(d, took[direction+"/ours"]))}
	}
	for _, name := range names {
		direction, program, _ := strings.Cut(name, "/")
		switch direction {
		case "up":
			rows = append(rows, append(append([]string{program}, cell("up", program)...), cell("down", program)...))
		case "down":
			if program == "results" {
				rows = append(rows, append([]string{"ours, as a job's results", "", ""}, cell("down", program)...))
			}
		case "hash":
			rows = append(rows, []string{program + " alone", show(took[name]), fmt.Sprintf("%.2f", ratio(took[name], took["up/ours"])), "", ""})
		}
	}
	delay := ""
	if l.Delay > 0 {
		delay = fmt.Sprintf(", %s away each way", l.Delay)
	}
	b.table(fmt.Sprintf("%s: %d × %d KiB%s (median of %d)", l.Name, l.Count, l.Size>>10, delay, runs), rows...)
}

// decided prints a load's goals.
func (b *bench) decided(l remotetest.Load, goals []string, took map[string]time.Duration) {
	against := func(direction, program string, least float64) []bound {
		peer, ok := took[direction+"/"+program]
		if !ok {
			return nil
		}
		what := program
		if l.Delay > 0 {
			what = direction + "-" + program
		}
		return []bound{times(what, ratio(peer, took[direction+"/ours"]), least)}
	}
	var far []bound
	for i, direction := range []string{"up", "down"} {
		switch l.Name {
		case "small":
			b.goal(goals[i], append(against(direction, "scp", 6), against(direction, "tar", 1)...)...)
		case "mid":
			b.goal(goals[i], append(against(direction, "scp", 1.3), against(direction, "tar", 1)...)...)
		case "big":
			hash, ok := took["hash/openssl"]
			if !ok {
				hash = took["hash/sha256sum"]
			}
			limit := max(took[direction+"/cat"], hash)
			b.goal(goals[i], atMost("limit", ratio(took[direction+"/ours"], limit), 1.25, "x"))
		case "far_big":
			far = append(far, append(against(direction, "scp", 2.2), against(direction, "rsync", 2.2)...)...)
		case "far_small":
			far = append(far, append(against(direction, "scp", 30), against(direction, "rsync", 1)...)...)
		}
	}
	if len(far) > 0 {
		b.goal(goals[0], far...)
	}
}
