package config

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// existing tells what a name of the project is.
type existing struct{ exists, dir bool }

// exists looks a path of the project up, once.
func (p *program) exists(rel string) (exists, dir bool) {
	if e, known := p.found[rel]; known {
		return e.exists, e.dir
	}
	info, err := os.Stat(filepath.Join(p.dir, filepath.FromSlash(rel)))
	e := existing{exists: err == nil, dir: err == nil && info.IsDir()}
	p.found[rel] = e
	return e.exists, e.dir
}

// warnJob points out what often goes wrong on another machine: files that stay
// here, paths of this machine, and pipes that hide a failure.
func (s *session) warnJob(r *reader, run *Run, uploads bool) {
	command, setup := r.get("command"), r.get("setup")
	if command.usable() {
		if command.val.Type() == cty.String && pipes(command.val.AsString()) {
			s.report(warnAt(command.rng, "a pipe hides a failure",
				`the status of a pipe is that of its last program, so a failure before it goes unnoticed; write command = ["bash", "-o", "pipefail", "-c", "…"], or leave the pipe out: the output is kept in job.log anyway`))
		}
		var named []string
		for _, arg := range run.Command {
			named = append(named, words(arg)...)
		}
		if uploads {
			s.warnFiles(run, "command", command, named)
		}
		s.warnLocal("command", command, run.Command)
	}
	if setup.usable() {
		if uploads {
			s.warnFiles(run, "setup", setup, words(run.Setup))
		}
		s.warnLocal("setup", setup, []string{run.Setup})
	}
	if env := r.get("env"); env.usable() {
		var values []string
		for _, name := range sorted(run.Env) {
			values = append(values, run.Env[name])
		}
		s.warnLocal("env", env, values)
	}
}

// warnFiles points out files of the project that are named and stay here.
func (s *session) warnFiles(run *Run, part string, f field, words []string) {
	if f.sensitive {
		return
	}
	for _, word := range words {
		name := word
		if _, value, ok := strings.Cut(word, "="); ok {
			name = value
		}
		if len(name) > 255 || name == "" || !cleanRelative(strings.TrimPrefix(name, "./")) {
			continue
		}
		name = path.Clean(name)
		if exists, dir := s.p.exists(name); !exists || dir {
			continue
		}
		_, uploaded := slices.BinarySearchFunc(run.Uploads, name, func(u Upload, n string) int { return strings.Compare(u.Path, n) })
		if !uploaded {
			s.report(warnAt(f.rng, "a file that is not uploaded",
				fmt.Sprintf("`%s` of %s names %s, which is a file of the project and is not uploaded; add it: upload = [%s]", part, "run."+run.Name, name, quote(name))))
		}
	}
}

// warnLocal points out paths of this machine.
func (s *session) warnLocal(part string, f field, texts []string) {
	found := f.local
	for _, dir := range []string{s.p.dir, s.p.opt.Cwd} {
		for _, text := range texts {
			found = found || dir != "" && dir != "/" && strings.HasPrefix(dir, "/") && mentions(text, dir)
		}
	}
	if found {
		s.report(warnAt(f.rng, "a path of this machine",
			fmt.Sprintf("`%s` holds a path of this machine, which does not exist on the pod; the job runs in its own directory there, and what is uploaded lies in that: use a relative path", part)))
	}
}

// mentions reports whether a text holds a directory's path.
func mentions(text, dir string) bool {
	for {
		i := strings.Index(text, dir)
		if i < 0 {
			return false
		}
		rest := text[i+len(dir):]
		if rest == "" || strings.ContainsAny(rest[:1], "/ \"':;\n\t") {
			return true
		}
		text = rest
	}
}

// words splits a shell script roughly into its words.
func words(script string) []string {
	return strings.FieldsFunc(script, func(r rune) bool {
		return strings.ContainsRune(" \t\r\n\"'`;|&()<>{}", r)
	})
}

// pipes reports whether a script has a pipe whose first part's failure is lost.
func pipes(script string) bool {
	if strings.Contains(script, "pipefail") {
		return false
	}
	quoted := rune(0)
	runes := []rune(script)
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case c == '\\' && quoted != '\'':
			i++
		case quoted != 0:
			if c == quoted {
				quoted = 0
			}
		case c == '\'' || c == '"':
			quoted = c
		case c == '#' && (i == 0 || strings.ContainsRune(" \t\n", runes[i-1])):
			for i < len(runes) && runes[i] != '\n' {
				i++
			}
		case c == '|':
			if i+1 < len(runes) && runes[i+1] == '|' {
				i++
				continue
			}
			if i > 0 && runes[i-1] == '>' {
				continue
			}
			return true
		}
	}
	return false
}
