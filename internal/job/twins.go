package job

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/overbrainer/overbrainer/internal/remote"
)

// minTwin is from which size on a file is copied here rather than fetched twice.
const minTwin = 1 << 20

// twin is a file whose content is here already, or comes with another one: a
// link among the results stands for a file that may be one of them itself.
type twin struct {
	file, from remote.File
	placed     bool // from lies in its final place
}

// twins divides what is still to come, and did not come ahead, into what has to be
// fetched and what is a copy of another file of the list.
func twins(all, todo []remote.File, came arrived) (pull []remote.File, copies []twin) {
	type content struct {
		digest string
		size   int64
	}
	missing := paths(todo)
	sources := map[content]twin{}
	for _, f := range all {
		if placed := !missing[f.Path]; (placed || came.right(f)) && f.Size >= minTwin {
			sources[content{f.SHA256, f.Size}] = twin{from: f, placed: placed}
		}
	}
	for _, f := range todo {
		if came.right(f) {
			continue
		}
		key := content{f.SHA256, f.Size}
		if t, ok := sources[key]; ok {
			t.file = f
			copies = append(copies, t)
			continue
		}
		pull = append(pull, f)
		if f.Size >= minTwin {
			sources[key] = twin{from: f}
		}
	}
	return pull, copies
}

// copy makes a file in the staging directory out of its twin.
func (h *home) copy(ctx context.Context, t twin) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	root := h.stage
	if t.placed {
		root = h.root
	}
	if err := noLinks(root, t.from.Path); err != nil {
		return err
	}
	from, err := root.Open(t.from.Path)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := h.stage.MkdirAll(path.Dir(t.file.Path), 0o700); err != nil {
		return err
	}
	if err := h.stage.Remove(t.file.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	to, err := h.stage.OpenFile(t.file.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}
