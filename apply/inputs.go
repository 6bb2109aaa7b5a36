package apply

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"weak"

	"github.com/overbrainer/overbrainer/plan"
)

// uploads are the files of a list of uploads, and where each is here, by its path
// on the pod. Nobody changes them.
type uploads struct {
	files  []File
	source map[string]string
}

// uploadsOf gives those of a list. Runs that share the list share them for as long
// as one of them has use for them.
func (s *session) uploadsOf(list []plan.Upload) *uploads {
	if len(list) == 0 {
		return &uploads{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// A list is the same where it is the same memory.
	if have := s.uploads[&list[0]].Value(); have != nil && len(have.files) == len(list) {
		return have
	}
	u := &uploads{files: make([]File, len(list)), source: make(map[string]string, len(list))}
	for i, f := range list {
		u.files[i] = File{Path: f.Path, Size: f.Size, SHA256: f.SHA256, Exec: f.Exec}
		u.source[f.Path] = filepath.Join(s.Project, filepath.FromSlash(f.Source))
	}
	s.uploads[&list[0]] = weak.Make(u)
	return u
}

// inputs lists what goes to the pod: the uploads and a checkpoint to start
// from.
func (r *runner) inputs() (files []File, open func(File) (io.ReadSeekCloser, error), resumeDir string, err error) {
	if err := r.needCheckpoint(); err != nil {
		return nil, nil, "", err
	}
	uploads := r.s.uploadsOf(r.spec.Uploads)
	files = slices.Clip(uploads.files)
	checkpoint := map[string]string{}
	if from := r.from(); from != nil {
		resumeDir = "resume/" + path.Base(from.Dir)
		for _, f := range r.checkpoint {
			source := filepath.Join(r.s.Project, filepath.FromSlash(from.Dir), filepath.FromSlash(f.Path))
			f.Path = path.Join(resumeDir, f.Path)
			checkpoint[f.Path] = source
			files = append(files, f)
		}
	}
	open = func(f File) (io.ReadSeekCloser, error) {
		if source, ok := checkpoint[f.Path]; ok {
			return os.Open(source)
		}
		return os.Open(uploads.source[f.Path])
	}
	return files, open, resumeDir, nil
}
