package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
	"time"
)

// Push is an upload: files that come to lie in a directory on the machine.
type Push struct {
	Dir string // on the machine; made if it is missing
	// Staging is a directory on the machine, on Dir's file system and of this
	// upload alone, that holds what is not complete yet. It is removed in the
	// end, with whatever is in it.
	Staging string
	Files   []File
	// Open opens a file's content. A large file is opened several times at once.
	Open func(File) (io.ReadSeekCloser, error)
	// Progress is told now and then how many bytes are on the machine, of all
	// files of the list, as they lie there and not as they travelled; nil tells
	// nobody. It is never called twice at once.
	Progress Progress
	// Stall is for how long nothing may move; 0 means for ever.
	Stall time.Duration
}

// Push uploads files, verifies each one's SHA-256 on the machine, and then
// renames all of them to their places in Dir. When it returns an error, none or
// some are in their places, each of them whole; what was sent stays in Staging,
// and the next Push of the same list goes on from there. Files of Dir that are
// not in the list are left alone.
//
// Errors: *VerifyError, *StallError, *MissingToolError, *FullError, ctx's own, the
// connection's (see Client.Err), and those of Open and of what it opens.
func (c *Client) Push(ctx context.Context, p Push) error {
	total, err := checkFiles(p.Files, true)
	if err != nil {
		return err
	}
	if err := checkStaging(p.Dir, p.Staging); err != nil {
		return err
	}
	inner, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	m := &meter{total: total}
	stop := m.watch(fail, p.Progress, p.Stall)
	defer stop()

	u := &upload{c: c, Push: p, meter: m, stage: path.Join(p.Staging, listName(p.Files))}
	err = u.run(inner, fail)
	return c.cause(ctx, firstError(context.Cause(inner), err))
}

// checkStaging refuses directories whose removal would remove something else.
func checkStaging(dir, staging string) error {
	if dir == "" || staging == "" || strings.ContainsRune(dir+staging, 0) {
		return errors.New("an upload needs a directory and a staging directory")
	}
	d, s := path.Clean(dir)+"/", path.Clean(staging)+"/"
	if s == "//" || s == "./" || strings.HasPrefix(s, "../") || strings.HasPrefix(d, s) {
		return fmt.Errorf("%q cannot be the staging directory of %q", staging, dir)
	}
	return nil
}

// listName is a name for what is staged of a list: an upload of another list
// must not find it.
func listName(files []File) string {
	h := newHash()
	for _, f := range files {
		fmt.Fprintf(h, "%q %d %s %t\n", f.Path, f.Size, f.SHA256, f.Exec)
	}
	return h.hex()[:16]
}

// upload is the state of a Push.
type upload struct {
	Push
	c     *Client
	meter *meter
	tools *toolbox
	stage string // the staging directory of this list

	mu     sync.Mutex
	tree   []File // whole and right in the stage's tree
	parts  []File // whole and right in the stage's parts
	notes  map[string]string
	hashes chan struct{} // an element per hash program running
}

func (u *upload) run(ctx context.Context, fail context.CancelCauseFunc) (err error) {
	type measured struct {
		rtt time.Duration
		err error
	}
	rtt := make(chan measured, 1)
	go func() {
		d, err := u.c.roundTrip(ctx)
		rtt <- measured{d, err}
	}()
	if u.tools, err = u.c.findTools(ctx); err != nil {
		return err
	}
	files, err := u.prepare(ctx)
	if err != nil {
		return err
	}
	m := <-rtt
	if m.err != nil {
		return m.err
	}
	stripes, channels := channelsFor(m.rtt)
	u.hashes = make(chan struct{}, maxHashing)

	small, large := split(files)
	var jobs []func(context.Context) error
	for _, f := range large {
		jobs = append(jobs, newSending(u, f, stripes).jobs()...)
	}
	for _, batch := range u.batches(small, channels, stripes > 1) {
		jobs = append(jobs, func(ctx context.Context) error { return u.batch(ctx, batch) })
	}
	if err := runJobs(ctx, fail, channels, jobs); err != nil {
		return err
	}
	return u.finish(ctx)
}

// batches groups small files. Where the machine is far the line may be slow: the first
// batches, one for each channel, are as large as it takes to find that out, and the
// others may be compressed.
func (u *upload) batches(files []File, channels int, far bool) [][]File {
	scout := int64(2 * (paceHead + paceLeast) / channels)
	most := batchBytes(files, channels)
	if !far || most <= scout || !u.tools.gzip {
		return batches(files, most)
	}
	first := batches(files, scout)
	first = first[:min(channels, len(first))]
	begun := 0
	for _, batch := range first {
		begun += len(batch)
	}
	return append(first, batches(files[begun:], most)...)
}

// plainWords has programs say what fails in the words that saysFull knows.
const plainWords = "export LC_ALL=C\n"

// shell runs a script of any length, given on the shell's standard input, and
// returns what it wrote. Each of its lines is a sign of life.
func (u *upload) shell(ctx context.Context, what, script string) (string, error) {
	var out bytes.Buffer
	res, err := u.c.Run(ctx, Command{
		Script: "exec sh",
		Stdin:  strings.NewReader(plainWords + script),
		Stdout: io.MultiWriter(&out, aliveWriter{u.meter}),
		// A line per file, and what was noted of parts.
		MaxOutput: 64<<20 + 256*int64(len(u.Files)),
	})
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	if res.Exit != 0 {
		return "", fmt.Errorf("%s: %w", what, failed(res.Exit, res.Signal, string(res.Stderr)))
	}
	return out.String(), nil
}

// aliveWriter takes each write as a sign of life.
type aliveWriter struct{ m *meter }

func (w aliveWriter) Write(p []byte) (int, error) {
	w.m.alive()
	return len(p), nil
}
