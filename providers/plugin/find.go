package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/overbrainer/overbrainer/providers"
)

// programPrefix begins the names of external plugins.
const programPrefix = "overbrainer-provider-"

// Find looks for the program of an external provider in the directories, in
// order. The first that has an entry of the name counts, whatever it is, so that
// Start can say what is wrong with it. An error is a *StartError that names
// where it was looked for.
func Find(name string, dirs ...string) (string, error) {
	dirs = slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool { return dir == "" })
	for _, dir := range dirs {
		path := filepath.Join(dir, programPrefix+name+programSuffix)
		if _, err := os.Lstat(path); err == nil {
			return path, nil
		}
	}
	return "", &StartError{Name: name, Path: programPrefix + name, Reason: Missing,
		Message: "is in none of " + strings.Join(dirs, ", ") + "; put the program into one of them, then run overbrainer init"}
}

// Names lists the providers whose programs are in the directories, sorted.
// Directories that cannot be read have none.
func Names(dirs ...string) []string {
	var names []string
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir) // of "" there are none
		if err != nil {
			continue
		}
		for _, e := range entries {
			name, is := strings.CutPrefix(strings.TrimSuffix(e.Name(), programSuffix), programPrefix)
			if is && name != "" && !e.IsDir() && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// Digest is the SHA-256 of a file in lower-case hex.
func Digest(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() { // a pipe or a device might never end
		return "", &os.PathError{Op: "read", Path: path, Err: errors.New("it is not a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// checkDescription refuses a description that could only be misread.
func checkDescription(d providers.Description) error {
	fail := func(format string, args ...any) error {
		return &providers.Error{Kind: providers.Invalid, Op: "describe", Message: fmt.Sprintf("provider %q version %q ", d.Name, d.Version) + fmt.Sprintf(format, args...) +
			"; pin another version of it"}
	}
	if d.Name == "" || d.Version == "" {
		return fail("does not say its name and version")
	}
	seen := map[string]bool{}
	for _, a := range d.Schema.Attributes {
		switch {
		case a.Name == "":
			return fail("has an attribute without a name")
		case seen[a.Name]:
			return fail("names the attribute %q twice", a.Name)
		case a.Type != providers.String && a.Type != providers.Bool && a.Type != providers.Number:
			return fail("gives the attribute %q the type %q, which this overbrainer does not know", a.Name, a.Type)
		}
		seen[a.Name] = true
	}
	return nil
}
