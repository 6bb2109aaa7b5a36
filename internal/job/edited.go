package job

import (
	"errors"
	"fmt"
	"io"

	"github.com/overbrainer/overbrainer/internal/remote"
)

// EditedError is a file that is not here any more as it was when it was listed.
// No other try at its upload helps.
type EditedError struct{ Path string }

func (e *EditedError) Error() string {
	return fmt.Sprintf("%q was changed here since it was listed", e.Path)
}

// edited tells a file that was changed here from one that did not arrive as it is,
// where an upload failed because of what a file holds.
func edited(files []remote.File, open func(remote.File) (io.ReadSeekCloser, error), err error) error {
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
			return errors.Join(&EditedError{f.Path}, lost)
		}
		digest, size, lost := hashAll(r)
		_ = r.Close()
		if lost == nil && (digest != f.SHA256 || size != f.Size) {
			return &EditedError{f.Path}
		}
	}
	return err
}
