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

func memoryOf(list any) memory {
	v := reflect.ValueOf(list)
	return memory{v.Pointer(), v.Len()}
}

// apart gives the place of a list among all, counted from 1; 0 for an empty one.
func apart[T any](list T, all *[]T, known map[memory]int) int {
	key := memoryOf(list)
	if key.n == 0 {
		return 0
	}
	if known[key] == 0 {
		*all = append(*all, list)
		known[key] = len(*all)
	}
	return known[key]
}

// with is a copy of a run's step with other uploads and without inputs that are
// files, of which the run at an address tells, if any.
func (s *Step) with(uploads []Upload, filesOf string) *Step {
	step, run := *s, *s.Run
	run.Uploads, run.Inputs.Files, run.FilesOf = uploads, nil, filesOf
	step.Run = &run
	return &step
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
		p.Steps[i] = s.with([]Upload{}, "")
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
