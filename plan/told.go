package plan

import "slices"

// mostRepeated is how many uploads a document has in each of the runs that share
// them.
const mostRepeated = 10

// told is the plan as its document has it, in which many uploads that a thousand
// runs share are told in the first of them only: the others name that one.
func (p *Plan) told() *Plan {
	type files struct{ uploads, inputs memory }
	told, first := *p, map[files]string{}
	told.Steps = slices.Clone(p.Steps)
	for i, s := range p.Steps {
		if s == nil || s.Run == nil || len(s.Run.Uploads) <= mostRepeated {
			continue
		}
		key := files{memoryOf(s.Run.Uploads), memoryOf(s.Run.Inputs.Files)}
		if first[key] == "" {
			first[key] = s.Address
			continue
		}
		told.Steps[i] = s.with(nil, first[key])
	}
	return &told
}
