package config

import (
	"path"
	"strings"

	"github.com/overbrainer/overbrainer/internal/glob"
)

func (p *program) selectMapped(set *uploadSet, entries []entry, found map[string]*treeFile) {
	from := map[string]string{}
	for _, e := range entries {
		if !p.checkPattern(set, -1, e.source) || !p.checkDest(set, e.dest) {
			continue
		}
		for _, u := range p.expandSource(set, e) {
			if other, taken := from[u.dest]; taken && other != u.file.path {
				set.fault(-1, "two files for one name", "%s and %s both go to %s", other, u.file.path, quote(u.dest))
				continue
			}
			if p.free(set, u.dest) {
				from[u.dest], found[u.dest] = u.file.path, u.file
			}
		}
	}
}

// checkDest refuses destinations outside of the run's directory.
func (p *program) checkDest(set *uploadSet, dest string) bool {
	clean := strings.TrimSuffix(dest, "/")
	if clean == "." || clean == "" && dest == "" {
		return true
	}
	if clean == "" || path.IsAbs(dest) || path.Clean(clean) != clean || clean == ".." || strings.HasPrefix(clean, "../") || strings.ContainsAny(clean, "\x00\n\\") {
		set.fault(-1, "not a path of the run", "%s is no name in the run's directory: write it relative, with /, without . and ..", quote(dest))
		return false
	}
	return true
}

// expandSource gives the files of one source: a file, a directory's tree, or
// what a pattern matches, under the destination.
func (p *program) expandSource(set *uploadSet, e entry) []upload {
	source := strings.TrimSuffix(e.source, "/")
	dest := strings.TrimSuffix(e.dest, "/")
	if glob.Literal(source) {
		source = path.Clean(source)
		if exists, dir := p.exists(source); exists && !dir {
			f := p.literal(set, -1, source)
			if f == nil {
				return nil
			}
			if e.dest == "" || strings.HasSuffix(e.dest, "/") || e.dest == "." {
				dest = path.Join(dest, path.Base(source))
			}
			return []upload{{dest, f}}
		}
	}
	base := source
	if !glob.Literal(source) {
		base = glob.Base(source)
	}
	matcher := glob.New([]string{source})
	var out []upload
	files, _ := p.files.all()
	for _, f := range files {
		if matcher.Match(f.path) {
			rel := f.path
			if base != "." {
				rel = strings.TrimPrefix(strings.TrimPrefix(f.path, base), "/")
			}
			out = append(out, upload{path.Join(dest, rel), f})
		}
	}
	if len(out) == 0 {
		if glob.Literal(source) {
			p.literal(set, -1, source)
		} else {
			set.fault(-1, "nothing to upload", "no file matches %s", quote(e.source))
		}
	}
	return out
}
