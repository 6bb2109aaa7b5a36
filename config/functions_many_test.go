package config

import (
	"math/big"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// TestManyElements: no function compares each of fifty thousand elements with every
// other one, which takes minutes.
func TestManyElements(t *testing.T) {
	for name, tuple := range map[string]cty.Value{"numbers": many(cty.NumberIntVal), "strings": many(func(i int64) cty.Value { return cty.StringVal(big.NewInt(i).String()) })} {
		for fn, args := range map[string][]cty.Value{
			"distinct": {tuple}, "tolist": {tuple}, "toset": {tuple}, "chunklist": {tuple, cty.NumberIntVal(7)}, "matchkeys": {tuple, tuple, tuple},
		} {
			done := make(chan error, 1)
			go func() {
				_, err := offered(t, fn).Call(args)
				done <- err
			}()
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("%s of %s: %v", fn, name, err)
				}
			case <-time.After(30 * time.Second):
				t.Fatalf("%s of %s takes too long", fn, name)
			}
		}
	}
}

// many is a tuple of fifty thousand elements, each of them once.
func many(of func(int64) cty.Value) cty.Value {
	all := make([]cty.Value, 50_000)
	for i := range all {
		all[i] = of(int64(i))
	}
	return cty.TupleVal(all)
}

// TestManyElementsAsTheLibrary: what is faster gives what the library gives.
func TestManyElementsAsTheLibrary(t *testing.T) {
	number := func(text string) cty.Value { return cty.MustParseNumberVal(text) }
	zero := cty.NumberVal(new(big.Float).Neg(new(big.Float)))
	for name, tuple := range map[string]cty.Value{
		"strings":   cty.TupleVal([]cty.Value{cty.StringVal("b"), cty.StringVal("a"), cty.StringVal("b"), cty.StringVal("")}),
		"numbers":   cty.TupleVal([]cty.Value{number("1"), number("1.0"), number("0.1"), cty.NumberFloatVal(0.1), number("0.2"), number("-0.1"), number("1e30"), number("-1e30"), number("1e-300"), zero, number("0"), cty.PositiveInfinity}),
		"bools":     cty.TupleVal([]cty.Value{cty.True, cty.False, cty.True}),
		"nulls":     cty.TupleVal([]cty.Value{cty.StringVal("a"), cty.NullVal(cty.String), cty.StringVal("a"), cty.NullVal(cty.String)}),
		"mixed":     cty.TupleVal([]cty.Value{number("1"), cty.StringVal("1"), cty.True}),
		"lists":     cty.TupleVal([]cty.Value{cty.TupleVal([]cty.Value{number("1")}), cty.TupleVal([]cty.Value{number("1")})}),
		"unknown":   cty.TupleVal([]cty.Value{cty.StringVal("a"), cty.UnknownVal(cty.String), cty.StringVal("a")}),
		"none":      cty.EmptyTupleVal,
		"not known": cty.UnknownVal(cty.List(cty.String)),
		"anything":  cty.DynamicVal,
		"null":      cty.NullVal(cty.DynamicPseudoType),
		"marked":    cty.TupleVal([]cty.Value{cty.StringVal("a").Mark(sensitive), cty.StringVal("a")}),
		"all of it": cty.TupleVal([]cty.Value{cty.StringVal("a"), cty.StringVal("a")}).Mark(sensitive),
		"no list":   number("1"),
	} {
		for fn, library := range map[string]function.Function{
			"distinct": stdlib.DistinctFunc, "setunion": stdlib.SetUnionFunc, "chunklist": stdlib.ChunklistFunc,
			"toset": stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)), "tolist": stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)),
		} {
			args := []cty.Value{tuple}
			if fn == "chunklist" {
				args = append(args, cty.StringVal("2"))
			}
			want, wrong := called(library, args)
			got, err := called(offered(t, fn), args)
			if (err != nil) != (wrong != nil) || err == nil && !got.RawEquals(want) {
				t.Errorf("%s of %s: %#v %v, not %#v %v", fn, name, got, err, want, wrong)
			}
		}
	}
}

// offered is a function as expressions call it.
func offered(t *testing.T, name string) function.Function {
	p := &program{opt: &Options{}}
	p.meter = newMeter(t.Context(), p.opt)
	return p.table()[name]
}

// called converts arguments to the types that the function's parameters have, as
// an expression does, and calls it.
func called(fn function.Function, args []cty.Value) (cty.Value, error) {
	var out []cty.Value
	for i, arg := range args {
		v, err := convert.Convert(arg, fn.Params()[i].Type)
		if err != nil {
			return v, err
		}
		out = append(out, v)
	}
	v, err := fn.Call(out)
	if err == nil && !v.IsKnown() { // what else is known of it does not matter
		v = cty.UnknownVal(v.Type()).WithSameMarks(v)
	}
	return v, err
}
