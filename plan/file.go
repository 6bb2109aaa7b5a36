package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/overbrainer/overbrainer/config"
)

// JSON gives the plan as one document on one line, without a line break at its
// end. The same plan gives the same bytes.
func (p *Plan) JSON() ([]byte, error) { return oneLine(p) }

// Bytes of a plan file's head.
const (
	fileFormat  = "overbrainer plan"
	fileVersion = 1
	// mostFile is how large a plan file may be.
	mostFile = 512 << 20
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

// envelope is the file: a head, a digest of what follows, and the body.
type envelope struct {
	Format             string          `json:"format"`
	FormatVersion      int             `json:"format_version"`
	OverbrainerVersion string          `json:"overbrainer_version"`
	Digest             string          `json:"digest"`
	Body               json.RawMessage `json:"body"`
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

// WriteFile saves f, mode 0600, replacing path as a whole.
func WriteFile(path string, f *File) error {
	data, err := f.encode()
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".plan-*")
	if err != nil {
		return fmt.Errorf("the plan cannot be saved: %w", err)
	}
	defer func() { _ = os.Remove(temp.Name()) }()
	if err = temp.Chmod(0o600); err == nil {
		if _, err = temp.Write(data); err == nil {
			err = temp.Sync()
		}
	}
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("the plan cannot be saved: %w", err)
	}
	return nil
}

func (f *File) encode() ([]byte, error) {
	body, err := oneLine(f)
	if err != nil {
		return nil, err
	}
	e := envelope{Format: fileFormat, FormatVersion: fileVersion, OverbrainerVersion: f.Plan.OverbrainerVersion, Body: body}
	e.Digest = e.digest()
	data, err := oneLine(e)
	if err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}

func (e envelope) digest() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%d\n%s\n", e.Format, e.FormatVersion, e.OverbrainerVersion)
	sum.Write(e.Body)
	return hex.EncodeToString(sum.Sum(nil))
}

// FileError says that a plan file cannot be used as it is.
type FileError struct {
	Path string
	// Code: unreadable, not_a_plan, damaged, other_format.
	Code string
	Err  error
}

func (e *FileError) Error() string {
	switch e.Code {
	case "damaged":
		return fmt.Sprintf("plan file %s is damaged: it was cut off or edited; nothing was done, plan again", e.Path)
	case "not_a_plan":
		return fmt.Sprintf("%s is no plan file", e.Path)
	}
	return fmt.Sprintf("plan file %s: %v", e.Path, e.Err)
}

func (e *FileError) Unwrap() error { return e.Err }

// ReadFile reads what WriteFile saved. The error is *FileError.
func ReadFile(path string) (*File, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, &FileError{Path: path, Code: "unreadable", Err: err}
	}
	defer func() { _ = in.Close() }()
	data, err := io.ReadAll(io.LimitReader(in, mostFile+1))
	if err != nil {
		return nil, &FileError{Path: path, Code: "unreadable", Err: err}
	}
	return DecodeFile(path, data)
}

// DecodeFile reads a plan file's bytes; every one of them counts.
func DecodeFile(path string, data []byte) (*File, error) {
	if len(data) > mostFile {
		return nil, &FileError{Path: path, Code: "not_a_plan"}
	}
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		if strings.HasPrefix(string(data[:min(len(data), 64)]), `{"format":"`+fileFormat) {
			return nil, &FileError{Path: path, Code: "damaged", Err: err}
		}
		return nil, &FileError{Path: path, Code: "not_a_plan", Err: err}
	}
	if e.Format != fileFormat {
		return nil, &FileError{Path: path, Code: "not_a_plan"}
	}
	if e.FormatVersion > fileVersion {
		return nil, &FileError{Path: path, Code: "other_format", Err: fmt.Errorf("it has format version %d, written by overbrainer %s; this one knows versions up to %d", e.FormatVersion, e.OverbrainerVersion, fileVersion)}
	}
	again, err := oneLine(e)
	if err != nil || !bytes.Equal(append(again, '\n'), data) || e.digest() != e.Digest {
		return nil, &FileError{Path: path, Code: "damaged", Err: err}
	}
	f := &File{}
	if err := json.Unmarshal(e.Body, f); err != nil || f.Plan == nil {
		return nil, &FileError{Path: path, Code: "damaged", Err: err}
	}
	return f, nil
}

// oneLine encodes without HTML escapes and without a line break.
func oneLine(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
