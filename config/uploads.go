package config

import (
	"fmt"
	"path"
	"strings"

	"github.com/overbrainer/overbrainer/internal/glob"
)

// uploadSet is what one `upload` selects. Runs that ask for the same share it.
type uploadSet struct {
	files  []upload
	bytes  int64
	faults []uploadFault
	// The rest is filled when the files are hashed.
	hashed bool
	out    []Upload
	digest string
	inputs map[string]string
}

type upload struct {
	dest string
	file *treeFile
}

// uploadFault is what is wrong with an entry or a file. index is the entry's,
// -1 where it is none's alone.
type uploadFault struct {
	index           int
	summary, detail string
}

func (u *uploadSet) fault(index int, summary, format string, args ...any) {
	u.faults = append(u.faults, uploadFault{index, summary, fmt.Sprintf(format, args...)})
}

// entry is one element of `upload`: a pattern, or a source with where it goes.
type entry struct{ dest, source string }

// uploads finds the files of an `upload`; mapped: the entries say where each
// source goes. The same entries give the same set.
func (p *program) uploads(entries []entry, mapped bool) *uploadSet {
	key := fmt.Sprint(mapped)
	for _, e := range entries {
		key += "\x00" + e.dest + "\x01" + e.source
	}
	if set := p.sets[key]; set != nil {
		return set
	}
	set := &uploadSet{}
	p.sets[key] = set
	if _, err := p.files.all(); err != nil {
		set.fault(-1, "files cannot be read", "%s", err)
		return set
	}
	found := map[string]*treeFile{}
	if mapped {
		p.selectMapped(set, entries, found)
	} else {
		p.selectPatterns(set, entries, found)
	}
	for _, dest := range sorted(found) {
		f := found[dest]
		if f.problem != "" {
			set.fault(-1, "not uploaded", "%s %s; leave it out with \"!%s\" in `upload`, or with a line in %s", f.path, f.problem, f.path, IgnoreFile)
			continue
		}
		set.files = append(set.files, upload{dest, f})
		set.bytes += f.info.Size()
	}
	return set
}

func (p *program) selectPatterns(set *uploadSet, entries []entry, found map[string]*treeFile) {
	var patterns []string
	var index []int // of the entry
	for i, e := range entries {
		if p.checkPattern(set, i, e.source) {
			patterns, index = append(patterns, e.source), append(index, i)
		}
	}
	matched := make([]bool, len(patterns))
	matcher := glob.New(patterns)
	files, _ := p.files.all()
	single := make([]*glob.Set, len(patterns))
	for i, pattern := range patterns {
		single[i] = glob.New([]string{pattern})
	}
	for _, f := range files {
		i := matcher.Which(f.path)
		if i < 0 {
			continue
		}
		for j := range patterns {
			matched[j] = matched[j] || single[j].Match(f.path)
		}
		if !strings.HasPrefix(patterns[i], "!") && p.free(set, f.path) {
			found[f.path] = f
		}
	}
	for i, pattern := range patterns {
		if matched[i] || strings.HasPrefix(pattern, "!") {
			continue
		}
		if !glob.Literal(pattern) {
			set.fault(index[i], "nothing to upload", "no file matches %s", quote(pattern))
			continue
		}
		if f := p.literal(set, index[i], pattern); f != nil {
			found[f.path] = f
		}
	}
}

// checkPattern refuses patterns that are none, or lead out of the project.
func (p *program) checkPattern(set *uploadSet, index int, pattern string) bool {
	if err := glob.Check(pattern); err != nil {
		set.fault(index, "not a path of the project", "the pattern %s %s; what is uploaded lies in the project's directory", quote(pattern), err)
		return false
	}
	return true
}

// free refuses destinations that the protocol on the pod uses itself.
func (p *program) free(set *uploadSet, dest string) bool {
	top, _, _ := strings.Cut(dest, "/")
	if top == ".pod" || top == "ssh" || dest == "job.log" {
		set.fault(-1, "name in use", "%s cannot be uploaded under this name: .pod, ssh and job.log in the run's directory are overbrainer's own; leave it out with \"!%s\", or give it another name with a map: upload = { NAME = %s }", dest, dest, quote(dest))
		return false
	}
	return true
}

// literal finds a file by its name, or says why there is nothing.
func (p *program) literal(set *uploadSet, index int, name string) *treeFile {
	name = path.Clean(name)
	f, why := p.files.named(name)
	if f != nil {
		return f
	}
	if why != "" {
		set.fault(index, "not uploaded", "%s exists, but %s", name, why)
		return nil
	}
	if exists, dir := p.exists(name); exists && dir {
		set.fault(index, "nothing to upload", "the directory %s holds no files", name)
		return nil
	}
	set.fault(index, "nothing to upload", "%s", hint(fmt.Sprintf("there is no file %s in the project", quote(name)), p.nearestFile(name)))
	return nil
}

func (p *program) nearestFile(name string) string {
	files, _ := p.files.all()
	var names []string
	for _, f := range files {
		if len(names) < 5000 && strings.Count(f.path, "/") == strings.Count(name, "/") {
			names = append(names, f.path)
		}
	}
	if n := nearest(name, names); n != "" {
		return "did you mean `" + n + "`?"
	}
	return ""
}
