package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/overbrainer/overbrainer/config"
)

// backendFile records for which backend a checkout was made ready, so that a
// changed block never makes a state look empty.
const backendFile = ".overbrainer/backend.json"

// backendRecord is the backend block without what is secret in it.
type backendRecord struct {
	Type   string         `json:"type"`
	Values map[string]any `json:"values,omitempty"`
	// Withheld names what Values lacks because something in it is secret.
	Withheld []string `json:"withheld,omitempty"`
}

func recordOf(b config.Backend) backendRecord {
	return backendRecord{Type: b.Type, Values: b.Public(), Withheld: b.Withheld()}
}

// same compares as JSON does, which has one sort of number. A secret may change.
func (r backendRecord) same(other backendRecord) bool {
	r.Withheld, other.Withheld = nil, nil
	one, err := json.Marshal(r)
	two, err2 := json.Marshal(other)
	return err == nil && err2 == nil && bytes.Equal(one, two)
}

// unlike says how a backend differs from the one before.
func (r backendRecord) unlike(before backendRecord) string {
	if r.Type != before.Type {
		return "backend " + r.Type + ", it was " + before.Type
	}
	names := map[string]bool{}
	for name := range r.Values {
		names[name] = true
	}
	for name := range before.Values {
		names[name] = true
	}
	shown := func(values map[string]any, name string) string {
		v, ok := values[name]
		if !ok {
			return "not set"
		}
		text, _ := json.Marshal(v)
		return string(text)
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if is, was := shown(r.Values, name), shown(before.Values, name); is != was {
			parts = append(parts, name+" is "+is+", it was "+was)
		}
	}
	return "backend " + r.Type + ", where " + strings.Join(parts, "; ")
}

// backend gives the recorded block, to open what it means.
func (r backendRecord) backend() config.Backend {
	b := config.Backend{Type: r.Type, Values: map[string]any{}}
	for name, v := range r.Values {
		switch x := v.(type) {
		case float64:
			v = int(x)
		case []any:
			var list []string
			for _, e := range x {
				if text, ok := e.(string); ok {
					list = append(list, text)
				}
			}
			v = list
		}
		b.Values[name] = v
	}
	return b
}

// readBackendRecord gives what init recorded; local where it never did.
func (a *app) readBackendRecord() (backendRecord, error) {
	local := backendRecord{Type: "local"}
	path := filepath.Join(a.dir, filepath.FromSlash(backendFile))
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return local, nil
	}
	var r backendRecord
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil || r.Type == "" {
		return local, &problem{code: "backend_record", message: backendFile + " cannot be read",
			hint: "overbrainer init -reconfigure writes it anew"}
	}
	return r, nil
}

func (a *app) writeBackendRecord(r backendRecord) error {
	path := filepath.Join(a.dir, filepath.FromSlash(backendFile))
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	temp := path + ".tmp"
	if err := os.WriteFile(temp, append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

// chosenBackend gives the backend of the configuration, which must be the one
// that this checkout was made ready for. sources are as in config.ReadBackend.
func (a *app) chosenBackend(sources map[string][]byte) (config.Backend, error) {
	record, err := a.readBackendRecord()
	if err != nil {
		return config.Backend{}, err
	}
	b, diags := config.ReadBackend(a.dir, sources)
	a.hide(b.Secrets()...)
	if diags.HasErrors() {
		// A fault elsewhere hides no backend where there never was one.
		if record.Type == "local" {
			return record.backend(), nil
		}
		return b, &diagnosed{diags: diags}
	}
	if recordOf(b).same(record) {
		return b, nil
	}
	p := &problem{code: "backend_changed", message: "the configuration keeps the state in another place than this directory was made ready for: " + recordOf(b).unlike(record),
		hint: "overbrainer init -migrate-state copies the state over, overbrainer init -reconfigure uses the state that is there"}
	if record.Type == "local" {
		p.message = "this directory is not ready for the " + b.Type + " backend"
		p.hint = "overbrainer init gets it ready"
	}
	return b, p
}
