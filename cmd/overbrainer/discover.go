package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// pluginPrefix begins the file names of providers made by others.
const pluginPrefix = "overbrainer-provider-"

// lockFile pins what providers a project was made with.
const lockFile = ".overbrainer.lock.hcl"

// pluginDirs are where providers made by others are looked for, in order.
func (a *app) pluginDirs() []string {
	var dirs []string
	if d := a.environ("OVERBRAINER_PLUGIN_DIR"); d != "" {
		dirs = append(dirs, d)
	}
	return append(dirs, filepath.Join(a.dir, ".overbrainer", "plugins"))
}

// plugins finds the providers made by others: name to program.
func (a *app) plugins() map[string]string {
	found := map[string]string{}
	for _, dir := range a.pluginDirs() {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			name, ok := strings.CutPrefix(strings.TrimSuffix(e.Name(), ".exe"), pluginPrefix)
			if !ok || name == "" || name == bundled || e.IsDir() {
				continue
			}
			if _, earlier := found[name]; !earlier {
				found[name] = filepath.Join(dir, e.Name())
			}
		}
	}
	return found
}

func (a *app) providerNames() []string {
	names := []string{bundled}
	for name := range a.plugins() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// providerProgram gives the command of a provider's process. A provider made
// by others is started only if it is the very file that the lock file pins.
func (a *app) providerProgram(name string) (path string, args []string, err error) {
	if name == bundled {
		return a.exe, []string{"provider", bundled}, nil
	}
	path, ok := a.plugins()[name]
	if !ok {
		return "", nil, &problem{code: "no_provider",
			message: fmt.Sprintf("there is no provider %s: %s%s is in none of %s", name, pluginPrefix, name, strings.Join(a.pluginDirs(), ", ")),
			hint:    "put the program there, then run overbrainer init"}
	}
	locks, err := a.readLocks()
	if err != nil {
		return "", nil, err
	}
	lock, ok := locks[name]
	if !ok {
		return "", nil, &problem{code: "not_locked", message: fmt.Sprintf("provider %s is not in %s", name, lockFile),
			hint: "overbrainer init looks at it and pins it"}
	}
	sum, err := fileSum(path)
	if err != nil {
		return "", nil, err
	}
	if sum != lock.SHA256 {
		return "", nil, &problem{code: "other_provider", message: fmt.Sprintf("%s is not the program that %s pins: its SHA-256 is %s", path, lockFile, sum),
			hint: "overbrainer init -upgrade pins the one that is there, if that is what you want"}
	}
	return path, nil, nil
}

// lock is what the lock file says of one provider.
type lock struct {
	Name    string `hcl:"name,label"`
	Version string `hcl:"version,optional"`
	SHA256  string `hcl:"sha256,optional"`
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
	names := []string{}
	for name := range locks {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		body.AppendNewline()
		block := body.AppendNewBlock("provider", []string{name}).Body()
		block.SetAttributeValue("version", cty.StringVal(locks[name].Version))
		if sum := locks[name].SHA256; sum != "" {
			block.SetAttributeValue("sha256", cty.StringVal(sum))
		}
	}
	path := filepath.Join(a.dir, lockFile)
	text := hclwrite.Format(file.Bytes())
	if old, err := os.ReadFile(path); err == nil && string(old) == string(text) {
		return false, nil
	}
	return true, replaceFile(path, text)
}

func fileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
