package job

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/overbrainer/overbrainer/internal/glob"
	"github.com/overbrainer/overbrainer/internal/remote"
)

// Manifest is what a run's directory on the pod holds of what was asked for.
type Manifest struct {
	// Files are to be brought home, sorted by path, with their digests as the
	// pod computed them.
	Files []remote.File
	// Matched is how many of them the globs gave, not counting job.log, which
	// every job leaves.
	Matched int
	// Others are further regular files there, sorted, at most 1000.
	Others []string
	// Moved is the directory in the run's local directory that takes the results
	// whose names are taken there; "" where there are none.
	Moved string
	// Large are those of Files that are large, by path, with what changes when
	// their content may have: what is here of one is kept by that.
	Large map[string]string
	// Left are links that the globs may have meant and that lead to nothing that
	// can be fetched, each with why.
	Left []string
}

// Bytes is the size of all files together.
func (m Manifest) Bytes() int64 {
	var total int64
	for _, f := range m.Files {
		total += f.Size
	}
	return total
}

// Digest is one SHA-256 over all files, their paths, sizes and executable bits.
func (m Manifest) Digest() string {
	h := sha256.New()
	for _, f := range m.Files {
		fmt.Fprintf(h, "%s %d %t %s\x00", f.SHA256, f.Size, f.Exec, f.Path)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// ErrNoJob is a run's directory on the pod in which no job was ever started:
// after one was, the container has been made anew with an empty disk.
var ErrNoJob = errors.New("no job was ever started in the run directory on the pod")

// localNames are what a run's directory on this machine holds besides results.
var localNames = []string{"run.json", "inputs.json", "ssh", ".pod", partial, parts}

// protocolNames never count as a job's files.
var protocolNames = []string{
	".claim", ".pod", "job.pid", "job.pid.tmp", "exit_code", "exit_code.tmp",
	"cancelling", "cancelled", "snapshot.request",
}

const (
	maxList   = 64 << 20
	maxOthers = 1000
)

// Manifest lists the files in the run's directory that globs match or always
// names, those behind links included, and has the pod compute their digests.
// The error is ErrNoJob where no job left them, an *UnreadError where the pod
// cannot read some, and a *ChangedError where some went away meanwhile.
func (p *Pod) Manifest(ctx context.Context, globs, always []string) (Manifest, error) {
	return p.manifest(ctx, globs, always, func(m *Manifest, wanted []string) (err error) {
		m.Files, err = p.hashes(ctx, wanted, m.Large, nil)
		return err
	})
}

// manifest is Manifest with the files by what digests makes of their names.
func (p *Pod) manifest(ctx context.Context, globs, always []string, digests func(m *Manifest, wanted []string) error) (Manifest, error) {
	set := glob.New(globs)
	list, err := p.list(ctx, func(name string) bool { return mayHold(set, always, name) })
	var script *ScriptError
	if errors.As(err, &script) && script.Exit == 3 {
		return Manifest{}, ErrNoJob
	}
	if err != nil {
		return Manifest{}, err
	}
	if len(list.unread) > 0 {
		return Manifest{}, &UnreadError{Paths: list.unread}
	}
	m, wanted := choose(list.files, set, always)
	m.Left = list.left
	if len(wanted) == 0 {
		return m, nil
	}
	for _, name := range wanted {
		if stamp, found := list.large[name]; found && !isTaken(name) {
			if m.Large == nil {
				m.Large = map[string]string{}
			}
			m.Large[name] = stamp
		}
	}
	err = digests(&m, wanted)
	m.move(list.files)
	return m, err
}

// move gives the results whose names are taken in the run's local directory
// others.
func (m *Manifest) move(all []string) {
	moved := "renamed"
	for slices.ContainsFunc(all, func(name string) bool { return name == moved || strings.HasPrefix(name, moved+"/") }) {
		moved += "_"
	}
	for i, f := range m.Files {
		if isTaken(f.Path) {
			m.Files[i].Path, m.Moved = moved+"/"+f.Path, moved
		}
	}
	slices.SortFunc(m.Files, func(a, b remote.File) int { return strings.Compare(a.Path, b.Path) })
}

// isTaken reports whether a result's name is taken in the run's local directory.
func isTaken(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return slices.Contains(localNames, top)
}

// apart divides files into those that lie on the pod under their own paths, and
// those that were moved, by their paths there.
func (m *Manifest) apart(files []remote.File) (own, moved []remote.File) {
	for _, f := range files {
		name, found := strings.CutPrefix(f.Path, m.Moved+"/")
		if m.Moved == "" || !found {
			own = append(own, f)
			continue
		}
		f.Path = name
		moved = append(moved, f)
	}
	return own, moved
}

// bytesOf is how long names are that each stand after "./" and before a NUL.
func bytesOf(names []string) int64 {
	var n int64
	for _, name := range names {
		n += int64(len(name)) + 3
	}
	return n
}

func sortedNames(names []string) []string {
	slices.Sort(names)
	return names
}

// choose sorts a list of names into wanted ones and others.
func choose(list []string, set *glob.Set, always []string) (m Manifest, wanted []string) {
	for _, name := range list {
		top, _, _ := strings.Cut(name, "/")
		matched := set.Match(name)
		switch {
		case slices.Contains(protocolNames, top) || isTemporary(top):
		case matched || slices.Contains(always, name):
			wanted = append(wanted, name)
			if matched && name != "job.log" {
				m.Matched++
			}
		default:
			m.Others = append(m.Others, name)
		}
	}
	slices.Sort(wanted)
	slices.Sort(m.Others)
	m.Others = m.Others[:min(len(m.Others), maxOthers)]
	return m, wanted
}

// isTemporary tells files that our scripts rename in the next moment.
func isTemporary(top string) bool {
	if !strings.HasSuffix(top, ".tmp") {
		return false
	}
	return strings.HasPrefix(top, ".claim.") || strings.HasPrefix(top, "snapshot.request.")
}

// hashAll is the SHA-256 and length of what r gives.
func hashAll(r io.Reader) (digest string, size int64, err error) {
	h := sha256.New()
	size, err = io.CopyBuffer(h, onlyReader{r}, make([]byte, 256<<10))
	return hex.EncodeToString(h.Sum(nil)), size, err
}

// onlyReader keeps io.CopyBuffer to its buffer.
type onlyReader struct{ io.Reader }
