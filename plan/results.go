package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/state"
)

// mostHashed is how large a result may be to be read again by every plan where
// no cache of digests is given.
const mostHashed = 64 << 20

// noResults is what is wrong where nothing of a run's results is here.
const noResults = "run.json is missing"

// maxNamed is how many addresses or files a message names.
const maxNamed = 3

// inputsOf reads what a run was started with from its inputs.json, where that
// is here and is the one that the state means.
func (b *builder) inputsOf(run *state.Run) (in Inputs, here bool) {
	if b.in.Files == nil || run.Dir == "" || !fs.ValidPath(path.Clean(run.Dir)) {
		return in, false
	}
	data, err := fs.ReadFile(b.in.Files, path.Join(run.Dir, "inputs.json"))
	if err != nil || run.InputsDigest != "" && hexSum(data) != run.InputsDigest {
		return in, false
	}
	var file struct {
		Inputs *Inputs `json:"inputs"`
	}
	if json.Unmarshal(data, &file) != nil || file.Inputs == nil {
		return in, false
	}
	return *file.Inputs, true
}

// checkResults looks whether the results of a run that succeeded are still
// here as they were verified, and says what is not.
func (b *builder) checkResults(step *Step, run *config.Run, cur *state.Run) {
	if step.Action != NoOp || b.in.Files == nil || cur == nil || !cur.Retrieved || cur.ResultFiles == 0 && cur.ResultsDigest == "" {
		return
	}
	problems := b.resultProblems(cur)
	if len(problems) == 0 {
		return
	}
	m := missing{run: run, cur: cur, what: List(problems, maxNamed)}
	gone := len(problems) == 1 && problems[0] == noResults
	switch {
	case gone && cur.FetchedBy != "" && cur.FetchedBy != b.in.Holder.Name():
		m.how = elsewhere
		step.Reason = "succeeded, nothing changed; its results are on " + cur.FetchedBy
	case gone && cur.FetchedBy != "":
		m.how = removed
		step.Reason = "succeeded, nothing changed, but its results are not here any more"
	default:
		m.how = damaged
		step.Reason = "succeeded, nothing changed, but its results are not here: " + m.what
	}
	b.missing = append(b.missing, m)
}

func (b *builder) resultProblems(run *state.Run) []string {
	data, err := fs.ReadFile(b.in.Files, path.Join(run.Dir, "run.json"))
	if err != nil {
		return []string{noResults}
	}
	var file struct {
		Files []resultFile `json:"files"`
	}
	if json.Unmarshal(data, &file) != nil {
		return []string{"run.json cannot be read"}
	}
	for i, f := range file.Files {
		if len(f.PathBytes) > 0 {
			file.Files[i].Path = string(f.PathBytes)
		}
	}
	if len(file.Files) == 0 && run.ResultFiles > 0 && run.FetchedBy != "" {
		return []string{noResults} // written by a command that only looked on
	}
	if run.ResultsDigest != "" && digestOf(file.Files) != run.ResultsDigest {
		return []string{"run.json does not list what was verified"}
	}
	var problems []string
	for _, f := range file.Files {
		if b.ctx.Err() != nil {
			return problems
		}
		if p := b.resultProblem(path.Join(run.Dir, f.Path), f); p != "" {
			problems = append(problems, f.Path+" "+p)
		}
	}
	return problems
}

type resultFile struct {
	Path      string `json:"path"`
	PathBytes []byte `json:"path_bytes"` // of a path that is no UTF-8
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`
}

// resultProblem compares one file, "" if it is as it was.
func (b *builder) resultProblem(name string, want resultFile) string {
	info, err := fs.Stat(b.in.Files, name)
	switch {
	case err != nil:
		return "is missing"
	case info.Size() != want.Size:
		return "changed"
	}
	var sum string
	switch {
	case b.in.Hash != nil:
		sum, err = b.in.Hash(name)
	case want.Size <= mostHashed:
		sum, err = b.hashFile(name)
	default:
		return ""
	}
	switch {
	case err != nil:
		return "cannot be read"
	case sum != want.SHA256:
		return "changed"
	}
	return ""
}

func (b *builder) hashFile(name string) (string, error) {
	f, err := b.in.Files.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	if b.buffer == nil {
		b.buffer = make([]byte, 64<<10)
	}
	if _, err := io.CopyBuffer(sum, struct{ io.Reader }{f}, b.buffer); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// digestOf is the digest of verified files as the state has it.
func digestOf(files []resultFile) string {
	sum := sha256.New()
	for _, f := range files {
		fmt.Fprintf(sum, "%s %d %s\n", f.SHA256, f.Size, f.Path)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
