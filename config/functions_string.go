package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

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
