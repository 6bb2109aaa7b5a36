//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/overbrainer/overbrainer/providers"
)

// store is the account's directory: pods/ID, secrets.json and a lock for what
// has to be decided together.
type store struct{ dir string }

// Files of a pod's directory.
const (
	recordFile = "pod.json"
	logFile    = "log"
	// aliveFile is locked by the pod's holder for as long as it lives, and
	// holds its process ID.
	aliveFile = "alive"
	rootDir   = "root"
)

// record is what is known of a pod. Its Env holds placeholders, no secret.
type record struct {
	ID         string            `json:"id"`
	Marker     providers.Marker  `json:"marker"`
	GPUType    string            `json:"gpu_type"`
	GPUCount   int               `json:"gpu_count"`
	DiskGB     int               `json:"disk_gb"`
	Rate       float64           `json:"rate"`
	CreatedAt  time.Time         `json:"created_at"`
	User       string            `json:"user"`
	Port       int               `json:"port"`
	SSHD       string            `json:"sshd"`
	SearchPath string            `json:"search_path"`
	Env        map[string]string `json:"env"`
	Command    []string          `json:"command"`
}

func (s store) prepare() error {
	for _, dir := range []string{"pods", "trash"} {
		if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// locked runs f while no other process changes the account.
func (s store) locked(f func() error) error {
	lock, err := os.OpenFile(filepath.Join(s.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	return f()
}

func (s store) podDir(id string) string { return filepath.Join(s.dir, "pods", id) }

var podID = regexp.MustCompile(`^[a-z0-9]{10,20}$`)

// pod reads a pod; fs.ErrNotExist where there is none.
func (s store) pod(id string) (record, error) {
	var r record
	if !podID.MatchString(id) {
		return r, fs.ErrNotExist
	}
	err := readJSON(filepath.Join(s.podDir(id), recordFile), &r)
	return r, err
}

// pods reads all of them.
func (s store) pods() ([]record, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, "pods"))
	if err != nil {
		return nil, err
	}
	var all []record
	for _, e := range entries {
		r, err := s.pod(e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // being made or removed just now
		}
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// holder gives the process that holds a pod, 0 where it has ended.
func (s store) holder(id string) int {
	f, err := os.Open(filepath.Join(s.podDir(id), aliveFile))
	if err != nil {
		return 0
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		return 0
	}
	return holderIn(f)
}

// holderIn reads the process ID in a locked file; -1 before it is there.
func holderIn(f *os.File) int {
	text := make([]byte, 16)
	n, _ := f.ReadAt(text, 0)
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n]))); err == nil {
		return pid
	}
	return -1
}

// discard takes a pod out of the account at once, and then removes its files.
// Jobs may have closed directories to writing.
func discard(podDir string) error {
	trash := filepath.Join(filepath.Dir(filepath.Dir(podDir)), "trash", filepath.Base(podDir))
	if err := os.Rename(podDir, trash); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if os.RemoveAll(trash) == nil {
		return nil
	}
	_ = filepath.WalkDir(trash, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(trash)
}

func readJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// writeJSON replaces a file at once, for its owner only.
func writeJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
