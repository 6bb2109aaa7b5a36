package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
)

// tryFunc gives the first of its arguments that can be computed. Unlike HCL's
// own it keeps the marks of values that are not known yet.
var tryFunc = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "expressions", Type: customdecode.ExpressionClosureType},
	Type: func(args []cty.Value) (cty.Type, error) {
		v, err := try(args)
		return v.Type(), err
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return try(args) },
})

func try(args []cty.Value) (cty.Value, error) {
	if len(args) == 0 {
		return cty.DynamicVal, errors.New("at least one argument is required")
	}
	var faults []string
	for _, arg := range args {
		v, diags := customdecode.ExpressionClosureFromVal(arg).Value()
		if !diags.HasErrors() {
			return settled(v), nil
		}
		faults = append(faults, voice(diags[0].Detail))
	}
	return cty.DynamicVal, fmt.Errorf("none of the expressions can be computed: %s", strings.Join(faults, "; "))
}

// settled keeps a value that is known; one that is not could become another
// argument's once it is, so nothing but its marks is kept.
func settled(v cty.Value) cty.Value {
	if v.IsWhollyKnown() {
		return v
	}
	_, marks := v.UnmarkDeep()
	return cty.DynamicVal.WithMarks(marks)
}

// canFunc reports whether its argument can be computed.
var canFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "expression", Type: customdecode.ExpressionClosureType}},
	Type:   function.StaticReturnType(cty.Bool),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		v, diags := customdecode.ExpressionClosureFromVal(args[0]).Value()
		if diags.HasErrors() {
			return cty.False, nil
		}
		_, marks := v.UnmarkDeep()
		if !v.IsWhollyKnown() {
			return cty.UnknownVal(cty.Bool).WithMarks(marks), nil
		}
		return cty.True, nil
	},
})

func marking(impl func(cty.Value) cty.Value, ret func(cty.Type) cty.Type) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{
			Name: "value", Type: cty.DynamicPseudoType,
			AllowNull: true, AllowUnknown: true, AllowMarked: true, AllowDynamicType: true,
		}},
		Type: func(args []cty.Value) (cty.Type, error) { return ret(args[0].Type()), nil },
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return impl(args[0]), nil },
	})
}

func sameType(ty cty.Type) cty.Type { return ty }

var (
	sensitiveFunc    = marking(func(v cty.Value) cty.Value { return v.Mark(sensitive) }, sameType)
	nonsensitiveFunc = marking(func(v cty.Value) cty.Value {
		v, marks := v.Unmark()
		delete(marks, sensitive)
		return v.WithMarks(marks)
	}, sameType)
	issensitiveFunc = marking(func(v cty.Value) cty.Value { return cty.BoolVal(v.HasMark(sensitive)) },
		func(cty.Type) cty.Type { return cty.Bool })
)

// elements gives the elements of a list, tuple or set.
func elements(v cty.Value) ([]cty.Value, error) {
	if !v.CanIterateElements() || v.Type().IsObjectType() || v.Type().IsMapType() {
		return nil, errors.New("a list is required")
	}
	return v.AsValueSlice(), nil
}

// ofList makes a function that takes one list and sees its elements.
func ofList(ret func([]cty.Value) (cty.Value, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
		Type:   func(args []cty.Value) (cty.Type, error) { return cty.DynamicPseudoType, nil },
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if !args[0].IsWhollyKnown() {
				return cty.DynamicVal, nil
			}
			list, err := elements(args[0])
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			return ret(list)
		},
	})
}

func collectionFunctions() map[string]function.Function {
	return map[string]function.Function{
		"sum": ofList(func(list []cty.Value) (cty.Value, error) {
			if len(list) == 0 {
				return cty.NilVal, errors.New("the list has no elements")
			}
			sum := cty.Zero
			for _, v := range list {
				n, err := convert.Convert(v, cty.Number)
				if err != nil || n.IsNull() {
					return cty.NilVal, errors.New("a list of numbers is required")
				}
				sum = sum.Add(n)
			}
			return sum, nil
		}),
		"alltrue": ofList(func(list []cty.Value) (cty.Value, error) { return allOf(list, cty.True) }),
		"anytrue": ofList(func(list []cty.Value) (cty.Value, error) {
			v, err := allOf(list, cty.False)
			if err != nil {
				return v, err
			}
			return v.Not(), nil
		}),
		"one": ofList(func(list []cty.Value) (cty.Value, error) {
			switch len(list) {
			case 0:
				return cty.NullVal(cty.DynamicPseudoType), nil
			case 1:
				return list[0], nil
			}
			return cty.NilVal, fmt.Errorf("there are %d elements; at most one is expected", len(list))
		}),
		"index": function.New(&function.Spec{
			Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}, {Name: "value", Type: cty.DynamicPseudoType}},
			Type:   function.StaticReturnType(cty.Number),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				list, err := elements(args[0])
				if err != nil {
					return cty.NilVal, function.NewArgError(0, err)
				}
				for i, v := range list {
					eq := v.Equals(args[1])
					if !eq.IsKnown() {
						return cty.UnknownVal(cty.Number), nil
					}
					if eq.True() {
						return cty.NumberIntVal(int64(i)), nil
					}
				}
				return cty.NilVal, errors.New("the list does not hold the value")
			},
		}),
		"matchkeys": taking(matchkeysFunc),
		"transpose": transposeFunc,
	}
}

// allOf reports whether all elements are the wanted bool.
func allOf(list []cty.Value, want cty.Value) (cty.Value, error) {
	for _, v := range list {
		b, err := convert.Convert(v, cty.Bool)
		if err != nil {
			return cty.NilVal, errors.New("a list of bools is required")
		}
		if b.IsNull() || b.Equals(want).False() {
			return cty.False, nil
		}
	}
	return cty.True, nil
}

var matchkeysFunc = function.New(&function.Spec{
	Params: []function.Parameter{
		{Name: "values", Type: cty.List(cty.DynamicPseudoType)},
		{Name: "keys", Type: cty.List(cty.DynamicPseudoType)},
		{Name: "search", Type: cty.List(cty.DynamicPseudoType)},
	},
	Type: func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
	Impl: func(args []cty.Value, ret cty.Type) (cty.Value, error) {
		if !args[0].IsWhollyKnown() || !args[1].IsWhollyKnown() || !args[2].IsWhollyKnown() {
			return cty.UnknownVal(ret), nil
		}
		values, keys, search := args[0].AsValueSlice(), args[1].AsValueSlice(), args[2].AsValueSlice()
		if len(values) != len(keys) {
			return cty.NilVal, errors.New("values and keys must have the same length")
		}
		wanted, all := map[any]bool{}, true
		for _, s := range search {
			key, ok := plainKey(s)
			wanted[key], all = true, all && ok
		}
		var out []cty.Value
		for i, k := range keys {
			if key, ok := plainKey(k); ok && all {
				if wanted[key] {
					out = append(out, values[i])
				}
				continue
			}
			for _, s := range search {
				if eq := k.Equals(s); eq.IsKnown() && eq.True() {
					out = append(out, values[i])
					break
				}
			}
		}
		if len(out) == 0 {
			return cty.ListValEmpty(ret.ElementType()), nil
		}
		return cty.ListVal(out), nil
	},
})

var transposeFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "map", Type: cty.Map(cty.List(cty.String))}},
	Type:   function.StaticReturnType(cty.Map(cty.List(cty.String))),
	Impl: func(args []cty.Value, ret cty.Type) (cty.Value, error) {
		if !args[0].IsWhollyKnown() {
			return cty.UnknownVal(ret), nil
		}
		out := map[string][]cty.Value{}
		for it := args[0].ElementIterator(); it.Next(); {
			k, list := it.Element()
			if list.IsNull() {
				return cty.NilVal, errors.New("the map holds null")
			}
			for inner := list.ElementIterator(); inner.Next(); {
				_, v := inner.Element()
				if v.IsNull() {
					return cty.NilVal, errors.New("a list of the map holds null")
				}
				out[v.AsString()] = append(out[v.AsString()], k)
			}
		}
		lists := map[string]cty.Value{}
		for k, v := range out {
			lists[k] = cty.ListVal(v)
		}
		if len(lists) == 0 {
			return cty.MapValEmpty(ret.ElementType()), nil
		}
		return cty.MapVal(lists), nil
	},
})

// coalesceFunc gives the first argument that is neither null nor "", as
// Terraform's does.
var coalesceFunc = function.New(&function.Spec{
	VarParam: &function.Parameter{
		Name: "values", Type: cty.DynamicPseudoType,
		AllowNull: true, AllowUnknown: true, AllowMarked: true, AllowDynamicType: true,
	},
	Type: func(args []cty.Value) (cty.Type, error) {
		types := make([]cty.Type, len(args))
		for i, arg := range args {
			types[i] = arg.Type()
		}
		ty, _ := convert.UnifyUnsafe(types)
		if len(args) == 0 || ty == cty.NilType {
			return cty.NilType, errors.New("arguments of one type are required")
		}
		return ty, nil
	},
	Impl: func(args []cty.Value, ret cty.Type) (cty.Value, error) {
		var seen []cty.ValueMarks
		for _, arg := range args {
			v, marks := arg.Unmark()
			seen = append(seen, marks)
			if !v.IsKnown() {
				return cty.UnknownVal(ret).WithMarks(seen...), nil
			}
			if v.IsNull() || v.Type() == cty.String && v.AsString() == "" {
				continue
			}
			out, err := convert.Convert(arg, ret)
			return out.WithMarks(seen...), err
		}
		return cty.NilVal, errors.New("all arguments are null or empty")
	},
})
