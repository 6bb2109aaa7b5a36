// Package glob matches slash-separated relative paths against lists of
// patterns. It is the one matcher for what goes to a pod and what comes home,
// so that a list means the same in both directions. It reads no files.
//
// A pattern is a glob as in doublestar: * and ? within one directory, **
// across directories, [abc] classes and {a,b} alternatives; \ takes the next
// character literally. A pattern without any of these, and one that ends in a
// slash, stands for the file of that name or for everything below the
// directory of that name. A pattern that begins with ! takes away what the
// patterns before it gave: the last pattern that matches a path decides.
package glob

import (
	"errors"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Match reports whether the list selects the path. Patterns that Check refuses
// match nothing.
func Match(patterns []string, path string) bool {
	return New(patterns).Match(path)
}

// Set is a list of patterns made ready for many paths.
type Set struct{ patterns []pattern }

type pattern struct {
	glob    string
	exclude bool
	// tree: the pattern also stands for everything below what it names.
	tree bool
	// literal: no special characters, so no matching is needed.
	literal bool
	// prefix is the part before the first special character.
	prefix string
}

// New reads a list. Patterns that Check refuses match nothing.
func New(patterns []string) *Set {
	set := &Set{patterns: make([]pattern, 0, len(patterns))}
	for _, text := range patterns {
		set.patterns = append(set.patterns, read(text))
	}
	return set
}

func read(text string) pattern {
	p := pattern{}
	text, p.exclude = strings.CutPrefix(text, "!")
	text = strings.TrimPrefix(text, "./")
	text, p.tree = strings.CutSuffix(text, "/")
	if text == "." {
		text = "" // everything
	}
	if !strings.ContainsAny(text, special) {
		p.literal, p.tree = true, true
	}
	p.glob = text
	p.prefix = text
	if i := strings.IndexAny(text, special); i >= 0 {
		p.prefix = text[:i]
	}
	return p
}

const special = `*?[]{}\`

// Match reports whether the list selects the path.
func (s *Set) Match(path string) bool {
	i := s.Which(path)
	return i >= 0 && !s.patterns[i].exclude
}

// Which gives the index of the pattern that decides about the path: the last
// that matches it. -1: none does.
func (s *Set) Which(path string) int {
	for i := len(s.patterns) - 1; i >= 0; i-- {
		if s.patterns[i].match(path) {
			return i
		}
	}
	return -1
}

// Below reports whether the list may select a path below a directory. It may say
// so of one below which there is none, never the other way.
func (s *Set) Below(dir string) bool {
	for i := len(s.patterns) - 1; i >= 0; i-- {
		p := &s.patterns[i]
		// A name that no list has stands for every name.
		if p.exclude && p.match(dir+"/\x00") && p.match(dir+"/\x00/\x00") {
			return false
		}
		if !p.exclude && p.leads(dir) {
			return true
		}
	}
	return false
}

// leads reports whether the pattern may match something below a directory.
func (p *pattern) leads(dir string) bool {
	if p.literal {
		return p.glob == "" || strings.HasPrefix(p.glob+"/", dir+"/") || strings.HasPrefix(dir+"/", p.glob+"/")
	}
	if strings.ContainsAny(p.glob, `{\`) { // an alternative may hold a slash
		return strings.HasPrefix(p.prefix, dir+"/") || strings.HasPrefix(dir+"/", p.prefix)
	}
	elements, names := strings.Split(p.glob, "/"), strings.Split(dir, "/")
	for i, name := range names {
		if i == len(elements) {
			return p.tree
		}
		if elements[i] == "**" {
			return true
		}
		if ok, err := doublestar.Match(elements[i], name); err != nil || !ok {
			return false
		}
	}
	return len(elements) > len(names) || p.tree
}

func (p *pattern) match(path string) bool {
	if !strings.HasPrefix(path, p.prefix) {
		return false
	}
	if p.literal {
		return len(path) == len(p.glob) || p.glob == "" || path[len(p.glob)] == '/'
	}
	if ok, err := doublestar.Match(p.glob, path); err != nil || ok {
		return ok && err == nil
	}
	if !p.tree {
		return false
	}
	ok, err := doublestar.Match(p.glob+"/**", path)
	return ok && err == nil
}

// Literal reports whether the pattern names one file or directory, with no
// special characters and no !.
func Literal(pattern string) bool {
	return !strings.HasPrefix(pattern, "!") && !strings.ContainsAny(pattern, special)
}

// Base gives the directory that a pattern cannot lead out of: its part before
// the last slash that stands before any special character. "." for none.
func Base(pattern string) string {
	base, _ := doublestar.SplitPattern(strings.TrimPrefix(pattern, "!"))
	return base
}

// Faults of a pattern.
var (
	ErrEmpty    = errors.New("is empty")
	ErrAbsolute = errors.New("is absolute: it must be relative")
	ErrParent   = errors.New("leads out of the directory with ..")
	ErrHome     = errors.New("begins with ~, which is not expanded")
	ErrSyntax   = errors.New("is not a glob: a bracket or brace is not closed, or \\ is at its end")
)

// Check says what is wrong with a pattern, nil if nothing is. The text of an
// error goes on after "the pattern".
func Check(pattern string) error {
	text := strings.TrimPrefix(pattern, "!")
	switch {
	case text == "":
		return ErrEmpty
	case strings.HasPrefix(text, "/"):
		return ErrAbsolute
	case text == "~" || strings.HasPrefix(text, "~/"):
		return ErrHome
	case len(text) > 2 && text[1] == ':' && text[2] == '\\':
		return ErrAbsolute
	}
	for part := range strings.SplitSeq(text, "/") {
		if part == ".." {
			return ErrParent
		}
	}
	if !doublestar.ValidatePattern(text) {
		return ErrSyntax
	}
	return nil
}
