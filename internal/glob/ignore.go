package glob

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Ignore is a list of patterns in the syntax of .gitignore: a pattern with a
// slash at its begin or in its middle is bound to the top, one without matches
// at any depth; a slash at its end means directories only; # begins a comment
// and ! takes back an earlier pattern. What lies in an ignored directory cannot
// be taken back.
type Ignore struct {
	rules []rule
}

type rule struct {
	glob   string
	any    bool // matches at any depth
	dir    bool // directories only
	negate bool
	line   int
	text   string
}

// ParseIgnore reads the text of an ignore file. Lines that are no valid
// pattern match nothing, as with git.
func ParseIgnore(text string) *Ignore {
	ignore := &Ignore{}
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		if r, ok := readRule(line); ok {
			r.line, r.text = n, strings.TrimRight(line, " \t\r")
			ignore.rules = append(ignore.rules, r)
		}
	}
	return ignore
}

func readRule(line string) (rule, bool) {
	line = strings.TrimSuffix(line, "\r")
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if line == "" || line[0] == '#' {
		return rule{}, false
	}
	r := rule{}
	if line[0] == '!' {
		r.negate, line = true, line[1:]
	}
	line, r.dir = strings.CutSuffix(line, "/")
	// doublestar knows braces, .gitignore does not.
	line = strings.NewReplacer("{", `\{`, "}", `\}`).Replace(line)
	line, anchored := strings.CutPrefix(line, "/")
	r.any = !anchored && !strings.Contains(line, "/")
	if line == "" || !doublestar.ValidatePattern(line) {
		return rule{}, false
	}
	r.glob = line
	return r, true
}

// Match reports whether the path, a directory if dir, is ignored by a rule for
// itself, and the line of the rule that decided ("" and 0: none). Whoever
// walks a tree skips an ignored directory; Tree looks at parents, too.
func (g *Ignore) Match(path string, dir bool) (ignored bool, line int, text string) {
	for i := len(g.rules) - 1; i >= 0; i-- {
		r := &g.rules[i]
		if r.dir && !dir {
			continue
		}
		name := path
		if r.any {
			name = path[strings.LastIndexByte(path, '/')+1:]
		}
		if ok, err := doublestar.Match(r.glob, name); ok && err == nil {
			return !r.negate, r.line, r.text
		}
	}
	return false, 0, ""
}

// Tree is Match for a file and all directories above it, outermost first.
func (g *Ignore) Tree(path string) (ignored bool, line int, text string) {
	for i, c := range path {
		if c == '/' {
			if ignored, line, text = g.Match(path[:i], true); ignored {
				return
			}
		}
	}
	return g.Match(path, false)
}
