package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Files of variables that are read by themselves.
const (
	VarsFile   = "overbrainer.vars.hcl"
	autoSuffix = ".auto.vars.hcl"
	varPrefix  = "OVERBRAINER_VAR_"
)

// givenValue is a value that was given to a variable, and by what.
type givenValue struct {
	value  cty.Value
	from   string
	rng    hcl.Range // zero: not in a file
	broken bool      // its fault is reported
	diag   *hcl.Diagnostic
}

// given collects values from all sources; a later one is stronger.
type given struct {
	p      *program
	forms  map[string]*variableForm
	values map[string]*givenValue
	diags  hcl.Diagnostics
}

func (p *program) collectValues(forms map[string]*variableForm) *given {
	g := &given{p: p, forms: forms, values: map[string]*givenValue{}}
	vars := p.opt.Vars
	g.environ(vars.Environ)
	if vars.Given == nil && p.opt.Sources == nil {
		g.automatic()
	}
	for _, name := range vars.Files {
		g.file(name, name)
	}
	for _, flag := range vars.Flags {
		g.flag(flag)
	}
	for _, name := range sorted(vars.Given) {
		g.planned(name, vars.Given[name])
	}
	return g
}

func (g *given) names() []string { return slices.Sorted(maps.Keys(g.forms)) }

func (g *given) set(name string, v *givenValue) {
	if v.diag != nil {
		g.diags = append(g.diags, v.diag)
	}
	g.values[name] = v
}

func (g *given) environ(environ []string) {
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		entry, ours := strings.CutPrefix(entry, varPrefix)
		name, value, _ := strings.Cut(entry, "=")
		if !ours {
			continue
		}
		form, known := g.forms[name]
		if !known {
			d := plain("variable not declared", hint(fmt.Sprintf("%s%s is set in the environment, and there is no variable `%s`", varPrefix, name, name), didYouMean(name, g.names(), "")))
			d.Severity = hcl.DiagWarning
			g.diags = append(g.diags, d)
			continue
		}
		if form != nil {
			g.set(name, form.parseText(name, value, varPrefix+name))
		}
	}
}

func (g *given) flag(flag string) {
	name, value, ok := strings.Cut(flag, "=")
	name = strings.TrimSpace(name)
	if !ok {
		g.diags = append(g.diags, plain("not name=value", fmt.Sprintf("-var takes name=value, and this is %s", quote(name))))
		return
	}
	form, known := g.forms[name]
	if !known {
		g.diags = append(g.diags, plain("variable not declared", hint(fmt.Sprintf("-var gives a value to `%s`, and there is no such variable", name), didYouMean(name, g.names(), ""))))
		return
	}
	if form != nil {
		g.set(name, form.parseText(name, value, "-var"))
	}
}

func (g *given) planned(name string, text []byte) {
	form := g.forms[name]
	if form == nil {
		return
	}
	v, err := ctyjson.Unmarshal(text, cty.DynamicPseudoType)
	if err != nil {
		g.diags = append(g.diags, plain("value cannot be read", fmt.Sprintf("the value that the plan holds for var.%s cannot be read", name)))
		return
	}
	g.set(name, &givenValue{value: v, from: "the plan"})
}

// parseText reads a value from a flag, the environment or an answer: text as
// it is for strings, numbers, bools and what has no type, an expression for everything else.
func (form *variableForm) parseText(name, text, from string) *givenValue {
	out := &givenValue{from: from}
	if form.typ.IsPrimitiveType() || !form.typed {
		out.value = cty.StringVal(text)
		return out
	}
	expr, diags := parseValue([]byte(text), "value of "+name)
	if !diags.HasErrors() {
		out.value, diags = expr.Value(nil)
	}
	if diags.HasErrors() {
		out.broken = true
		detail := fmt.Sprintf("the value from %s is not valid: it is read as an expression, such as [\"a\", \"b\"] or { a = 1 }", from)
		out.diag = at(form.out.Range, "value cannot be read", fmt.Sprintf("var.%s: %s", name, detail))
	}
	return out
}

func parseValue(text []byte, name string) (hclsyntax.Expression, hcl.Diagnostics) {
	if len(text) > maxFileBytes {
		return nil, hcl.Diagnostics{plain("value too large", "")}
	}
	tokens, _ := hclsyntax.LexExpression(text, name, hcl.InitialPos)
	if d := checkShape(tokens); d != nil {
		return nil, hcl.Diagnostics{d}
	}
	return hclsyntax.ParseExpression(text, name, hcl.InitialPos)
}

// automatic reads the files of variables in the project's directory.
func (g *given) automatic() {
	entries, err := os.ReadDir(g.p.dir)
	if err != nil {
		return
	}
	names := []string{}
	for _, entry := range entries {
		if entry.Name() == VarsFile {
			names = slices.Insert(names, 0, VarsFile)
		} else if strings.HasSuffix(entry.Name(), autoSuffix) && !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, entry.Name())
		}
	}
	for _, name := range names {
		g.file(name, filepath.Join(g.p.dir, name))
	}
}

func (g *given) file(name, path string) {
	text, err := readBounded(path, maxFileBytes)
	if err != nil {
		g.diags = append(g.diags, plain("a file of variables cannot be read", name+": "+reason(err)))
		return
	}
	if d := checkText(name, text); d != nil {
		g.diags = append(g.diags, d)
		return
	}
	file, diags := parse(name, text)
	if g.sensitive() {
		// Neither an excerpt nor a message may quote the file.
		for _, d := range diags {
			d.Detail = "the text is not valid here; more is not shown, for the file may hold sensitive values"
		}
	} else {
		g.p.cfg.files[name] = file.file
	}
	g.diags = append(g.diags, diags...)
	for _, body := range file.bodies {
		for _, block := range body.Blocks {
			g.diags = append(g.diags, at(block.TypeRange, "a block in a file of variables", "a file of variables holds values only, as in name = \"value\"; blocks belong into "+MainFile))
		}
		for _, attrName := range sortedAttrs(body) {
			g.fileValue(name, body.Attributes[attrName])
		}
	}
}

// sensitive reports whether files may hold values that are not to be shown.
func (g *given) sensitive() bool {
	for _, form := range g.forms {
		if form != nil && form.out.Sensitive {
			return true
		}
	}
	return false
}

func (g *given) fileValue(file string, attr *hclsyntax.Attribute) {
	form, known := g.forms[attr.Name]
	if !known {
		g.diags = append(g.diags, at(attr.NameRange, "variable not declared", hint(fmt.Sprintf("there is no variable `%s`", attr.Name), didYouMean(attr.Name, g.names(), ""))))
		return
	}
	if form == nil {
		return
	}
	out := &givenValue{from: file, rng: attr.Expr.Range()}
	v, diags := attr.Expr.Value(nil)
	if diags.HasErrors() {
		out.broken = true
		out.diag = at(attr.Expr.Range(), "not a constant", fmt.Sprintf("`%s` is a plain value here: it cannot use other values or functions; text is written in quotes", attr.Name))
	}
	out.value = v
	g.set(attr.Name, out)
}
