package plan

import (
	"fmt"
	"sort"
	"strings"
	"unicode"

	"github.com/agext/levenshtein"
)

// Quoted shows an ID so that doubled, leading and trailing spaces are seen: in
// quotes where it has such.
func Quoted(id string) string {
	if id != strings.Join(strings.Fields(id), " ") {
		return fmt.Sprintf("%q", id)
	}
	return id
}

// ShellWord quotes an address, or a file's name, where a shell would not take it
// as it is.
func ShellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./:=@%+,-", r)
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// List joins names, telling how many were left out.
func List(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// sameButSpaces gives the names that differ from name in spaces only.
func sameButSpaces(name string, names []string) []string {
	var same []string
	for _, n := range names {
		if n != name && strings.Join(strings.Fields(n), " ") == strings.Join(strings.Fields(name), " ") {
			same = append(same, n)
		}
	}
	sort.Strings(same)
	return same
}

// nearest gives up to most names that were probably meant, the likeliest
// first. labels are other words for a name, such as its display name.
func nearest(name string, labels map[string]string, most int) []string {
	type scored struct {
		name  string
		score float64
	}
	var list []scored
	for id, label := range labels {
		score := max(likeness(name, id), likeness(name, label))
		if score >= 0.5 {
			list = append(list, scored{id, score})
		}
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].score != list[j].score {
			return list[i].score > list[j].score
		}
		return list[i].name < list[j].name
	})
	var out []string
	for _, s := range list[:min(len(list), most)] {
		out = append(out, s.name)
	}
	return out
}

// likeness of two names, 0 to 1: spelling, or how many of the words asked for
// are there, whichever says more.
func likeness(asked, name string) float64 {
	a, n := words(asked), words(name)
	if len(a) == 0 || len(n) == 0 {
		return 0
	}
	spelling := levenshtein.Similarity(strings.Join(a, " "), strings.Join(n, " "), nil)
	found := 0
	for _, w := range a {
		if has(n, w) {
			found++
		}
	}
	// Of two names with all the words the shorter one is nearer.
	share := float64(found)/float64(len(a)) - 0.01*float64(len(n))
	return max(spelling, share)
}

func words(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// UnknownTypeError says that the catalog has no such GPU type.
type UnknownTypeError struct {
	GPUType string
	// Spaces are IDs that differ from it in spaces only, Nearest others that
	// may be meant.
	Spaces, Nearest []string
}

func (e *UnknownTypeError) Error() string {
	s := fmt.Sprintf("there is no GPU type %q", e.GPUType)
	if len(e.Spaces) > 0 {
		return s + fmt.Sprintf("; IDs are compared exactly, and %s differs in its spaces", quoteAll(e.Spaces))
	}
	if len(e.Nearest) > 0 {
		s += "; did you mean " + quoteAll(e.Nearest) + "?"
	}
	return s
}

func quoteAll(names []string) string {
	var q []string
	for _, n := range names {
		q = append(q, fmt.Sprintf("%q", n))
	}
	return or(q)
}
