package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
)

// maxInputs bounds how many inputs all instances of a block name together.
const maxInputs = 2_000_000

func hashText(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// ownInputs are the parts of a run's fingerprint apart from its files.
func (s *session) ownInputs(run *Run) map[string]string {
	in := map[string]string{}
	if run.Command != nil {
		text := ""
		for _, arg := range run.Command {
			text += strconv.Itoa(len(arg)) + " " + arg + "\n"
		}
		in["command"] = hashText(text)
	}
	if run.Setup != "" {
		in["setup"] = hashText(run.Setup)
	}
	for name, value := range run.Env {
		in["env "+name] = hashText(value)
	}
	for name, secret := range run.Secrets {
		in["secret "+name] = hashText(secret.Name)
	}
	for name, value := range run.Triggers {
		in["trigger "+name] = hashText(value)
	}
	if t := run.Target; t != nil {
		if t.Image != "" {
			in["image"] = hashText(t.Image)
		}
		if t.Template != "" {
			in["template"] = hashText(t.Template)
		}
		in["gpu_count"] = hashText(strconv.Itoa(t.GPUCount))
	}
	if run.ResumeFrom != "" {
		if result, ended := s.resultOf(run.ResumeFrom); ended {
			in["resume_from"] = hashText(run.ResumeFrom + "\n" + result.ID)
		}
	}
	// A short value could be found by trying all of them, so the digest of a
	// sensitive one is bound to its place.
	for _, part := range run.Sensitive {
		if sum, ok := in[part]; ok {
			in[part] = hashText("sensitive\n" + s.p.cfg.Project + "\n" + run.Name + "\n" + part + "\n" + sum)
		}
	}
	return in
}

// inputs names all parts of a run's fingerprint: its own and its files. Large sets
// of files are named by directory, so that many instances stay affordable.
func inputs(own map[string]string, set *uploadSet, siblings int) Inputs {
	if set == nil || len(set.out) == 0 {
		return Inputs{Own: own}
	}
	return Inputs{Own: own, Files: set.fileInputs(max(20, min(5000, maxInputs/max(1, siblings))))}
}

// fingerprint is the digest over everything that decides what a run does.
func fingerprint(own map[string]string, set *uploadSet) string {
	h := sha256.New()
	h.Write([]byte("overbrainer run 1\n"))
	for _, name := range sorted(own) {
		fmt.Fprintf(h, "%d %s %s\n", len(name), name, own[name])
	}
	if set != nil && len(set.out) > 0 {
		fmt.Fprintf(h, "files %s\n", set.digest)
	}
	return hex.EncodeToString(h.Sum(nil))
}
