package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	fileFormat = "overbrainer plan"
	// fileVersion is 2 since lists of uploads are apart from the runs, 3 since their
	// digests are, 4 since offers are there once.
	fileVersion = 4
	// fileStart is how every plan file begins.
	fileStart = `{"format":"` + fileFormat + `"`
	fileEnd   = "}\n"
)

// mostFile is how large a plan file may be, in bytes; tests set it.
var mostFile int64 = 512 << 20

// tooLarge says of a plan file of so many bytes that it may not have them; nil
// where it may.
func tooLarge(size int64) error {
	if size <= mostFile {
		return nil
	}
	const mb = 1_000_000
	return fmt.Errorf("it has %d MB, and may have at most %d MB; plan fewer runs at once with -target, or upload fewer files", (size+mb-1)/mb, mostFile/mb)
}

// counter counts what is written, and passes on no more than a plan file may
// have.
type counter struct {
	io.Writer
	n int64
}

func (c *counter) Write(data []byte) (int, error) {
	if c.n += int64(len(data)); c.n > mostFile {
		return len(data), nil
	}
	return c.Writer.Write(data)
}

// fileHead is what a plan file begins with: what it is, and the SHA-256 in hex
// of all the rest.
type fileHead struct {
	Format             string `json:"format"`
	FormatVersion      int    `json:"format_version"`
	OverbrainerVersion string `json:"overbrainer_version"`
	Digest             string `json:"digest"`
}

// text is everything before the body, which is a savedFile.
func (h fileHead) text() ([]byte, error) {
	data, err := oneLine(h)
	return append(bytes.TrimSuffix(data, []byte("}")), `,"body":`...), err
}

// sum is the digest before the body was written to it.
func (h fileHead) sum() hash.Hash {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%d\n%s\n", h.Format, h.FormatVersion, h.OverbrainerVersion)
	return sum
}

// WriteFile saves f, mode 0600, replacing path as a whole.
func WriteFile(path string, f *File) error {
	temp, err := os.CreateTemp(filepath.Dir(path), ".plan-*")
	if err != nil {
		return fmt.Errorf("the plan cannot be saved: %w", err)
	}
	defer func() { _ = os.Remove(temp.Name()) }()
	if err = temp.Chmod(0o600); err == nil {
		if err = f.write(temp); err == nil {
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

// write writes the body once, and the digest before it when that is known.
func (f *File) write(out *os.File) error {
	h := fileHead{Format: fileFormat, FormatVersion: fileVersion, OverbrainerVersion: f.Plan.OverbrainerVersion, Digest: strings.Repeat("0", 2*sha256.Size)}
	text, err := h.text()
	if err != nil {
		return err
	}
	counted := &counter{Writer: out}
	if _, err := counted.Write(text); err != nil {
		return err
	}
	sum := h.sum()
	if err := stream(io.MultiWriter(counted, sum), f.saved(), false); err != nil {
		return err
	}
	if _, err := io.WriteString(counted, fileEnd); err != nil {
		return err
	}
	if err := tooLarge(counted.n); err != nil {
		return err
	}
	h.Digest = hex.EncodeToString(sum.Sum(nil))
	if text, err = h.text(); err != nil {
		return err
	}
	_, err = out.WriteAt(text, 0)
	return err
}

// FileError says that a plan file cannot be used as it is.
type FileError struct {
	Path string
	// Code: unreadable, not_a_plan, damaged, other_format, too_large.
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
	var data bytes.Buffer
	if info, err := in.Stat(); err == nil {
		if err := tooLarge(info.Size()); err != nil {
			if is, _ := IsFile(path); !is {
				return nil, &FileError{Path: path, Code: "not_a_plan"}
			}
			return nil, &FileError{Path: path, Code: "too_large", Err: err}
		}
		data.Grow(int(info.Size()) + bytes.MinRead)
	}
	if _, err := data.ReadFrom(io.LimitReader(in, mostFile+1)); err != nil {
		return nil, &FileError{Path: path, Code: "unreadable", Err: err}
	}
	return DecodeFile(path, data.Bytes())
}

// DecodeFile reads a plan file's bytes; every one of them counts.
func DecodeFile(path string, data []byte) (*File, error) {
	if err := tooLarge(int64(len(data))); err != nil {
		return nil, &FileError{Path: path, Code: "too_large", Err: err}
	}
	var h fileHead
	if err := json.Unmarshal(data, &h); err != nil {
		if bytes.HasPrefix(data, []byte(fileStart)) {
			return nil, &FileError{Path: path, Code: "damaged", Err: err}
		}
		return nil, &FileError{Path: path, Code: "not_a_plan", Err: err}
	}
	if h.Format != fileFormat {
		return nil, &FileError{Path: path, Code: "not_a_plan"}
	}
	if h.FormatVersion > fileVersion {
		return nil, &FileError{Path: path, Code: "other_format", Err: fmt.Errorf("it has format version %d, written by overbrainer %s; this one knows versions up to %d", h.FormatVersion, h.OverbrainerVersion, fileVersion)}
	}
	body, err := h.bodyOf(data)
	if err != nil {
		return nil, &FileError{Path: path, Code: "damaged", Err: err}
	}
	saved := savedFile{File: &File{}}
	if err := json.Unmarshal(body, &saved); err != nil || saved.Plan == nil {
		return nil, &FileError{Path: path, Code: "damaged", Err: err}
	}
	if err := saved.restore(); err != nil {
		return nil, &FileError{Path: path, Code: "damaged", Err: err}
	}
	return saved.File, nil
}

// bodyOf gives the body of a file with this head: nothing else may stand in it,
// and the digest must be right.
func (h fileHead) bodyOf(data []byte) ([]byte, error) {
	text, err := h.text()
	if err != nil {
		return nil, err
	}
	body, begins := bytes.CutPrefix(data, text)
	body, ends := bytes.CutSuffix(body, []byte(fileEnd))
	sum := h.sum()
	sum.Write(body)
	if !begins || !ends || hex.EncodeToString(sum.Sum(nil)) != h.Digest {
		return nil, errors.New("its digest is another one")
	}
	return body, nil
}

// IsFile reports whether path is a plan file by how it begins, damaged ones and
// those of other versions included.
func IsFile(path string) (bool, error) {
	in, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = in.Close() }()
	start := make([]byte, len(fileStart))
	_, err = io.ReadFull(in, start)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return false, nil
	}
	return string(start) == fileStart, err
}
