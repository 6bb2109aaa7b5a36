package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// rescue saves what the batch would have written on the newest state that was
// seen, when a transaction failed before it came to writing.
func (c *core) rescue(failure error, batch []*update) error {
	var base []byte
	if doc := c.lastSeen().doc; doc != nil {
		base = doc.data
	}
	var backend *BackendError
	gaveUp := errors.Is(failure, context.Canceled) || errors.Is(failure, context.DeadlineExceeded)
	if base == nil || gaveUp && !errors.As(failure, &backend) {
		return failure
	}
	work, accepted, err := applyAll(func() (*State, error) { return decodeDocument(base) }, batch)
	if err != nil || len(accepted) == 0 {
		return failure
	}
	work.OverbrainerVersion = c.version
	work.Serial++
	data, err := Encode(work)
	if err != nil {
		return failure
	}
	return c.save(failure, data)
}

// saved is an error that can name the copy of what was not written.
type saved interface {
	error
	savedIn(place string, err error)
}

// save puts the pending document beside the state file, else into the
// temporary directory, else prints it, and names the place in the error.
func (c *core) save(failure error, data []byte) error {
	place, err := c.saveCopy(data)
	var names saved
	if !errors.As(failure, &names) {
		write := &WriteError{Path: c.path, Err: failure}
		failure, names = write, write
	}
	names.savedIn(place, err)
	return failure
}

func (c *core) saveCopy(data []byte) (string, error) {
	var errs []error
	for _, dir := range []string{c.dir, c.tempDir} {
		if dir == "" {
			continue
		}
		path, err := c.saveIn(dir, rescueInfix, data)
		if err == nil {
			return path, nil
		}
		errs = append(errs, err)
	}
	if c.lastResort != nil {
		if _, err := c.lastResort.Write(data); err == nil {
			return "standard error", nil
		} else {
			errs = append(errs, err)
		}
	}
	return "", errors.Join(errs...)
}

const (
	// rescueInfix marks the copies of states that could not be written.
	rescueInfix = ".pending-"
	// replacedInfix marks the copies of states that were replaced on a remote.
	replacedInfix = ".replaced-"
)

func (c *core) saveIn(dir, infix string, data []byte) (string, error) {
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s%s%d-%d.json", strings.TrimSuffix(FileName, ".json"), infix, os.Getpid(), i)
		path := filepath.Join(dir, name)
		err := c.writeFile(path, data)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			_ = os.Remove(path)
			return "", err
		}
	}
}

// Rescued lists copies beside the state that were saved because it could not
// be written, oldest name first. They are never read back by themselves.
func (c *core) Rescued() []string {
	found, _ := filepath.Glob(filepath.Join(c.dir, strings.TrimSuffix(FileName, ".json")+rescueInfix+"*.json"))
	return found
}
