package remote

import (
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// File is one regular file of a transfer.
type File struct {
	Path   string // slash-separated, relative, without . and .. in it
	Size   int64  // bytes
	SHA256 string // of the content, 64 lower-case hexadecimal digits
	Exec   bool   // whether it may be executed; no other permission is kept
}

// VerifyError is a file whose content is not what it should be after it was
// moved. Nothing lies under its final name.
type VerifyError struct {
	Path      string
	Want, Got string // SHA-256; Got is empty when the file could not be read whole
	Reason    string // why Got is empty
}

func (e *VerifyError) Error() string {
	if e.Got == "" {
		return fmt.Sprintf("%q is not what was listed: %s", e.Path, e.Reason)
	}
	return fmt.Sprintf("%q is not what was listed: its SHA-256 is %s, expected %s", e.Path, e.Got, e.Want)
}

// StallError is a transfer in which no byte moved for as long as was allowed.
// What was moved so far is not lost: the same transfer goes on from there.
type StallError struct {
	Done, Total int64         // bytes
	After       time.Duration // without a byte
}

func (e *StallError) Error() string {
	return fmt.Sprintf("no byte moved for %s, after %d of %d bytes", e.After, e.Done, e.Total)
}

// MissingToolError is a program that the machine's image does not have.
type MissingToolError struct {
	Tool string // or what would do instead, as "openssl, python3 or sha256sum"
}

func (e *MissingToolError) Error() string {
	return fmt.Sprintf("the machine's image has no %s, which moving files needs", e.Tool)
}

// FullError is a disk of the machine, or a quota there, that has no room left.
type FullError struct{ Err error }

func (e *FullError) Error() string { return e.Err.Error() }

// Unwrap gives what failed for it.
func (e *FullError) Unwrap() error { return e.Err }

// saysFull tells whether what a program said of its failure is that a disk is full.
// GNU tar says the last of a file of which only a part found room.
func saysFull(said string) bool {
	for _, words := range []string{"No space left on device", "Disk quota exceeded", ": Wrote only "} {
		if strings.Contains(said, words) {
			return true
		}
	}
	return false
}

// checkFiles refuses lists that could write somewhere else than asked, name a
// file twice or a file as a directory.
func checkFiles(files []File, digests bool) (total int64, err error) {
	seen := make(map[string]bool, len(files))
	for _, f := range files {
		switch {
		case !filepath.IsLocal(f.Path) || path.Clean(f.Path) != f.Path || f.Path == "." || strings.ContainsRune(f.Path, 0):
			return 0, fmt.Errorf("%q is not a relative path inside the directory", f.Path)
		case f.Size < 0:
			return 0, fmt.Errorf("%q has a negative size", f.Path)
		case digests && !isDigest(f.SHA256):
			return 0, fmt.Errorf("%q has no SHA-256 of 64 hexadecimal digits", f.Path)
		case seen[f.Path]:
			return 0, fmt.Errorf("%q is listed twice", f.Path)
		}
		if total += f.Size; total < 0 {
			return 0, errors.New("the files are larger than can be counted")
		}
		seen[f.Path] = true
	}
	for _, f := range files {
		for i, c := range f.Path {
			if c == '/' && seen[f.Path[:i]] {
				return 0, fmt.Errorf("%q is listed as a file and as a directory", f.Path[:i])
			}
		}
	}
	return total, nil
}

func isDigest(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) == 64 && strings.ToLower(s) == s
}
