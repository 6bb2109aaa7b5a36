package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// lockFile pins what providers a project was made with.
const lockFile = ".overbrainer.lock.hcl"

// platform is what a provider's program is built for, as the lock file names
// it.
const platform = runtime.GOOS + "_" + runtime.GOARCH

// lock is what the lock file says of one provider.
type lock struct {
	Name        string `hcl:"name,label"`
	Version     string `hcl:"version"`
	Constraints string `hcl:"constraints,optional"`
	Source      string `hcl:"source,optional"`
	// SHA256 of its program, by platform. The bundled provider has none.
	SHA256 map[string]string `hcl:"sha256,optional"`
}

func (a *app) readLocks() (map[string]lock, error) {
	locks := map[string]lock{}
	text, err := os.ReadFile(filepath.Join(a.dir, lockFile))
	if os.IsNotExist(err) {
		return locks, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", lockFile, reason(err))
	}
	file, diags := hclsyntax.ParseConfig(text, lockFile, hcl.InitialPos)
	var doc struct {
		Providers []lock `hcl:"provider,block"`
	}
	if !diags.HasErrors() {
		diags = append(diags, gohcl.DecodeBody(file.Body, nil, &doc)...)
	}
	if diags.HasErrors() {
		return nil, &diagnosed{diags: diags, sources: map[string][]byte{lockFile: text}}
	}
	for _, l := range doc.Providers {
		locks[l.Name] = l
	}
	return locks, nil
}

// writeLocks replaces the lock file where it would differ.
func (a *app) writeLocks(locks map[string]lock) (changed bool, err error) {
	file := hclwrite.NewEmptyFile()
	body := file.Body()
	body.AppendUnstructuredTokens(hclwrite.Tokens{{Type: hclsyntax.TokenComment,
		Bytes: []byte("# Providers of this project, written by overbrainer init. Commit it.\n")}})
	for _, name := range slices.Sorted(maps.Keys(locks)) {
		body.AppendNewline()
		block := body.AppendNewBlock("provider", []string{name}).Body()
		l := locks[name]
		set := func(attr, value string) {
			if value != "" {
				block.SetAttributeValue(attr, cty.StringVal(value))
			}
		}
		block.SetAttributeValue("version", cty.StringVal(l.Version))
		set("constraints", l.Constraints)
		set("source", l.Source)
		sums := map[string]cty.Value{}
		for on, sum := range l.SHA256 {
			sums[on] = cty.StringVal(sum)
		}
		if len(sums) > 0 {
			block.SetAttributeValue("sha256", cty.MapVal(sums))
		}
	}
	path := filepath.Join(a.dir, lockFile)
	text := hclwrite.Format(file.Bytes())
	if old, err := os.ReadFile(path); err == nil && string(old) == string(text) {
		return false, nil
	}
	return true, replaceFile(path, text, 0o644)
}
