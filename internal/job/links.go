package job

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/overbrainer/overbrainer/internal/glob"
)

// maxLinkDepth is through how many links to directories a result may be reached.
const maxLinkDepth = 16

// listing is what lies in the run's directory on the pod. A link to a file
// counts as a file; what lies below a link to a directory counts as if it lay
// there.
type listing struct {
	files []string
	// large are the files of which large says so, by name, with what changes when
	// their content may have.
	large map[string]string
	// left are links that could be results and lead to nothing that can be
	// fetched, each with why.
	left []string
	// unread are links to directories of which not all can be read.
	unread []string
}

// kernel are directories in which nobody keeps results: their files have no
// content of their own, or none that ends.
var kernel = []string{"/proc", "/sys"}

// link is one whose target matters, with the directories on the pod that lead
// to it.
type link struct {
	name string
	// through are where it lies and where the links lie that lead there.
	through []string
}

// list gives what lies in the run's directory, and behind those of its links
// that wanted names.
func (p *Pod) list(ctx context.Context, wanted func(name string) bool) (listing, error) {
	out, err := p.do(ctx, p.work, call{
		what:   "listing the results",
		script: compact(filesText),
		max:    maxList,
	})
	if err != nil {
		return listing{}, err
	}
	var all listing
	lines, out, _ := bytes.Cut(out, []byte{0})
	all.large = readLarge(lines)
	sections, err := readNames(out)
	if err != nil || len(sections) != 2 {
		return listing{}, badList(err, "the number of parts")
	}
	all.files = sections[0]
	var todo []link
	add := func(names, through []string) {
		for _, name := range names {
			if wanted(name) {
				todo = append(todo, link{name: name, through: through})
			}
		}
	}
	add(sections[1], nil)
	for depth := 0; len(todo) > 0; depth++ {
		var dirs []link
		if dirs, err = p.resolve(ctx, todo, &all); err != nil {
			return listing{}, err
		}
		todo = nil
		if depth == maxLinkDepth {
			for _, l := range dirs {
				all.left = append(all.left, l.name+" (it lies behind too many links)")
			}
			break
		}
		if err := p.behind(ctx, dirs, &all, add); err != nil {
			return listing{}, err
		}
	}
	return all, nil
}

// resolve adds the links that lead to files to the list, and gives those that
// lead to directories and not back to where they lie.
func (p *Pod) resolve(ctx context.Context, links []link, all *listing) ([]link, error) {
	const what = "following the links among the results"
	out, err := p.do(ctx, p.work, call{what: what, names: linkNames(links), script: compact(linksText), max: maxList})
	if err != nil {
		return nil, err
	}
	fields := bytes.Split(out, []byte{0})
	if len(fields) != 4*len(links)+1 {
		return nil, &ProtocolError{What: what, Detail: fmt.Sprintf("%d fields for %d links", len(fields)-1, len(links))}
	}
	var dirs []link
	for i, l := range links {
		kind, name, at, to := string(fields[4*i]), string(fields[4*i+1]), string(fields[4*i+2]), string(fields[4*i+3])
		if name != "./"+l.name {
			return nil, &ProtocolError{What: what, Detail: fmt.Sprintf("the name %q", name)}
		}
		into := slices.IndexFunc(kernel, func(dir string) bool { return to == dir || strings.HasPrefix(to, dir+"/") })
		switch {
		case into >= 0:
			all.left = append(all.left, fmt.Sprintf("%s (it leads into %s)", l.name, kernel[into]))
		case kind == "f":
			all.files = append(all.files, l.name)
		case kind != "d":
			all.left = append(all.left, l.name+" (it leads to no file and no directory)")
		default:
			l.through = append(slices.Clone(l.through), at)
			if slices.ContainsFunc(l.through, func(dir string) bool { return to == "/" || dir == to || strings.HasPrefix(dir, to+"/") }) {
				all.left = append(all.left, l.name+" (it leads back to where it lies)")
				continue
			}
			dirs = append(dirs, l)
		}
	}
	return dirs, nil
}

// behind adds what lies below links to directories: the files to the list, the
// links to those that are still to be followed.
func (p *Pod) behind(ctx context.Context, dirs []link, all *listing, add func(names, through []string)) error {
	if len(dirs) == 0 {
		return nil
	}
	out, err := p.do(ctx, p.work, call{
		what:  "listing the directories that links among the results lead to",
		names: linkNames(dirs), script: compact(belowText), max: maxList,
	})
	if err != nil {
		return err
	}
	sections, err := readNames(out)
	if err != nil || len(sections) != 3*len(dirs)+1 {
		return badList(err, "the number of parts")
	}
	for i, l := range dirs {
		all.files = append(all.files, sections[3*i]...)
		add(sections[3*i+1], l.through)
		if len(sections[3*i+2]) > 0 {
			all.unread = append(all.unread, l.name)
		}
	}
	return nil
}

func linkNames(links []link) []string {
	names := make([]string, len(links))
	for i, l := range links {
		names[i] = l.name
	}
	return names
}

// readNames reads lists of names, each "./name" and a NUL, with an empty name
// between two lists.
func readNames(out []byte) ([][]string, error) {
	sections := [][]string{nil}
	for record := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		if len(record) == 0 {
			sections = append(sections, nil)
			continue
		}
		name, found := strings.CutPrefix(string(record), "./")
		if !found || !safePath(name) {
			return nil, fmt.Errorf("the name %q", record)
		}
		last := len(sections) - 1
		sections[last] = append(sections[last], name)
	}
	return sections, nil
}

func badList(err error, detail string) error {
	if err != nil {
		detail = err.Error()
	}
	return &ProtocolError{What: "listing the results", Detail: detail}
}

// mayHold reports whether a result may be the link itself or lie behind it.
func mayHold(set *glob.Set, always []string, name string) bool {
	if top, _, _ := strings.Cut(name, "/"); slices.Contains(protocolNames, top) {
		return false
	}
	return set.Match(name) || set.Below(name) || slices.ContainsFunc(always, func(file string) bool {
		return file == name || strings.HasPrefix(path.Dir(file)+"/", name+"/")
	})
}
