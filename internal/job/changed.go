package job

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/overbrainer/overbrainer/internal/remote"
)

// ChangedError is results that were written to after they had been listed.
// Nothing of them got its final name.
type ChangedError struct{ Paths []string }

func (e *ChangedError) Error() string {
	return firstOf(e.Paths) + " changed on the pod during the transfer"
}

// grows reports whether a file is one that lines are added to: what it held when
// it was listed is whole whatever has come since.
func (p *Pod) grows(name string) bool { return name == "job.log" || name == p.Metrics }

// unchanged fails with a *ChangedError where files, by their paths on the pod, are
// not what they were when they were listed: what came of a file that is still being
// written may be right and not whole.
func (p *Pod) unchanged(ctx context.Context, files []remote.File) error {
	const what = "looking for results that changed"
	var names []string
	were := map[string]remote.File{}
	for _, f := range files {
		if !p.grows(f.Path) {
			names = append(names, f.Path)
			were[f.Path] = f
		}
	}
	if len(were) == 0 {
		return nil
	}
	var maybe []string
	for part := range inParts(names) {
		out, err := p.do(ctx, p.work, call{what: what, names: part, script: compact(changedText), max: 2*bytesOf(part) + 1})
		if err != nil {
			return err
		}
		lists, err := readNames(out)
		if err != nil {
			return &ProtocolError{What: what, Detail: err.Error()}
		}
		maybe = append(maybe, lists[0]...)
	}
	if len(maybe) == 0 {
		return nil
	}
	// Their time alone proves nothing: it may be in the future.
	now, err := p.hashes(ctx, slices.Compact(sortedNames(maybe)), nil, nil)
	if err != nil {
		return err
	}
	var changed []string
	for _, f := range now {
		if was, asked := were[f.Path]; asked && f != was {
			changed = append(changed, f.Path)
		}
	}
	if len(changed) > 0 {
		return &ChangedError{Paths: changed}
	}
	return nil
}

// inParts cuts names into as many at a time as a program's arguments may be.
func inParts(names []string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for len(names) > 0 {
			part := firstPart(names)
			if !yield(part) {
				return
			}
			names = names[len(part):]
		}
	}
}

// firstPart is as many of the first names as a program's arguments may be.
func firstPart(names []string) []string {
	const most = 64 << 10
	n, size := 0, int64(0)
	for n < len(names) && (n == 0 || size+bytesOf(names[n:n+1]) <= most) {
		size += bytesOf(names[n : n+1])
		n++
	}
	return names[:n]
}

// whyWrong tells a file that changed on the pod from one that did not arrive as
// it lies there, where a transfer failed because of what a file holds.
func (p *Pod) whyWrong(ctx context.Context, m Manifest, err error) error {
	var wrong *remote.VerifyError
	if !errors.As(err, &wrong) {
		return err
	}
	changed := &ChangedError{Paths: []string{wrong.Path}}
	own, moved := m.apart(m.Files)
	for _, was := range append(own, moved...) {
		if was.Path != wrong.Path {
			continue
		}
		now, lost := p.hashes(ctx, []string{was.Path}, nil, nil)
		var gone *ChangedError
		switch {
		case errors.As(lost, &gone), lost == nil && now[0] != was:
			return changed
		case lost != nil:
			return lost
		}
	}
	return err
}
