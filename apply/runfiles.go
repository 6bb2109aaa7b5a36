package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/overbrainer/overbrainer/internal/safetext"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// inputsFile is runs/ID/inputs.json: what the run was started with, by name
// and digest, and in words. It holds no secret and no sensitive value.
type inputsFile struct {
	RunID       string            `json:"run_id"`
	Address     string            `json:"address"`
	Fingerprint string            `json:"fingerprint"`
	Inputs      plan.Inputs       `json:"inputs"`
	Shown       map[string]string `json:"shown"` // input → what it was
	Uploads     []plan.Upload     `json:"uploads"`
	Secrets     map[string]string `json:"secrets,omitempty"` // variable → block
	ResumedFrom string            `json:"resumed_from,omitempty"`
}

// resultFile is runs/ID/run.json: a copy of the state's entry for people and
// other tools, never read back.
type resultFile struct {
	RunID       string        `json:"run_id"`
	Address     string        `json:"address"`
	State       state.Phase   `json:"state"`
	Reason      state.Reason  `json:"reason"`
	Message     string        `json:"message,omitempty"`
	ExitCode    *int          `json:"exit_code"`
	GPUType     string        `json:"gpu_type"`
	DataCenter  string        `json:"data_center"`
	PodID       string        `json:"pod_id"`
	StartedAt   *time.Time    `json:"started_at"`
	EndedAt     *time.Time    `json:"ended_at"`
	Seconds     float64       `json:"seconds"`
	CostUSD     float64       `json:"cost_usd"`
	CostBasis   string        `json:"cost_basis"`
	Fingerprint string        `json:"fingerprint"`
	Retrieved   bool          `json:"retrieved"`
	Files       []resultEntry `json:"files"`
}

type resultEntry struct {
	Path string `json:"path"`
	// PathBytes are those of a path that is no UTF-8, in base64: JSON cannot hold it.
	PathBytes []byte `json:"path_bytes,omitempty"`
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`
}

func entryOf(f File) resultEntry {
	e := resultEntry{Path: f.Path, Size: f.Size, SHA256: f.SHA256}
	if !utf8.ValidString(f.Path) {
		e.PathBytes = []byte(f.Path)
	}
	return e
}

// saveInputs writes inputs.json and its digest into the state.
func (r *runner) saveInputs() error {
	if err := os.MkdirAll(r.dir(), 0o700); err != nil {
		return failf("local_files", "the run's directory cannot be made: %v", err).at(r.address).because(err)
	}
	in := inputsFile{
		RunID: r.run.ID, Address: r.address, Fingerprint: r.spec.Fingerprint,
		Inputs: r.spec.Inputs, Shown: shown(r.spec, r.s.Redactor.String), Uploads: r.spec.Uploads, ResumedFrom: r.run.ResumedFrom,
	}
	if len(r.spec.Secrets) > 0 {
		in.Secrets = map[string]string{}
		for variable, secret := range r.spec.Secrets {
			in.Secrets[variable] = secret.Name
		}
	}
	digest, err := writeJSON(filepath.Join(r.dir(), "inputs.json"), in)
	if err != nil {
		return failf("local_files", "%v", err).at(r.address).because(err)
	}
	return r.save(func(_ *state.State, run *state.Run) { run.InputsDigest = digest })
}

// shown are the inputs as a person would write them, but for sensitive ones.
func shown(spec *plan.RunSpec, mask func(string) string) map[string]string {
	words := make([]string, len(spec.Command))
	for i, word := range spec.Command {
		words[i] = plan.ShellWord(word)
	}
	all := map[string]string{
		"command": strings.Join(words, " "), "setup": spec.Setup,
		"gpu_count": strconv.Itoa(max(1, spec.Target.GPUCount)), "image": spec.Target.Image,
	}
	for name, value := range spec.Env {
		all["env "+name] = value
	}
	for _, part := range spec.Sensitive {
		all[part] = "(sensitive)"
	}
	for name, text := range all {
		if text == "" {
			delete(all, name)
			continue
		}
		all[name] = safetext.Cut(mask(text), 2000)
	}
	return all
}

// saveResult writes run.json; files are kept from an earlier one when nil.
func (r *runner) saveResult(files []File) {
	run := r.run
	out := resultFile{
		RunID: run.ID, Address: r.address, State: run.Phase, Reason: run.Reason, Message: run.Message,
		ExitCode: run.ExitCode, GPUType: run.GPUType, DataCenter: run.DataCenter, PodID: run.PodID,
		StartedAt: run.StartedAt, EndedAt: run.EndedAt, Seconds: r.seconds(), CostUSD: round4(r.run.SpentUSD(r.now())),
		CostBasis: run.CostBasis, Fingerprint: run.Fingerprint, Retrieved: run.Retrieved, Files: []resultEntry{},
	}
	path := filepath.Join(r.dir(), "run.json")
	if files == nil {
		if data, err := os.ReadFile(path); err == nil {
			var old resultFile
			if json.Unmarshal(data, &old) == nil && old.Files != nil {
				out.Files = old.Files
			}
		}
	}
	for _, f := range files {
		out.Files = append(out.Files, entryOf(f))
	}
	if err := os.MkdirAll(r.dir(), 0o700); err != nil {
		r.warnf("run.json was not written: %v", err)
		return
	}
	if _, err := writeJSON(path, out); err != nil {
		r.warnf("run.json was not written: %v", err)
	}
}

// writeJSON replaces a file, mode 0600, and gives the SHA-256 of its content.
func writeJSON(path string, v any) (string, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return "", err
	}
	data = append(data, '\n')
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), replaceFile(path, data)
}

// replaceFile writes a file as a whole, mode 0600, or leaves the old one. It
// returns when it is on the disk.
func replaceFile(path string, data []byte) error { return putFile(path, data, true) }

// putFile is replaceFile for a file that, unless durable, can be made again when
// the machine goes down: it is not waited for.
func putFile(path string, data []byte, durable bool) error {
	return putFileBy(path, durable, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// putFileBy is putFile for what is not in memory.
func putFileBy(path string, durable bool, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".write-*")
	if err != nil {
		return fmt.Errorf("%s was not written: %w", path, err)
	}
	defer func() { _ = os.Remove(f.Name()) }()
	err = write(f)
	if err == nil && durable {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("%s was not written: %w", path, err)
	}
	return nil
}

// digestOf is the SHA-256 over a list of files, whatever their order was.
func digestOf(files []File) string {
	sum := sha256.New()
	for _, f := range files {
		fmt.Fprintf(sum, "%s %d %s\n", f.SHA256, f.Size, f.Path)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
