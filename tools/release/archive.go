package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// entry is a file of an archive.
type entry struct {
	name string // with slashes
	data []byte
	mode fs.FileMode
}

// tree reads the files below a directory.
func tree(dir string) ([]entry, error) {
	var out []entry
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		out = append(out, entry{name: filepath.ToSlash(name), data: data, mode: 0o644})
		return err
	})
	return out, err
}

// writeTar writes entries below a directory of the archive. Owners are no
// names and times are one time, so that nothing of this machine is in it.
func writeTar(path, dir string, entries []entry, at time.Time) error {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	for _, e := range entries {
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: dir + "/" + e.name, Size: int64(len(e.data)), Mode: int64(e.mode), ModTime: at, Format: tar.FormatUSTAR,
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(e.data); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// writeZip does the same for Windows.
func writeZip(path, dir string, entries []entry, at time.Time) error {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: dir + "/" + e.name, Method: zip.Deflate, Modified: at}
		h.SetMode(e.mode)
		f, err := w.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := f.Write(e.data); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
