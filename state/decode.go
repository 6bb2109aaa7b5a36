package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
)

// New gives an empty state with the lineage and serial 0.
func New(lineage string) *State {
	s := &State{Version: Version, Lineage: lineage}
	s.fill()
	return s
}

// fill makes the maps that a document may leave out.
func (s *State) fill() {
	if s.Resources == nil {
		s.Resources = map[string]*Resource{}
	}
	if s.Claims == nil {
		s.Claims = map[string]Claim{}
	}
	if s.Catalogs == nil {
		s.Catalogs = map[string]Catalog{}
	}
	if s.Spend == nil {
		s.Spend = map[string]Spend{}
	}
	if s.Outputs == nil {
		s.Outputs = map[string]Output{}
	}
}

// Clone gives a copy that shares nothing with s.
func (s *State) Clone() (*State, error) {
	data, err := Encode(s)
	if err != nil {
		return nil, err
	}
	return decodeDocument(data)
}

// Encode gives the document's bytes, the same for the same state. It fails on
// values that JSON does not have (NaN, infinity) and on a state that Decode
// would refuse.
func Encode(s *State) ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	frame := *s
	frame.Resources = map[string]*Resource{}
	text, err := json.MarshalIndent(&frame, "", "  ")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	before, after, _ := bytes.Cut(text, []byte(noResources))
	out.Write(before)
	if err := s.writeResources(&out); err != nil {
		return nil, err
	}
	out.Write(after)
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// noResources is the only line of its kind in a document without resources: what
// lies deeper is indented further.
const noResources = "\n  \"resources\": {}"

// writeResources writes them one by one, since package json holds what it writes
// and indents several times, and there may be thousands.
func (s *State) writeResources(out *bytes.Buffer) error {
	if len(s.Resources) == 0 {
		out.WriteString(noResources)
		return nil
	}
	enc, next := json.NewEncoder(out), "\n  \"resources\": {"
	enc.SetIndent("    ", "  ")
	const sample = 32
	begin := out.Len()
	for i, address := range slices.Sorted(maps.Keys(s.Resources)) {
		if i == sample { // a buffer that doubles takes three times as much
			out.Grow((out.Len() - begin) / sample * len(s.Resources) / 16 * 17)
		}
		for _, part := range []struct {
			before string
			value  any
		}{{next + "\n    ", address}, {": ", s.Resources[address]}} {
			out.WriteString(part.before)
			if err := enc.Encode(part.value); err != nil {
				return err
			}
			out.Truncate(out.Len() - 1) // the line break that ends it
		}
		next = ","
	}
	out.WriteString("\n  }")
	return nil
}

// Decode reads a document of this format version. path names it in errors,
// which are *NewerError or *DamagedError.
func Decode(path string, data []byte) (*State, error) {
	s, _, err := decodePlain(path, data)
	return s, err
}

// decodePlain reads a document that has everything, and tells its version.
func decodePlain(path string, data []byte) (*State, int, error) {
	s, version, err := decodeUpgrading(path, data, upgrades())
	if err == nil && s.Journal != "" {
		return nil, version, &DamagedError{Path: path, Err: errors.New("it was copied while a command wrote, and its journal is not with it")}
	}
	return s, version, err
}

// upgrade turns a document of one version into the next one's.
type upgrade func(doc map[string]json.RawMessage) error

// upgrades gives the steps from older formats by the version they start at.
// Version 1 is the first there is.
func upgrades() map[int]upgrade { return nil }

// decodeUpgrading decodes and tells the version that the document had.
func decodeUpgrading(path string, data []byte, steps map[int]upgrade) (*State, int, error) {
	var head struct {
		Version *int   `json:"version"`
		By      string `json:"overbrainer_version"`
		Journal string `json:"journal"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, 0, &DamagedError{Path: path, Err: plain(err, data)}
	}
	if head.Version == nil {
		return nil, 0, &DamagedError{Path: path, Err: errors.New("it has no format version")}
	}
	had := *head.Version
	if had > Version && (had != journaledVersion || head.Journal == "") {
		return nil, had, &NewerError{Path: path, Version: had, By: head.By}
	}
	if had < Version {
		var err error
		if data, err = upgradeFrom(had, data, steps); err != nil {
			return nil, had, &DamagedError{Path: path, Err: err}
		}
	}
	s, err := decodeDocument(data)
	if err != nil {
		return nil, had, &DamagedError{Path: path, Err: plain(err, data)}
	}
	return s, had, nil
}

func upgradeFrom(version int, data []byte, steps map[int]upgrade) ([]byte, error) {
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, plain(err, data)
	}
	for v := version; v < Version; v++ {
		step := steps[v]
		if step == nil {
			return nil, fmt.Errorf("its format version %d never existed", v)
		}
		if err := step(doc); err != nil {
			return nil, fmt.Errorf("upgrading it from version %d: %w", v, err)
		}
	}
	doc["version"] = json.RawMessage(fmt.Sprint(Version))
	return json.Marshal(doc)
}

// decodeDocument refuses fields it does not know: writing the state back
// without them would forget what they hold.
func decodeDocument(data []byte) (*State, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	s := &State{Resources: map[string]*Resource{}}
	frame := map[string]json.RawMessage{}
	err := eachField(dec, "the document", func(name string) error {
		if name == "resources" {
			return eachField(dec, name, s.readResource(dec))
		}
		var value json.RawMessage
		err := dec.Decode(&value)
		frame[name] = value
		return err
	})
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("there is something after its end")
	}
	rest, err := json.Marshal(frame)
	if err != nil {
		return nil, err
	}
	strict := json.NewDecoder(bytes.NewReader(rest))
	strict.DisallowUnknownFields()
	if err := strict.Decode(s); err != nil {
		return nil, err
	}
	s.fill()
	return s, s.check()
}

// eachField lets read take the value of each field of an object that comes next, so
// that package json has one of them in its buffer and not all; null has none.
func eachField(dec *json.Decoder, what string, read func(name string) error) error {
	token, err := dec.Token()
	if err != nil || token == nil {
		return err
	}
	if token != json.Delim('{') {
		return fmt.Errorf("%s must be a JSON object", what)
	}
	for dec.More() {
		if token, err = dec.Token(); err != nil {
			return err
		}
		if err := read(token.(string)); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}

func (s *State) readResource(dec *json.Decoder) func(address string) error {
	return func(address string) error {
		var r *Resource
		err := dec.Decode(&r)
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			kind.Field = strings.TrimSuffix("resources."+kind.Field, ".")
		}
		s.Resources[address] = r
		return err
	}
}

// check holds what every reader relies on.
func (s *State) check() error {
	if s.Serial > 0 && s.Lineage == "" {
		return errors.New("it has no lineage")
	}
	if strings.ContainsAny(s.Journal, `/\`) {
		return errors.New("its journal is not beside it")
	}
	for addr, r := range s.Resources {
		if r == nil || (r.Run == nil) == (r.Volume == nil) {
			return fmt.Errorf("resource %q is neither a run nor a volume", addr)
		}
		if r.Run != nil {
			if err := r.Run.check(); err != nil {
				return fmt.Errorf("resource %q: %w", addr, err)
			}
		}
	}
	for name, spend := range s.Spend {
		if spend.USD < 0 || math.IsNaN(spend.USD) || math.IsInf(spend.USD, 0) {
			return fmt.Errorf("spend under %q is %v", name, spend.USD)
		}
	}
	return nil
}

func (r *RunResource) check() error {
	seen := map[string]bool{}
	for _, run := range r.Runs {
		if run == nil || run.ID == "" {
			return errors.New("a run without an ID")
		}
		if seen[run.ID] {
			return fmt.Errorf("run %q is there twice", run.ID)
		}
		seen[run.ID] = true
		for _, a := range run.Attempts {
			if a == nil || a.Name == "" {
				return fmt.Errorf("run %q has an attempt without a name", run.ID)
			}
		}
	}
	if r.Current != "" && !seen[r.Current] {
		return fmt.Errorf("its current run %q is missing", r.Current)
	}
	return nil
}

// plain says in words what encoding/json says in Go's.
func plain(err error, data []byte) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return errors.New("it is empty")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &syntax) && syntax.Offset >= int64(len(data)):
		return errors.New("it ends in the middle")
	case errors.As(err, &syntax):
		return fmt.Errorf("it is no JSON from line %d on", 1+bytes.Count(data[:syntax.Offset], []byte("\n")))
	case errors.As(err, &kind):
		what := "field " + kind.Field
		if kind.Field == "" {
			what = "the document"
		}
		return fmt.Errorf("%s must not be a JSON %s", what, kind.Value)
	}
	return err
}
