package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"path"
	"strings"
)

// hash fills the digests of a set's files.
func (u *uploadSet) hash(p *program) {
	if u.hashed {
		return
	}
	u.hashed = true
	// One file may have several destinations.
	files := make([]*treeFile, 0, len(u.files))
	seen := make(map[*treeFile]bool, len(u.files))
	for _, f := range u.files {
		if !seen[f.file] {
			seen[f.file] = true
			files = append(files, f.file)
		}
	}
	p.hashFiles(p.ctx, files)
	u.out = make([]Upload, 0, len(u.files))
	sum := sha256.New()
	for _, f := range u.files {
		if f.file.err != nil {
			u.fault(-1, "not readable", "%s cannot be read: %s", f.file.path, reason(f.file.err))
			continue
		}
		up := Upload{Path: f.dest, Source: f.file.path, Size: f.file.info.Size(), SHA256: f.file.sum, Exec: f.file.info.Mode()&0o111 != 0}
		u.out = append(u.out, up)
		fmt.Fprintf(sum, "%d %s %s\n", len(up.Path), up.Path, up.input())
	}
	u.digest = hex.EncodeToString(sum.Sum(nil))
}

// input is what a file adds to a fingerprint: its content, and of its mode only
// whether it may be executed.
func (up Upload) input() string {
	if up.Exec {
		return hashText("exec " + up.SHA256)
	}
	return up.SHA256
}

// fileInputs names a set's files with their digests, at most most of them: in
// larger sets a directory stands for what lies below it.
func (u *uploadSet) fileInputs(most int) map[string]string {
	if u.inputs != nil {
		return u.inputs
	}
	u.inputs = map[string]string{}
	if len(u.out) <= most {
		for _, up := range u.out {
			u.inputs["file "+up.Path] = up.input()
		}
		return u.inputs
	}
	const deepest = 8
	for depth := deepest; ; depth-- {
		groups := map[string]hash.Hash{}
		for _, up := range u.out {
			name := "files " + parent(up.Path, depth)
			if groups[name] == nil {
				groups[name] = sha256.New()
			}
			fmt.Fprintf(groups[name], "%d %s %s\n", len(up.Path), up.Path, up.input())
		}
		if len(groups) > most && depth > 0 {
			continue
		}
		for name, sum := range groups {
			u.inputs[name] = hex.EncodeToString(sum.Sum(nil))
		}
		return u.inputs
	}
}

// parent is the directory of a path, of at most so many parts, with a slash.
func parent(name string, depth int) string {
	parts := strings.Split(path.Dir(name), "/")
	if depth == 0 || parts[0] == "." {
		return "./"
	}
	return strings.Join(parts[:min(depth, len(parts))], "/") + "/"
}
