package job

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/overbrainer/overbrainer/internal/remote"
)

// minAhead is from which size on a file begins to travel before its digest is known.
// files.sh looks for such files, and for them hash.sh takes what is fastest.
const minAhead = 64 << 20

// readLarge reads the lines of files.sh about large files: what stands before a name
// changes when the file is written or replaced. A name with a line break in it is
// cut, which can at most begin a transfer in vain.
func readLarge(lines []byte) map[string]string {
	large := map[string]string{}
	for line := range strings.Lines(string(lines)) {
		stamp, name, found := strings.Cut(strings.TrimSuffix(line, "\n"), " ./")
		if found && sizeIn(stamp) >= minAhead {
			large[name] = stamp
		}
	}
	return large
}

// sizeIn is the size with which a stamp begins.
func sizeIn(stamp string) int64 {
	text, _, _ := strings.Cut(stamp, " ")
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return -1
	}
	return size
}

// arrived are the digests of what came ahead, by path. It lies in the staging
// directory, where it is compared once more like everything else.
type arrived map[string]string

// right reports whether a file came ahead as the pod says it is.
func (a arrived) right(f remote.File) bool { return a[f.Path] == f.SHA256 }

// digestsAhead has the pod compute the digests of what is wanted, and brings large
// files meanwhile. That is a head start and no more: what it did not bring, or not as
// the pod then says, is fetched with everything else, and what is wrong with that is
// found there.
func (p *Pod) digestsAhead(ctx context.Context, c Collect, m *Manifest, wanted []string) (arrived, error) {
	files, err := p.early(c, m.Large)
	if err != nil {
		return nil, err
	}
	known := make(chan struct{})
	var came arrived
	var moving atomic.Bool
	moving.Store(len(files) > 0)
	told := func(done, total int) {
		if c.Digests != nil && !moving.Load() {
			c.Digests(done, total)
		}
	}
	both, inner := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		defer close(known)
		m.Files, err = p.hashes(inner, wanted, m.Large, told)
		return err
	})
	if len(files) > 0 {
		both.Go(func() error {
			defer moving.Store(false)
			var mu sync.Mutex // a download that failed may leave somebody behind
			all := arrived{}
			err := p.conn.Pull(inner, remote.Pull{
				Dir: p.dir, Files: files, Dest: filepath.Join(c.Dir, partial), Keys: m.Large, Progress: c.Progress, Stall: p.Stall,
				Ahead: &remote.Ahead{Until: known, Arrived: func(f remote.File) {
					mu.Lock()
					defer mu.Unlock()
					all[f.Path] = f.SHA256
				}},
			})
			mu.Lock()
			defer mu.Unlock()
			came = maps.Clone(all)
			var stall *remote.StallError
			if errors.As(err, &stall) {
				return err
			}
			return nil
		})
	}
	err = both.Wait()
	return came, err
}

// early are the large files of which nothing of their size lies here, neither in
// place nor staged, each of several names for one file once. There are none where
// there is no room for twice as much: how large the rest is shows later, and nothing
// is to be copied before it is known to fit.
func (p *Pod) early(c Collect, large map[string]string) ([]remote.File, error) {
	if len(large) == 0 {
		return nil, nil
	}
	home, err := openHome(c.Dir)
	if err != nil {
		return nil, err
	}
	defer home.close()
	var files []remote.File
	twins := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(large)) {
		f := remote.File{Path: name, Size: sizeIn(large[name])}
		if !twins[large[name]] && !hasSize(home.root, f) && !hasSize(home.stage, f) {
			files = append(files, f)
		}
		twins[large[name]] = true
	}
	if home.checkSpace(c.Free, slices.Concat(files, files)) != nil {
		return nil, nil
	}
	return files, nil
}

// hasSize reports whether root holds a file of that name and size.
func hasSize(root *os.Root, f remote.File) bool {
	info, err := root.Lstat(f.Path)
	return err == nil && info.Mode().IsRegular() && info.Size() == f.Size
}
