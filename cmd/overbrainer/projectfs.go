package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// projectFS is os.DirFS for files of any name: io/fs knows UTF-8 only, and jobs write
// what they like.
type projectFS struct {
	dirFS
	dir string
}

// dirFS is what os.DirFS gives.
type dirFS interface {
	fs.StatFS
	fs.ReadFileFS
	fs.ReadDirFS
}

func newProjectFS(dir string) fs.FS { return projectFS{os.DirFS(dir).(dirFS), dir} }

// odd gives the path of a file whose name io/fs does not take.
func (p projectFS) odd(name string) (at string, odd bool) {
	at = filepath.FromSlash(name)
	return filepath.Join(p.dir, at), !utf8.ValidString(name) && filepath.IsLocal(at)
}

func (p projectFS) Open(name string) (fs.File, error) {
	if at, odd := p.odd(name); odd {
		return os.Open(at)
	}
	return p.dirFS.Open(name)
}

func (p projectFS) Stat(name string) (fs.FileInfo, error) {
	if at, odd := p.odd(name); odd {
		return os.Stat(at)
	}
	return p.dirFS.Stat(name)
}

func (p projectFS) ReadFile(name string) ([]byte, error) {
	if at, odd := p.odd(name); odd {
		return os.ReadFile(at)
	}
	return p.dirFS.ReadFile(name)
}

func (p projectFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if at, odd := p.odd(name); odd {
		return os.ReadDir(at)
	}
	return p.dirFS.ReadDir(name)
}
