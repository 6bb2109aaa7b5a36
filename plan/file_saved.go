package plan

import (
	"errors"
	"reflect"
	"slices"
)

// savedFile is a File as it is on disk. A list of uploads that a thousand runs
// share is there once, and so are their digests among the inputs: a file that had
// them in each of the runs could not be read.
type savedFile struct {
	*File
	Uploads [][]Upload `json:"uploads"`
	// UploadsOf says for each step which of the lists is its run's, counted from
	// 1; 0 is none.
	UploadsOf []int `json:"uploads_of"`
	// Files are the inputs that are files, and FilesOf says whose.
	Files   []map[string]string `json:"files"`
	FilesOf []int               `json:"files_of"`
}

// memory is where a list lies: it is the same where it is the same memory.
type memory struct {
	at uintptr
	n  int
}

// apart gives the place of a list among all, counted from 1; 0 for an empty one.
func apart[T any](list T, all *[]T, known map[memory]int) int {
	v := reflect.ValueOf(list)
	if v.Len() == 0 {
		return 0
	}
	key := memory{v.Pointer(), v.Len()}
	if known[key] == 0 {
		*all = append(*all, list)
		known[key] = len(*all)
	}
	return known[key]
}

// saved takes the lists out of the runs, in a copy.
func (f *File) saved() savedFile {
	file, p := *f, *f.Plan
	file.Plan, p.Steps = &p, slices.Clone(p.Steps)
	out := savedFile{
		File: &file, Uploads: [][]Upload{}, UploadsOf: make([]int, len(p.Steps)),
		Files: []map[string]string{}, FilesOf: make([]int, len(p.Steps)),
	}
	uploads, files := map[memory]int{}, map[memory]int{}
	for i, s := range p.Steps {
		if s == nil || s.Run == nil {
			continue
		}
		out.UploadsOf[i] = apart(s.Run.Uploads, &out.Uploads, uploads)
		out.FilesOf[i] = apart(s.Run.Inputs.Files, &out.Files, files)
		if out.UploadsOf[i] == 0 && out.FilesOf[i] == 0 {
			continue
		}
		step, run := *s, *s.Run
		run.Uploads, run.Inputs.Files = []Upload{}, nil
		step.Run, p.Steps[i] = &run, &step
	}
	return out
}

// restore gives the runs their lists. Files of version 1 have them there, those of
// version 2 the digests.
func (f *savedFile) restore() error {
	err := give(f.Plan.Steps, f.Uploads, f.UploadsOf, func(run *RunSpec, list []Upload) { run.Uploads = list })
	if err != nil {
		return err
	}
	return give(f.Plan.Steps, f.Files, f.FilesOf, func(run *RunSpec, list map[string]string) { run.Inputs.Files = list })
}

func give[T any](steps []*Step, lists []T, of []int, to func(*RunSpec, T)) error {
	for i, n := range of {
		if n == 0 {
			continue
		}
		if n < 0 || n > len(lists) || i >= len(steps) || steps[i] == nil || steps[i].Run == nil {
			return errors.New("it has files of a run that is not there")
		}
		to(steps[i].Run, lists[n-1])
	}
	return nil
}
