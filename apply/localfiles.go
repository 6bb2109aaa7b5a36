package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// listDir lists the plain files under a directory with their digests, by path.
func listDir(dir string) ([]File, error) {
	var files []File
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f, err := describe(path)
		f.Path = filepath.ToSlash(rel)
		files = append(files, f)
		return err
	})
	return files, err
}

// describe gives a local file's size and digest.
func describe(path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return File{}, err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return File{}, err
	}
	return File{Size: info.Size(), SHA256: hex.EncodeToString(sum.Sum(nil)), Exec: info.Mode()&0o111 != 0}, nil
}
