package job

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/overbrainer/overbrainer/internal/remote"
)

// EditedError is a file that is not here any more as it was when it was listed.
// No other try at its upload helps.
type EditedError struct {
	Path string
	// Err says why it cannot be read, nil where it can and holds something else.
	Err error
}

func (e *EditedError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%q cannot be read here any more: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("%q was changed here since it was listed", e.Path)
}

func (e *EditedError) Unwrap() error { return e.Err }

// opener is what opens a file's local content.
type opener func(remote.File) (io.ReadSeekCloser, error)

// orEdited tells a file that was removed or closed to us from one that another
// try may open: too many files are open at once, a network's disk does not answer.
func (open opener) orEdited(f remote.File) (io.ReadSeekCloser, error) {
	r, err := open(f)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		err = &EditedError{f.Path, err}
	}
	return r, err
}

// edited tells a file that was changed here from one that did not arrive as it is,
// where an upload failed because of what a file holds.
func edited(files []remote.File, open opener, err error) error {
	var wrong *remote.VerifyError
	if !errors.As(err, &wrong) {
		return err
	}
	for _, f := range files {
		if f.Path != wrong.Path {
			continue
		}
		r, lost := open(f)
		if lost != nil {
			return lost
		}
		digest, size, lost := hashAll(r)
		_ = r.Close()
		if lost == nil && (digest != f.SHA256 || size != f.Size) {
			return &EditedError{Path: f.Path}
		}
	}
	return err
}
