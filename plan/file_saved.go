package plan

import (
	"errors"
	"reflect"
	"slices"
)

// savedFile is a File as it is on disk. A list of uploads that a thousand runs
// share is there once, and so are their digests among the inputs and the offers for
// a target: a file that had them in each of the runs could not be read.
type savedFile struct {
	*File
	Uploads [][]Upload `json:"uploads"`
	// UploadsOf says for each step which of the lists is its run's, counted from
	// 1; 0 is none.
	UploadsOf []int `json:"uploads_of"`
	// Files are the inputs that are files, and FilesOf says whose.
	Files   []map[string]string `json:"files"`
	FilesOf []int               `json:"files_of"`
	// Offers are lists of them, and OffersOf says by a run's address which is its
	// own. Those that the plan has itself are empty.
	Offers   [][]Offer      `json:"offers"`
	OffersOf map[string]int `json:"offers_of"`
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

// saved takes the lists out of the runs and the plan, in a copy.
func (f *File) saved() savedFile {
	file, p := *f, *f.Plan
	file.Plan, p.Steps = &p, slices.Clone(p.Steps)
	out := savedFile{
		File: &file, Uploads: [][]Upload{}, UploadsOf: make([]int, len(p.Steps)),
		Files: []map[string]string{}, FilesOf: make([]int, len(p.Steps)),
		Offers: [][]Offer{}, OffersOf: map[string]int{},
	}
	uploads, files, offers := map[memory]int{}, map[memory]int{}, map[memory]int{}
	p.Offers = map[string][]Offer{}
	for _, address := range sortedKeys(f.Plan.Offers) {
		list := f.Plan.Offers[address]
		if n := apart(list, &out.Offers, offers); n > 0 {
			out.OffersOf[address] = n
		} else {
			p.Offers[address] = list
		}
	}
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
// version 2 the digests, and those before version 4 have the offers in the plan.
func (f *savedFile) restore() error {
	for address, n := range f.OffersOf {
		if n < 1 || n > len(f.Offers) || f.Plan.Offers == nil {
			return errors.New("it has offers that are not there")
		}
		f.Plan.Offers[address] = f.Offers[n-1]
	}
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
