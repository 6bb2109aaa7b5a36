package plan

import (
	"errors"
	"slices"
)

// savedFile is a File as it is on disk. A list of uploads that a thousand runs
// share is there once: a file that had it in each of them could not be read.
type savedFile struct {
	*File
	Uploads [][]Upload `json:"uploads"`
	// UploadsOf says for each step which of the lists is its run's, counted from
	// 1; 0 is none.
	UploadsOf []int `json:"uploads_of"`
}

// saved takes the lists out of the runs, in a copy.
func (f *File) saved() savedFile {
	file, p := *f, *f.Plan
	file.Plan, p.Steps = &p, slices.Clone(p.Steps)
	out := savedFile{File: &file, Uploads: [][]Upload{}, UploadsOf: make([]int, len(p.Steps))}
	type list struct { // the same where it is the same memory
		first *Upload
		n     int
	}
	known := map[list]int{}
	for i, s := range p.Steps {
		if s == nil || s.Run == nil || len(s.Run.Uploads) == 0 {
			continue
		}
		key := list{&s.Run.Uploads[0], len(s.Run.Uploads)}
		if known[key] == 0 {
			out.Uploads = append(out.Uploads, s.Run.Uploads)
			known[key] = len(out.Uploads)
		}
		out.UploadsOf[i] = known[key]
		step, run := *s, *s.Run
		run.Uploads, step.Run, p.Steps[i] = []Upload{}, &run, &step
	}
	return out
}

// restore gives the runs their lists. Files of version 1 have them there.
func (f *savedFile) restore() error {
	for i, n := range f.UploadsOf {
		if n == 0 {
			continue
		}
		if n < 0 || n > len(f.Uploads) || i >= len(f.Plan.Steps) || f.Plan.Steps[i] == nil || f.Plan.Steps[i].Run == nil {
			return errors.New("it has uploads of a run that is not there")
		}
		f.Plan.Steps[i].Run.Uploads = f.Uploads[n-1]
	}
	return nil
}
