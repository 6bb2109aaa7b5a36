package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	yaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// table is every function that expressions may call, under Terraform's names.
// None reads a clock, the network or chance.
func (p *program) table() map[string]function.Function {
	fns := map[string]function.Function{
		"abs": stdlib.AbsoluteFunc, "ceil": stdlib.CeilFunc, "floor": stdlib.FloorFunc, "log": stdlib.LogFunc,
		"max": stdlib.MaxFunc, "min": stdlib.MinFunc, "parseint": stdlib.ParseIntFunc, "pow": stdlib.PowFunc,
		"signum": stdlib.SignumFunc,

		"chomp": stdlib.ChompFunc, "format": stdlib.FormatFunc, "formatlist": stdlib.FormatListFunc,
		"indent": stdlib.IndentFunc, "join": stdlib.JoinFunc, "lower": stdlib.LowerFunc, "upper": stdlib.UpperFunc,
		"regex": stdlib.RegexFunc, "regexall": stdlib.RegexAllFunc, "replace": replaceFunc, "split": stdlib.SplitFunc,
		"strrev": stdlib.ReverseFunc, "substr": stdlib.SubstrFunc, "title": stdlib.TitleFunc, "trim": stdlib.TrimFunc,
		"trimprefix": stdlib.TrimPrefixFunc, "trimsuffix": stdlib.TrimSuffixFunc, "trimspace": stdlib.TrimSpaceFunc,

		"chunklist": stdlib.ChunklistFunc, "coalesce": stdlib.CoalesceFunc, "coalescelist": stdlib.CoalesceListFunc,
		"compact": stdlib.CompactFunc, "concat": stdlib.ConcatFunc, "contains": stdlib.ContainsFunc,
		"distinct": stdlib.DistinctFunc, "element": stdlib.ElementFunc, "flatten": stdlib.FlattenFunc,
		"keys": stdlib.KeysFunc, "length": lengthFunc, "lookup": lookupFunc, "merge": stdlib.MergeFunc,
		"range": stdlib.RangeFunc, "reverse": stdlib.ReverseListFunc, "setintersection": stdlib.SetIntersectionFunc,
		"setproduct": stdlib.SetProductFunc, "setsubtract": stdlib.SetSubtractFunc, "setunion": stdlib.SetUnionFunc,
		"slice": stdlib.SliceFunc, "sort": stdlib.SortFunc, "values": stdlib.ValuesFunc, "zipmap": stdlib.ZipmapFunc,

		"csvdecode": stdlib.CSVDecodeFunc, "jsondecode": stdlib.JSONDecodeFunc, "jsonencode": stdlib.JSONEncodeFunc,
		"yamldecode": yaml.YAMLDecodeFunc, "yamlencode": yaml.YAMLEncodeFunc,

		"formatdate": stdlib.FormatDateFunc, "timeadd": stdlib.TimeAddFunc,

		"tostring": stdlib.MakeToFunc(cty.String), "tonumber": stdlib.MakeToFunc(cty.Number),
		"tobool": stdlib.MakeToFunc(cty.Bool), "toset": stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
		"tolist": stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)), "tomap": stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)),

		"try": tryFunc, "can": canFunc,
		"sensitive": sensitiveFunc, "nonsensitive": nonsensitiveFunc, "issensitive": issensitiveFunc,
	}
	for _, more := range []map[string]function.Function{stringFunctions(), collectionFunctions(), encodingFunctions(), p.fileFunctions()} {
		for name, fn := range more {
			fns[name] = fn
		}
	}
	for name, fn := range fns {
		fns[name] = p.metered(name, fn)
	}
	return fns
}

// metered makes a function count what it makes, and refuses calls whose result
// would be far larger than what they are given.
func (p *program) metered(name string, fn function.Function) function.Function {
	spec := &function.Spec{
		Params:   fn.Params(),
		VarParam: fn.VarParam(),
		Type:     fn.ReturnTypeForValues,
	}
	spec.Impl = func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if err := refuseSize(name, args); err != nil {
			return cty.NilVal, err
		}
		if !p.meter.charge(0) {
			return cty.NilVal, errors.New(p.meter.over)
		}
		v, err := fn.Call(args)
		if err == nil && !p.meter.charge(weight(v)) {
			return cty.NilVal, errors.New(p.meter.over)
		}
		return v, err
	}
	if spec.VarParam == nil && len(spec.Params) == 0 {
		spec.Params = []function.Parameter{}
	}
	return function.New(spec)
}

// maxMade bounds what one call may make out of little.
const maxMade = 64 << 20

var (
	widths  = regexp.MustCompile(`%[^a-zA-Z%]*?(\d{5,})`)
	aliases = regexp.MustCompile(`(?:^|[\s\[{,:-])\*[^\s,\]}]`)
)

func refuseSize(name string, args []cty.Value) error {
	plain := make([]cty.Value, len(args))
	for i, a := range args {
		plain[i], _ = a.Unmark()
		if !plain[i].IsKnown() || plain[i].IsNull() {
			return nil
		}
	}
	switch name {
	case "format", "formatlist":
		if widths.MatchString(text(plain[0])) {
			return errors.New("a width or precision may have at most four digits")
		}
	case "indent":
		if n, _ := plain[0].AsBigFloat().Float64(); n < 0 || n > 1000 {
			return errors.New("the number of spaces must be between 0 and 1000")
		}
	case "setproduct":
		total := 1.0
		for _, v := range plain {
			if v.CanIterateElements() && v.Type() != cty.DynamicPseudoType {
				total *= float64(v.LengthInt())
			}
		}
		if total > 1e6 {
			return errors.New("the product has more than a million elements")
		}
	case "replace":
		if len(text(plain[0]))*max(1, len(text(plain[2]))) > maxMade {
			return errors.New("the result would be too large")
		}
	case "join":
		n := 1
		for _, v := range plain[1:] {
			if v.CanIterateElements() {
				n += v.LengthInt()
			}
		}
		if n*len(text(plain[0])) > maxMade {
			return errors.New("the result would be too large")
		}
	case "jsondecode", "yamldecode", "csvdecode":
		return refuseDocument(name, text(plain[0]))
	case "parseint":
		if len(text(plain[0])) > 10_000 {
			return errors.New("the number is too long")
		}
	case "tonumber":
		if exponent([]byte(text(plain[0]))) > maxExponent {
			return errors.New("the number is too large")
		}
	}
	return nil
}

// refuseDocument refuses documents that are nested so deeply, or refer to their
// own parts so often, that reading them would exhaust the machine.
func refuseDocument(name, doc string) error {
	depth, most := 0, 0
	for i := range len(doc) {
		switch doc[i] {
		case '[', '{':
			depth++
			most = max(most, depth)
		case ']', '}':
			depth--
		}
	}
	if most > 1000 {
		return errors.New("the text is nested too deeply")
	}
	if name == "yamldecode" && len(aliases.FindAllStringIndex(doc, 33)) > 32 {
		return errors.New("the text has more than 32 aliases")
	}
	return nil
}

func text(v cty.Value) string {
	if v.Type() != cty.String {
		return ""
	}
	return v.AsString()
}

// simple makes a function of strings that gives a string.
func simple(impl func(string) (string, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "str", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			s, err := impl(args[0].AsString())
			return cty.StringVal(s), err
		},
	})
}

// test makes a function of two strings that gives a bool.
func test(second string, impl func(a, b string) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "str", Type: cty.String}, {Name: second, Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(impl(args[0].AsString(), args[1].AsString())), nil
		},
	})
}

func stringFunctions() map[string]function.Function {
	return map[string]function.Function{
		"startswith":  test("prefix", strings.HasPrefix),
		"endswith":    test("suffix", strings.HasSuffix),
		"strcontains": test("substr", strings.Contains),
		"strlen":      stdlib.StrlenFunc,
	}
}

// replaceFunc takes /…/ as a regular expression, as Terraform does.
var replaceFunc = function.New(&function.Spec{
	Params: []function.Parameter{
		{Name: "str", Type: cty.String}, {Name: "substr", Type: cty.String}, {Name: "replace", Type: cty.String},
	},
	Type: function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if s := args[1].AsString(); len(s) > 1 && s[0] == '/' && s[len(s)-1] == '/' {
			return stdlib.RegexReplace(args[0], cty.StringVal(s[1:len(s)-1]), args[2])
		}
		return stdlib.Replace(args[0], args[1], args[2])
	},
})

// lengthFunc counts elements, or the characters of a string.
var lengthFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowUnknown: true, AllowMarked: true}},
	Type: func(args []cty.Value) (cty.Type, error) {
		switch ty := args[0].Type(); {
		case ty == cty.String, ty == cty.DynamicPseudoType, ty.IsTupleType(), ty.IsObjectType(), ty.IsCollectionType():
			return cty.Number, nil
		}
		return cty.Number, errors.New("a list, a set, a map or a string is required")
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		v, marks := args[0].Unmark()
		switch {
		case v.Type().IsTupleType():
			return cty.NumberIntVal(int64(v.Type().Length())).WithMarks(marks), nil
		case v.Type().IsObjectType():
			return cty.NumberIntVal(int64(len(v.Type().AttributeTypes()))).WithMarks(marks), nil
		case !v.IsKnown():
			return cty.UnknownVal(cty.Number).WithMarks(marks), nil
		case v.Type() == cty.String:
			n, err := stdlib.Strlen(v)
			return n.WithMarks(marks), err
		}
		return v.Length().WithMarks(marks), nil
	},
})

// lookupFunc has an optional default, as Terraform's has.
var lookupFunc = function.New(&function.Spec{
	Params:   []function.Parameter{{Name: "map", Type: cty.DynamicPseudoType, AllowMarked: true}, {Name: "key", Type: cty.String, AllowMarked: true}},
	VarParam: &function.Parameter{Name: "default", Type: cty.DynamicPseudoType, AllowMarked: true, AllowNull: true, AllowUnknown: true, AllowDynamicType: true},
	Type: func(args []cty.Value) (cty.Type, error) {
		return cty.DynamicPseudoType, nil
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if len(args) > 3 {
			return cty.NilVal, errors.New("takes a map, a key and at most one default")
		}
		m, mapMarks := args[0].Unmark()
		k, keyMarks := args[1].Unmark()
		if !m.Type().IsMapType() && !m.Type().IsObjectType() {
			return cty.NilVal, function.NewArgErrorf(0, "a map is required")
		}
		if m.Type().IsObjectType() && m.Type().HasAttribute(k.AsString()) {
			return m.GetAttr(k.AsString()).WithMarks(mapMarks, keyMarks), nil
		}
		if m.Type().IsMapType() {
			if has, _ := m.HasIndex(k).Unmark(); !has.IsKnown() {
				return cty.DynamicVal.WithMarks(mapMarks, keyMarks), nil
			} else if has.True() {
				return m.Index(k).WithMarks(mapMarks, keyMarks), nil
			}
		}
		if len(args) == 3 {
			return args[2].WithMarks(mapMarks, keyMarks), nil
		}
		return cty.NilVal, fmt.Errorf("the map has no element %s, and no default is given", strconv.Quote(k.AsString()))
	},
})
