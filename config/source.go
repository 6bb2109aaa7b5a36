package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
)

// MainFile is the project's own file; files that end in Suffix are read with
// it, as if all were one.
const (
	MainFile = "overbrainer.hcl"
	Suffix   = ".ob.hcl"
)

// isSource reports whether a file of the project's directory is configuration.
func isSource(name string) bool {
	return name == MainFile || strings.HasSuffix(name, Suffix) && !strings.HasPrefix(name, ".")
}

// readSources reads the configuration's text from the directory, or takes what
// was given.
func readSources(dir string, given map[string][]byte) (map[string][]byte, hcl.Diagnostics) {
	if given != nil {
		return given, checkSizes(given)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, hcl.Diagnostics{plain("the project cannot be read", reason(err))}
	}
	var diags hcl.Diagnostics
	sources := map[string][]byte{}
	for _, entry := range entries {
		if !isSource(entry.Name()) {
			diags = append(diags, overlooked(dir, entry.Name())...)
			continue
		}
		if len(sources) == maxFiles {
			return nil, hcl.Diagnostics{plain("too many files", fmt.Sprintf("a project may have %d files of configuration", maxFiles))}
		}
		text, err := readBounded(filepath.Join(dir, entry.Name()), maxFileBytes)
		if err != nil {
			diags = append(diags, at(fileRange(entry.Name()), "a file cannot be read", entry.Name()+": "+reason(err)))
			continue
		}
		sources[entry.Name()] = text
	}
	if len(sources) == 0 && !diags.HasErrors() {
		detail := fmt.Sprintf("%s holds no %s and no file that ends in %s; overbrainer init writes one", dir, MainFile, Suffix)
		return nil, append(diags, plain("no configuration", detail))
	}
	return sources, append(diags, checkSizes(sources)...)
}

// ownBlock begins blocks that no other tool's file has.
var ownBlock = regexp.MustCompile(`(?m)^[ \t]*(?:run|target|cap)[ \t]+"[^"\n]*"[ \t]*\{`)

// overlooked warns of a file that looks like configuration and has another name.
func overlooked(dir, name string) hcl.Diagnostics {
	if !strings.HasSuffix(name, ".hcl") || strings.HasSuffix(name, VarsFile) || strings.HasSuffix(name, autoSuffix) {
		return nil
	}
	text, err := readBounded(filepath.Join(dir, name), maxFileBytes)
	if err != nil || !ownBlock.Match(text) {
		return nil
	}
	d := at(fileRange(name), "a file is not read", fmt.Sprintf("%s looks like configuration, but only %s and files that end in %s are read; call it %s",
		name, MainFile, Suffix, strings.TrimSuffix(name, ".hcl")+Suffix))
	d.Severity = hcl.DiagWarning
	return hcl.Diagnostics{d}
}

func checkSizes(sources map[string][]byte) hcl.Diagnostics {
	var diags hcl.Diagnostics
	total := 0
	for _, name := range sorted(sources) {
		text := sources[name]
		total += len(text)
		if len(text) > maxFileBytes {
			diags = append(diags, at(fileRange(name), "file too large", fmt.Sprintf("%s has %d bytes; at most %d are read", name, len(text), maxFileBytes)))
		}
		if d := checkText(name, text); d != nil {
			diags = append(diags, d)
		}
	}
	if total > maxSourceBytes || len(sources) > maxFiles {
		diags = append(diags, plain("configuration too large", fmt.Sprintf("%d bytes in %d files; at most %d bytes in %d files are read", total, len(sources), maxSourceBytes, maxFiles)))
	}
	return diags
}

// checkText refuses what is no text, before a parser finds a fault in each of
// its bytes.
func checkText(name string, text []byte) *hcl.Diagnostic {
	if bytes.IndexByte(text, 0) < 0 && utf8.Valid(text) {
		return nil
	}
	return at(fileRange(name), "not a text file", name+" is not text in UTF-8, so it is no configuration")
}

// readBounded reads a regular file of at most limit bytes.
func readBounded(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("it is no regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("it has more than %d bytes", limit)
	}
	return text, err
}

// digest is the SHA-256 over names and texts.
func digest(sources map[string][]byte) string {
	h := sha256.New()
	for _, name := range sorted(sources) {
		fmt.Fprintf(h, "%d %s %d\n", len(name), name, len(sources[name]))
		h.Write(sources[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func fileRange(name string) hcl.Range {
	return hcl.Range{Filename: name, Start: hcl.InitialPos, End: hcl.InitialPos}
}

// plain makes an error that has no place in a file.
func plain(summary, detail string) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail}
}

// reason is the text of an error of the file system without the path, which
// the message names already.
func reason(err error) string {
	var path *os.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err.Error()
	case errors.As(err, &link):
		return link.Err.Error()
	}
	return err.Error()
}
