package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/overbrainer/overbrainer/config"
)

// hashes remembers digests of uploaded files between commands, so that a large
// data set is read once. It is a cache: losing it costs time only.
type hashes struct {
	path string
	mu   sync.Mutex
	now  time.Time
	old  map[string]string
	used map[string]string
	new  bool
}

func openHashes(dir string) *hashes {
	h := &hashes{path: filepath.Join(dir, ".overbrainer", "cache", "hashes.json"), now: time.Now(),
		old: map[string]string{}, used: map[string]string{}}
	if data, err := os.ReadFile(h.path); err == nil {
		_ = json.Unmarshal(data, &h.old)
	}
	return h
}

func hashKey(k config.HashKey) string {
	return fmt.Sprintf("%d:%d:%d:%s", k.Size, k.MTimeNS, k.Inode, k.Path)
}

// Get gives a digest that is known.
func (h *hashes) Get(k config.HashKey) (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := hashKey(k)
	sum, ok := h.old[key]
	if ok {
		h.used[key] = sum
	}
	return sum, ok
}

// settled is how old a change must be before the file's time tells it from a
// later one.
const settled = 2 * time.Second

// Put remembers a digest.
func (h *hashes) Put(k config.HashKey, sum string) {
	if h.now.Sub(time.Unix(0, k.MTimeNS)) < settled {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.used[hashKey(k)] = sum
	h.new = true
}

// save keeps what was used this time.
func (h *hashes) save() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.new {
		return
	}
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return
	}
	if data, err := json.Marshal(h.used); err == nil {
		_ = replaceFile(h.path, data, 0o600)
	}
}
