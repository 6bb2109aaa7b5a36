package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Address is what a running simulator says of itself in its home.
type Address struct {
	// URL is where it answers, without a path: http://127.0.0.1:PORT.
	URL   string  `json:"url"`
	PID   int     `json:"pid"`
	Build string  `json:"build"`
	Speed float64 `json:"speed"`
}

// Home gives the simulator's home for a project's directory: below
// XDG_STATE_HOME, or ~/.local/state where that is unset, so that it is not part
// of the project and survives its checkout. env reads the environment.
func Home(env func(string) string, project string) string {
	base := env("XDG_STATE_HOME")
	if base == "" {
		base = filepath.Join(env("HOME"), ".local", "state")
	}
	if resolved, err := filepath.EvalSymlinks(project); err == nil {
		project = resolved
	}
	sum := sha256.Sum256([]byte(filepath.Clean(project)))
	return filepath.Join(base, "overbrainer", "sim", hex.EncodeToString(sum[:])[:12])
}

// ReadAddress reads where the simulator of a home answers. The error is
// fs.ErrNotExist where none has said so; one that was killed leaves the file
// behind, so an address is no proof that somebody answers.
func ReadAddress(home string) (Address, error) {
	var a Address
	data, err := os.ReadFile(filepath.Join(home, addressFile))
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return a, fmt.Errorf("%s: %w", filepath.Join(home, addressFile), err)
	}
	return a, nil
}

// Names in a home.
const (
	addressFile = "address.json"
	lockFile    = "lock"
	stateFile   = "account.json"
	secretsFile = "secrets.json"
	journalFile = "journal.jsonl"
	podsDir     = "pods"
	volumesDir  = "volumes"
)

// ErrRunning is the error of Serve where another process serves the home.
var ErrRunning = errors.New("another simulator already serves this home")

// prepareHome makes the directory and cleans what an earlier process left.
func prepareHome(home string) error {
	for _, dir := range []string{home, filepath.Join(home, podsDir), filepath.Join(home, volumesDir)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := os.Remove(filepath.Join(home, addressFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	left, err := os.ReadDir(filepath.Join(home, podsDir))
	if err != nil {
		return err
	}
	for _, e := range left {
		if err := removeDisk(filepath.Join(home, podsDir, e.Name())); err != nil {
			return fmt.Errorf("the disk of an earlier pod: %w", err)
		}
	}
	return nil
}

// removeDisk removes a pod's disk. Jobs may have left directories that they
// themselves closed to writing.
func removeDisk(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// writeFile replaces a file of the home at once, for its owner only.
func writeFile(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
