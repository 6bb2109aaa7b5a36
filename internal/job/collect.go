package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/overbrainer/overbrainer/internal/remote"
)

const (
	// partial is where results lie in the run's local directory until all of
	// them are there and verified.
	partial = ".partial"
	// parts is where a transfer keeps incomplete files in it.
	parts = ".overbrainer-parts"
)

// Collect says what to bring home and where to.
type Collect struct {
	Dir   string   // the run's local directory, made if missing
	Globs []string // relative to the run's directory on the pod; ! excludes
	// Always names further files that are brought along where they exist.
	Always []string
	// Running: the job still runs, so its log and metrics, which are brought
	// along otherwise, are left out.
	Running bool
	// Known is the list of an earlier attempt at an ended job's results, so that
	// the pod need not read them all again; nil makes one.
	Known *Manifest
	// AllowEmpty: no match of Globs is fine.
	AllowEmpty bool
	Progress   remote.Progress // nil tells nobody
	// Digests is told of how many files the pod has computed the digests; nil tells
	// nobody.
	Digests func(done, total int)
	// Renewed is called after each renewal of the lease, from another goroutine;
	// may be nil.
	Renewed func()
	// Free gives the free bytes of the file system that holds a directory; nil
	// asks the system.
	Free func(dir string) (int64, error)
}

// ErrNoOutputs is a run that left no file its outputs match. What is always
// brought along came home.
var ErrNoOutputs = errors.New("no file on the pod matches the run's outputs")

// SpaceError is results that do not fit on this machine. Nothing was copied.
type SpaceError struct {
	Dir        string
	Need, Free int64 // bytes
}

func (e *SpaceError) Error() string {
	return fmt.Sprintf("the results need %d more bytes in %s, where %d are free", e.Need, e.Dir, e.Free)
}

// Collect brings a run's results home: the pod's manifest first, then the files
// into a staging directory inside Dir, then a comparison of every one of them
// with the manifest, and only then their names in Dir. Large files begin to come
// while the pod computes the manifest's digests. If anything is missing,
// different or too much, nothing gets its final name and what was copied waits
// for the next attempt. Files that lie in their places already, with the right
// content, are not copied again. The lease is held for as long as all that takes.
//
// Telling the pod is a step of its own: see MarkRetrieved.
func (p *Pod) Collect(ctx context.Context, c Collect) (Manifest, error) {
	defer p.holdLease(ctx, c.Renewed)()
	always := c.Always
	if !c.Running {
		always = append([]string{"job.log"}, always...)
		if p.Metrics != "" {
			always = append(always, p.Metrics)
		}
	}
	var m Manifest
	var came arrived
	if c.Known != nil {
		m = *c.Known
	} else {
		var err error
		m, err = p.manifest(ctx, c.Globs, always, func(m *Manifest, wanted []string) (err error) {
			came, err = p.digestsAhead(ctx, c, m, wanted)
			return err
		})
		if err != nil {
			return m, err
		}
	}
	if err := p.fetch(ctx, c, m, came); err != nil {
		return m, err
	}
	if m.Matched == 0 && !c.AllowEmpty {
		return m, ErrNoOutputs
	}
	return m, nil
}

// fetch copies, verifies and places what the manifest lists.
func (p *Pod) fetch(ctx context.Context, c Collect, m Manifest, came arrived) error {
	home, err := openHome(c.Dir)
	if err != nil {
		return err
	}
	defer home.close()
	todo, err := home.missing(ctx, m.Files)
	if err != nil {
		return err
	}
	if err := home.prune(todo); err != nil {
		return err
	}
	if err := home.checkSpace(c.Free, todo); err != nil {
		return err
	}
	pull, copies := twins(m.Files, todo, came)
	if err := p.pull(ctx, c, m, pull, came); err != nil {
		return p.whyWrong(ctx, m, err)
	}
	if !c.Running {
		// What was here before as well: it is only right by a list of before.
		own, moved := m.apart(m.Files)
		if err := p.unchanged(ctx, append(own, moved...)); err != nil {
			return err
		}
	}
	for _, t := range copies {
		if err := home.copy(ctx, t); err != nil {
			return err
		}
	}
	if err := home.verify(ctx, todo); err != nil {
		return err
	}
	return home.place(ctx, todo)
}

// pull copies files into the staging directory.
func (p *Pod) pull(ctx context.Context, c Collect, m Manifest, files []remote.File, came arrived) error {
	own, moved := m.apart(files)
	var total, before int64
	for _, f := range m.Files {
		if came.right(f) {
			before += f.Size
		}
	}
	total = before
	for _, f := range files {
		total += f.Size
	}
	for _, part := range []struct {
		dest  string
		files []remote.File
	}{
		{filepath.Join(c.Dir, partial), own},
		{filepath.Join(c.Dir, partial, m.Moved), moved},
	} {
		if len(part.files) == 0 {
			continue
		}
		var tell remote.Progress
		if c.Progress != nil {
			tell = func(done, _ int64, rate float64) { c.Progress(before+done, total, rate) }
		}
		err := p.conn.Pull(ctx, remote.Pull{
			Dir:      p.dir,
			Files:    part.files,
			Dest:     part.dest,
			Keys:     m.Large,
			Grows:    p.grows,
			Progress: tell,
			Stall:    p.Stall,
		})
		if err != nil {
			return err
		}
		for _, f := range part.files {
			before += f.Size
		}
	}
	return nil
}

// checkSpace compares what is still to come with what is free.
func (h *home) checkSpace(free func(dir string) (int64, error), files []remote.File) error {
	if free == nil {
		free = remote.FreeBytes
	}
	var need int64
	for _, f := range files {
		need += f.Size
	}
	have, err := h.staged()
	if err != nil {
		return err
	}
	if need -= have; need <= 0 {
		return nil
	}
	room, err := free(h.dir)
	if err != nil {
		return nil // not being able to tell is no reason to refuse
	}
	if need > room {
		return &SpaceError{Dir: h.dir, Need: need, Free: room}
	}
	return nil
}

// staged is how many bytes lie in the staging directory.
func (h *home) staged() (int64, error) {
	var total int64
	err := fs.WalkDir(h.stage.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}

// SaveLogs copies the logs of the pod's own scripts into a local directory,
// made if missing, as private files. redact, which may be nil, is given each
// text first.
func (p *Pod) SaveLogs(ctx context.Context, dir string, redact func([]byte) []byte) error {
	var errs []error
	for _, log := range []Log{WatchdogLog, BootstrapLog} {
		text, err := p.ReadLog(ctx, log)
		if err == nil && len(text) > 0 {
			if redact != nil {
				text = redact(text)
			}
			err = saveFile(dir, string(log), text)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// saveFile replaces a private file in a directory that foreign files may lie
// beside: no link is followed.
func saveFile(dir, name string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	outer, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer outer.Close()
	inner, err := privateDir(outer, filepath.Base(dir))
	if err != nil {
		return err
	}
	defer inner.Close()
	temp := name + ".tmp"
	if err := inner.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := inner.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return inner.Rename(temp, name)
}

// privateDir opens a directory below root, made 0700 if missing, that is no
// link.
func privateDir(root *os.Root, name string) (*os.Root, error) {
	if err := root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s in %s is not a directory", name, root.Name())
	}
	return root.OpenRoot(name)
}
