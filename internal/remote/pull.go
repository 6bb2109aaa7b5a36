package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// partsDir is the directory inside the staging directory that holds files
// which are not complete yet, unless a file of the list needs the name.
const partsDir = ".overbrainer-parts"

// partsFor is a name like partsDir that no file of the list needs.
func partsFor(files []File) string {
	name := partsDir
	for slices.ContainsFunc(files, func(f File) bool { return f.Path == name || strings.HasPrefix(f.Path, name+"/") }) {
		name += "_"
	}
	return name
}

// Pull is a download: files of a directory on the machine, by a list that was
// made there before.
type Pull struct {
	Dir   string // on the machine
	Files []File
	// Dest is the local directory that receives the files under their paths,
	// made if it is missing. It should be a staging directory: whatever lies
	// under a listed path there is replaced, unless it is that file already.
	Dest string
	// Progress is told now and then how many bytes are here and verified or
	// about to be, of all files of the list; nil tells nobody. It is never
	// called twice at once.
	Progress Progress
	// Stall is for how long nothing may move; 0 means for ever.
	Stall time.Duration
	// Grows tells files that may have grown since they were listed: what they
	// held then is what counts. nil: none may.
	Grows func(name string) bool
	// Keys are of files, by path, what they are kept under while they are not
	// whole: what changes when their content may have. Others are by their digest.
	Keys map[string]string
	// Ahead: the digests are not known yet, and nothing is verified.
	Ahead *Ahead
}

// Ahead is a download that begins before the digests of its files are known.
type Ahead struct {
	// Arrived is told of each file that lies in Dest, with the digest of what
	// came. It may be called several times at once.
	Arrived func(File)
	// Until: what has not begun when it is closed is left out, which is no error.
	Until <-chan struct{}
}

// Pull downloads files and verifies each one's SHA-256. When it returns nil,
// all of them lie in Dest as listed. Otherwise those that do are verified, and
// the next Pull to the same Dest goes on where this one ended.
//
// Nothing is written outside Dest, whatever the machine sends or Dest holds.
// Errors: *VerifyError, *StallError, *MissingToolError, ctx's own, the
// connection's (see Client.Err), and those of the local file system.
func (c *Client) Pull(ctx context.Context, p Pull) error {
	total, err := checkFiles(p.Files, p.Ahead == nil)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(p.Dest, 0o777); err != nil {
		return err
	}
	root, err := os.OpenRoot(p.Dest)
	if err != nil {
		return err
	}
	defer root.Close()
	if total >= worthRoom {
		defer roomForGarbage()()
	}

	inner, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	m := &meter{total: total}
	stop := m.watch(fail, p.Progress, p.Stall)
	defer stop()

	d := &download{c: c, dir: p.Dir, root: root, parts: partsFor(p.Files), meter: m, grows: p.Grows, keys: p.Keys, ahead: p.Ahead}
	err = d.run(inner, fail, p.Files)
	return c.lacking(ctx, c.cause(ctx, firstError(context.Cause(inner), err)))
}

// lacking gives the tool that the machine has not where a file could not be read
// there, and err otherwise. Asking that before each download would cost more than
// a small one does.
func (c *Client) lacking(ctx context.Context, err error) error {
	var wrong *VerifyError
	if !errors.As(err, &wrong) || wrong.Got != "" {
		return err
	}
	var missing *MissingToolError
	if _, toolErr := c.findTools(ctx); errors.As(toolErr, &missing) {
		return missing
	}
	return err
}

// download is the state of a Pull.
type download struct {
	c     *Client
	dir   string
	root  *os.Root
	parts string // the directory in root of files that are not complete yet
	meter *meter
	grows func(name string) bool // may be nil
	keys  map[string]string      // by path
	ahead *Ahead                 // may be nil

	mu     sync.Mutex
	linked []File // came as a link to another file of its batch
}

func (d *download) run(ctx context.Context, fail context.CancelCauseFunc, files []File) error {
	files, err := d.skipPresent(ctx, fail, files)
	if err != nil || len(files) == 0 {
		return err
	}
	rtt, err := d.c.roundTrip(ctx)
	if err != nil {
		return err
	}
	stripes, channels := channelsFor(rtt)
	for len(files) > 0 {
		if err := d.fetch(ctx, fail, files, stripes, channels); err != nil {
			return err
		}
		// Files that tar gave as links to others come by themselves.
		files, d.linked = d.linked, nil
		stripes = -1
	}
	return d.removeParts()
}

// fetch downloads files. With stripes -1 none of them travels in tar.
func (d *download) fetch(ctx context.Context, fail context.CancelCauseFunc, files []File, stripes, channels int) error {
	small, large := split(files)
	switch {
	case stripes < 0:
		small, large, stripes = nil, files, 1
	case d.ahead != nil:
		small, large = nil, files
	}
	var jobs []func(context.Context) error
	var parts []*part
	for _, f := range large {
		p := newPart(d, f, stripes)
		parts = append(parts, p)
		jobs = append(jobs, p.jobs()...)
	}
	for _, batch := range batches(small, batchBytes(small, channels)) {
		jobs = append(jobs, func(ctx context.Context) error { return d.batch(ctx, batch) })
	}
	err := runJobs(ctx, fail, channels, d.ahead.inTime(jobs))
	for _, p := range parts {
		p.keep()
	}
	return err
}

// inTime are jobs that do nothing once they are not wanted any more.
func (a *Ahead) inTime(jobs []func(context.Context) error) []func(context.Context) error {
	if a == nil {
		return jobs
	}
	wanted := make([]func(context.Context) error, len(jobs))
	for i, job := range jobs {
		wanted[i] = func(ctx context.Context) error {
			select {
			case <-a.Until:
				return nil
			default:
				return job(ctx)
			}
		}
	}
	return wanted
}

// skipPresent leaves out the files that are there already and are right.
func (d *download) skipPresent(ctx context.Context, fail context.CancelCauseFunc, files []File) ([]File, error) {
	if entries, err := d.root.Open("."); err == nil {
		_, err = entries.Readdirnames(1)
		_ = entries.Close()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
	}
	present := make([]bool, len(files))
	var jobs []func(context.Context) error
	for i, f := range files {
		info, err := d.root.Lstat(f.Path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || !info.Mode().IsRegular() || info.Size() != f.Size {
			if err := d.root.RemoveAll(f.Path); err != nil {
				return nil, err
			}
			continue
		}
		jobs = append(jobs, func(context.Context) error {
			sum, err := d.hashLocal(ctx, f.Path)
			if err == nil && sum == f.SHA256 {
				present[i] = true
				d.meter.found(f.Size)
				return d.root.Chmod(f.Path, mode(f, info.Mode()))
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return d.root.Remove(f.Path)
		})
	}
	if err := runJobs(ctx, fail, runtime.GOMAXPROCS(0), jobs); err != nil {
		return nil, err
	}
	var missing []File
	for i, f := range files {
		if !present[i] {
			missing = append(missing, f)
		}
	}
	return missing, nil
}

// mode gives a file the executable bits it should have, where it may be read.
func mode(f File, old fs.FileMode) fs.FileMode {
	m := old.Perm() | 0o600
	if f.Exec {
		return m | (m&0o444)>>2
	}
	return m &^ 0o111
}

// create makes a new file for writing and the directories above it.
func (d *download) create(name string, exec bool) (*os.File, error) {
	perm := fs.FileMode(0o666)
	if exec {
		perm = 0o777
	}
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	f, err := d.root.OpenFile(name, flags, perm)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return f, err
	}
	if err := d.root.MkdirAll(path.Dir(name), 0o777); err != nil {
		return nil, fmt.Errorf("make the directory of %q: %w", name, err)
	}
	return d.root.OpenFile(name, flags, perm)
}

// removeParts removes the directory of incomplete files if it is empty: what
// is left in it may belong to another list.
func (d *download) removeParts() error {
	if err := d.root.Remove(d.parts); err != nil && !errors.Is(err, fs.ErrNotExist) {
		if entries, readErr := fs.ReadDir(d.root.FS(), d.parts); readErr != nil || len(entries) == 0 {
			return err
		}
	}
	return nil
}

// hashLocal hashes a file of Dest.
func (d *download) hashLocal(ctx context.Context, name string) (string, error) {
	f, err := d.root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := newHash()
	buf := make([]byte, hashBuffer)
	for {
		n, err := f.Read(buf)
		h.Write(buf[:n])
		d.meter.alive()
		switch {
		case errors.Is(err, io.EOF):
			return h.hex(), nil
		case err != nil:
			return "", err
		case ctx.Err() != nil:
			return "", ctx.Err()
		}
	}
}
