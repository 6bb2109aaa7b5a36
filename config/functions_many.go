package config

import (
	"math/big"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// What is here keeps lists of ten thousand elements cheap where the library
// compares each of them with every other one.

// exact is a number as text, which is the same for two that the library calls equal.
type exact string

// plainKey gives a string, number or bool as a key of a map; ok is false for any
// other value, which only the library compares.
func plainKey(v cty.Value) (key any, ok bool) {
	if v.IsMarked() || !v.IsKnown() || v.IsNull() {
		return nil, false
	}
	switch v.Type() {
	case cty.String:
		return v.AsString(), true
	case cty.Bool:
		return v.True(), true
	case cty.Number:
		n := v.AsBigFloat()
		if whole, how := n.Int(nil); how == big.Exact {
			return exact(whole.String()), true
		}
		return exact(n.Text('f', -1)), true
	}
	return nil, false
}

var distinctFunc = function.New(&function.Spec{
	Params: stdlib.DistinctFunc.Params(),
	Type:   stdlib.DistinctFunc.ReturnTypeForValues,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		var first []cty.Value
		seen := map[any]bool{}
		for it := args[0].ElementIterator(); it.Next(); {
			_, v := it.Element()
			key, ok := plainKey(v)
			if !ok {
				return stdlib.DistinctFunc.Call(args)
			}
			if !seen[key] {
				seen[key] = true
				first = append(first, v)
			}
		}
		if len(first) == 0 {
			return args[0], nil
		}
		return cty.ListVal(first), nil
	},
})

// taking makes a function that takes lists or sets of anything convert what it is
// given itself: the library looks for the type of a tuple's elements among all pairs
// of them.
func taking(fn function.Function) function.Function {
	params, rest := fn.Params(), fn.VarParam()
	var wants []cty.Type
	loosen := func(p *function.Parameter) {
		wants = append(wants, p.Type)
		p.Type, p.AllowDynamicType = cty.DynamicPseudoType, true
	}
	for i := range params {
		loosen(&params[i])
	}
	if rest != nil {
		loosen(rest)
	}
	converted := func(args []cty.Value) ([]cty.Value, error) {
		out := make([]cty.Value, len(args))
		for i, arg := range args {
			v, err := convert.Convert(listOf(arg), wants[min(i, len(wants)-1)])
			if err != nil {
				return nil, function.NewArgError(i, err)
			}
			out[i] = v
		}
		return out, nil
	}
	return function.New(&function.Spec{
		Params: params, VarParam: rest,
		Type: func(args []cty.Value) (cty.Type, error) {
			args, err := converted(args)
			if err != nil {
				return cty.NilType, err
			}
			return fn.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			args, err := converted(args)
			if err != nil {
				return cty.NilVal, err
			}
			return fn.Call(args)
		},
	})
}

// listOf gives a tuple of strings, of numbers or of bools as a list, and everything
// else as it is.
func listOf(v cty.Value) cty.Value {
	tuple, marks := v.Unmark()
	if !tuple.Type().IsTupleType() || tuple.IsNull() || !tuple.IsKnown() || tuple.LengthInt() == 0 {
		return v
	}
	types := tuple.Type().TupleElementTypes()
	for _, ty := range types {
		if !ty.IsPrimitiveType() || ty != types[0] {
			return v
		}
	}
	return cty.ListVal(tuple.AsValueSlice()).WithMarks(marks)
}
