package config

import (
	"bytes"
	"encoding/json"
	"iter"
	"maps"
)

// Inputs are the parts of a run's fingerprint: name → SHA-256 in hex. Names:
// "command", "setup", "env X", "secret X", "file PATH", "image", "template",
// "gpu_count", "resume_from", "trigger X"; with very many files "files DIR/" stands
// for all below a directory. As JSON they are one object.
type Inputs struct {
	Own map[string]string // all but files
	// Files may be thousands. Runs that upload the same share them, and nobody
	// changes them.
	Files map[string]string
}

// Sum gives an input's digest, "" where there is none of that name.
func (in Inputs) Sum(name string) string {
	if sum, ok := in.Own[name]; ok {
		return sum
	}
	return in.Files[name]
}

// All gives every input once, in no order.
func (in Inputs) All() iter.Seq2[string, string] {
	return func(yield func(name, sum string) bool) {
		for name, sum := range in.Own {
			if !yield(name, sum) {
				return
			}
		}
		for name, sum := range in.Files {
			if _, own := in.Own[name]; !own && !yield(name, sum) {
				return
			}
		}
	}
}

// MarshalJSON leaves escapes of HTML to whoever wants them.
func (in Inputs) MarshalJSON() ([]byte, error) {
	all := make(map[string]string, len(in.Own)+len(in.Files))
	maps.Insert(all, in.All())
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(all)
	return text.Bytes(), err
}

// UnmarshalJSON takes all for own ones.
func (in *Inputs) UnmarshalJSON(data []byte) error {
	*in = Inputs{}
	return json.Unmarshal(data, &in.Own)
}
