package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"github.com/overbrainer/overbrainer/config"
)

// File is a plan that was saved, with the configuration that it was made of:
// enough to execute it on another machine, with the uploads and the state. It
// holds no secret, and no value of a sensitive variable.
type File struct {
	Plan *Plan `json:"plan"`
	// Directory and State name where it was made, for messages.
	Directory string `json:"directory"`
	State     string `json:"state"`
	// Sources is the configuration's text by file name.
	Sources map[string]string `json:"sources"`
	// Variables are the values that are not sensitive, as Variable.JSON gives
	// them.
	Variables map[string]json.RawMessage `json:"variables"`
	// Sensitive are the variables whose values must be given again.
	Sensitive []string `json:"sensitive"`
	// Fingerprints of the configured runs by address, as far as known.
	Fingerprints map[string]string `json:"fingerprints"`
}

// NewFile puts a plan together with its configuration. where names the state.
func NewFile(p *Plan, c *config.Config, where string) (*File, error) {
	f := &File{
		Plan: p, Directory: c.Dir, State: where,
		Sources: map[string]string{}, Variables: map[string]json.RawMessage{}, Sensitive: []string{}, Fingerprints: map[string]string{},
	}
	for name, text := range c.Sources {
		f.Sources[name] = string(text)
	}
	for _, name := range sortedKeys(c.Variables) {
		v := c.Variables[name]
		if v.Sensitive {
			f.Sensitive = append(f.Sensitive, name)
			continue
		}
		data, err := v.JSON()
		if err != nil {
			return nil, fmt.Errorf("variable %s cannot be saved: %w", name, err)
		}
		f.Variables[name] = data
	}
	for _, run := range c.Runs {
		if run.Fingerprint != "" {
			f.Fingerprints[run.Address] = run.Fingerprint
		}
	}
	return f, nil
}

// SourceBytes gives the text in the form of config.Options.
func (f *File) SourceBytes() map[string][]byte {
	sources := map[string][]byte{}
	for name, text := range f.Sources {
		sources[name] = []byte(text)
	}
	return sources
}

// Digests gives the SHA-256, in hex, of what the plan was made of: the
// configuration's files by their name, values of variables that are not
// sensitive by var.NAME, uploaded files by their path in the project.
func (f *File) Digests() map[string]string {
	sums := map[string]string{}
	add := func(name string, data []byte) {
		sum := sha256.Sum256(data)
		sums[name] = hex.EncodeToString(sum[:])
	}
	for name, text := range f.Sources {
		add(name, []byte(text))
	}
	for name, value := range f.Variables {
		add("var."+name, value)
	}
	for _, s := range f.Plan.Steps {
		if s.Run == nil {
			continue
		}
		for _, u := range s.Run.Uploads {
			sums[u.Source] = u.SHA256
		}
	}
	return sums
}

// WriteJSON writes the plan as Plan.WriteJSON does, with what it was made of and
// the codes of the reasons why it is stale.
func (f *File) WriteJSON(w io.Writer, stale []string) error {
	return stream(w, struct {
		*Plan
		Stale        []string          `json:"stale"`
		Fingerprints map[string]string `json:"fingerprints"`
		Digests      map[string]string `json:"digests"`
	}{f.Plan.told(), stale, f.Fingerprints, f.Digests()}, false)
}
