package config

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/overbrainer/overbrainer/internal/glob"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

type hasher struct {
	new    func() hash.Hash
	encode func([]byte) string
}

func hashers() map[string]hasher {
	b64 := base64.StdEncoding.EncodeToString
	return map[string]hasher{
		"md5": {md5.New, hex.EncodeToString}, "sha1": {sha1.New, hex.EncodeToString},
		"sha256": {sha256.New, hex.EncodeToString}, "sha512": {sha512.New, hex.EncodeToString},
		"base64sha256": {sha256.New, b64}, "base64sha512": {sha512.New, b64},
	}
}

func (h hasher) sum(data []byte) string {
	sum := h.new()
	sum.Write(data)
	return h.encode(sum.Sum(nil))
}

func encodingFunctions() map[string]function.Function {
	fns := map[string]function.Function{
		"base64encode": simple(func(s string) (string, error) { return base64.StdEncoding.EncodeToString([]byte(s)), nil }),
		"base64decode": simple(func(s string) (string, error) {
			data, err := base64.StdEncoding.DecodeString(s)
			if err == nil && !utf8.Valid(data) {
				err = errors.New("the decoded bytes are not text in UTF-8")
			}
			return string(data), err
		}),
		"urlencode": simple(func(s string) (string, error) { return url.QueryEscape(s), nil }),
		"basename":  simple(func(s string) (string, error) { return path.Base(filepath.ToSlash(s)), nil }),
		"dirname":   simple(func(s string) (string, error) { return path.Dir(filepath.ToSlash(s)), nil }),
	}
	for name, h := range hashers() {
		fns[name] = simple(func(s string) (string, error) { return h.sum([]byte(s)), nil })
	}
	return fns
}

// read reads a file that an expression names; the path is taken from the
// project's directory.
func (p *program) read(name string) ([]byte, error) {
	file := name
	if !filepath.IsAbs(file) {
		file = filepath.Join(p.dir, file)
	}
	data, err := readBounded(file, maxReadBytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", name, reason(err))
	}
	return data, nil
}

func (p *program) text(name string) (string, error) {
	data, err := p.read(name)
	if err == nil && !utf8.Valid(data) {
		err = fmt.Errorf("%s is not text in UTF-8; use filebase64", name)
	}
	return string(data), err
}

func (p *program) fileFunctions() map[string]function.Function {
	fns := map[string]function.Function{
		"file": simple(p.text),
		"filebase64": simple(func(name string) (string, error) {
			data, err := p.read(name)
			return base64.StdEncoding.EncodeToString(data), err
		}),
		"abspath": simple(func(name string) (string, error) {
			if filepath.IsAbs(name) {
				return filepath.Clean(name), nil
			}
			return filepath.Join(p.dir, name), nil
		}),
		"fileexists": function.New(&function.Spec{
			Params: []function.Parameter{{Name: "path", Type: cty.String}},
			Type:   function.StaticReturnType(cty.Bool),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				name := args[0].AsString()
				if !filepath.IsAbs(name) {
					name = filepath.Join(p.dir, name)
				}
				info, err := os.Stat(name)
				return cty.BoolVal(err == nil && info.Mode().IsRegular()), nil
			},
		}),
		"fileset":      p.filesetFunc(),
		"templatefile": p.templatefileFunc(),
	}
	for name, h := range hashers() {
		full := "file" + name
		fns[full] = simple(func(file string) (string, error) {
			data, err := p.read(file)
			return h.sum(data), err
		})
	}
	return fns
}

// filesetFunc lists the files below a directory that match a pattern.
func (p *program) filesetFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}, {Name: "pattern", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Set(cty.String)),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			dir, pattern := args[0].AsString(), args[1].AsString()
			if err := glob.Check(pattern); err != nil {
				return cty.NilVal, fmt.Errorf("the pattern %w", err)
			}
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(p.dir, dir)
			}
			set := glob.New([]string{pattern})
			var found []cty.Value
			seen := 0
			err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				if seen++; seen > maxTreeFiles {
					return fmt.Errorf("there are more than %d files", maxTreeFiles)
				}
				rel, _ := filepath.Rel(dir, name)
				rel = filepath.ToSlash(rel)
				if entry.Type().IsRegular() && set.Match(rel) {
					found = append(found, cty.StringVal(rel))
				}
				return nil
			})
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return cty.NilVal, fmt.Errorf("%s: %s", args[0].AsString(), reason(err))
			}
			if len(found) == 0 {
				return cty.SetValEmpty(cty.String), nil
			}
			return cty.SetVal(found), nil
		},
	})
}

// templatefileFunc renders a file as a template, with the given values as its
// only names.
func (p *program) templatefileFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}, {Name: "vars", Type: cty.DynamicPseudoType, AllowUnknown: true, AllowMarked: true}},
		Type:   func([]cty.Value) (cty.Type, error) { return cty.DynamicPseudoType, nil },
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			name := args[0].AsString()
			source, err := p.text(name)
			if err != nil {
				return cty.NilVal, err
			}
			vars, marks := args[1].Unmark()
			if !vars.IsKnown() {
				return cty.DynamicVal.WithMarks(marks), nil
			}
			if !vars.Type().IsObjectType() && !vars.Type().IsMapType() {
				return cty.NilVal, function.NewArgErrorf(1, "a map of values is required")
			}
			v, err := p.render(name, source, vars.AsValueMap())
			return v.WithMarks(marks), err
		},
	})
}

func (p *program) render(name, source string, vars map[string]cty.Value) (cty.Value, error) {
	tokens, _ := hclsyntax.LexTemplate([]byte(source), name, hcl.InitialPos)
	if d := checkShape(tokens); d != nil {
		return cty.DynamicVal, fmt.Errorf("%s: %s", place(*d.Subject), d.Detail)
	}
	expr, diags := hclsyntax.ParseTemplate([]byte(source), name, hcl.InitialPos)
	if diags.HasErrors() {
		return cty.DynamicVal, fault(diags)
	}
	names := sorted(vars)
	for _, trav := range expr.Variables() {
		if root := trav.RootName(); !slices.Contains(names, root) {
			return cty.DynamicVal, errors.New(hint(fmt.Sprintf("%s: `%s` is not among the values given to the template", place(trav.SourceRange()), root), didYouMean(root, names, "")))
		}
	}
	p.guard(expr)
	functions := map[string]function.Function{}
	for name, fn := range p.functions {
		if name != "templatefile" {
			functions[name] = fn
		}
	}
	v, diags := expr.Value(&hcl.EvalContext{Variables: vars, Functions: functions})
	if diags.HasErrors() {
		return cty.DynamicVal, fault(diags)
	}
	return v, nil
}

// fault is the first error of diagnostics as one line.
func fault(diags hcl.Diagnostics) error {
	for _, d := range diags {
		if d.Severity == hcl.DiagError && d.Subject != nil {
			return fmt.Errorf("%s: %s: %s", place(*d.Subject), voice(d.Summary), voice(d.Detail))
		}
	}
	return diags
}
