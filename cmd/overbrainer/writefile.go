package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// standardStream is the name of the standard output, or input, on the command line.
const standardStream = "-"

// writeNamed writes data to what a flag names: a file, the standard output as -,
// or whatever else can be written to. told says that the standard output has it,
// and nothing else may stand there.
func (a *app) writeNamed(ctx context.Context, name string, data []byte) (told bool, err error) {
	stream := a.streamOf(name)
	if stream != nil {
		_, err = stream.Write(data)
		return stream == a.out, err
	}
	// Nobody may ever read from a pipe.
	_, err = typed(ctx, func() (struct{}, error) { return struct{}{}, replaceFile(a.path(name), data, 0o644) })
	if err != nil && ctx.Err() == nil {
		err = &problem{code: "file", message: fmt.Sprintf("%s: %v", name, reason(err))}
	}
	return false, err
}

// streamOf gives the stream of this process that a name stands for by - or by
// another path to the same file, as /dev/stdout is; nil for every other name. A
// file that a stream writes to must not be replaced behind its back.
func (a *app) streamOf(name string) io.Writer {
	if name == standardStream {
		return a.out
	}
	info, err := os.Stat(a.path(name))
	if err != nil {
		return nil
	}
	for _, s := range []struct {
		file *os.File
		w    io.Writer
	}{{os.Stdout, a.out}, {os.Stderr, a.err}} {
		if open, err := s.file.Stat(); err == nil && os.SameFile(info, open) {
			return s.w
		}
	}
	return nil
}

// replaceFile writes a file as a whole, with the mode it had; a new one gets mode.
// A link stays, and what it leads to is written. What is no file (a pipe, a
// device), has other names, or belongs to somebody else is written where it is.
func replaceFile(path string, data []byte, mode os.FileMode) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(path); err == nil { // a link to what is not there yet
			return overwrite(path, data, mode)
		}
	case err != nil:
		return err
	case !info.Mode().IsRegular() || shared(info):
		return overwrite(path, data, mode)
	default:
		mode = info.Mode().Perm()
		target, err := filepath.EvalSymlinks(path)
		if err != nil { // only an open descriptor leads there any more
			return overwrite(path, data, mode)
		}
		path = target
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".overbrainer-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	if _, err := temp.Write(data); err != nil {
		temp.Close()
		return err
	}
	if err := temp.Chmod(mode); err != nil {
		temp.Close()
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}

// overwrite writes to what is there, or what a link leads to.
func overwrite(path string, data []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
