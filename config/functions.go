package config

import (
	"errors"

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

		"chunklist": taking(stdlib.ChunklistFunc), "coalesce": coalesceFunc, "coalescelist": stdlib.CoalesceListFunc,
		"compact": stdlib.CompactFunc, "concat": stdlib.ConcatFunc, "contains": stdlib.ContainsFunc,
		"distinct": taking(distinctFunc), "element": stdlib.ElementFunc, "flatten": stdlib.FlattenFunc,
		"keys": stdlib.KeysFunc, "length": lengthFunc, "lookup": lookupFunc, "merge": stdlib.MergeFunc,
		"range": stdlib.RangeFunc, "reverse": stdlib.ReverseListFunc, "setintersection": taking(stdlib.SetIntersectionFunc),
		"setproduct": stdlib.SetProductFunc, "setsubtract": taking(stdlib.SetSubtractFunc), "setunion": taking(stdlib.SetUnionFunc),
		"slice": stdlib.SliceFunc, "sort": stdlib.SortFunc, "values": stdlib.ValuesFunc, "zipmap": stdlib.ZipmapFunc,

		"csvdecode": stdlib.CSVDecodeFunc, "jsondecode": stdlib.JSONDecodeFunc, "jsonencode": stdlib.JSONEncodeFunc,
		"yamldecode": yaml.YAMLDecodeFunc, "yamlencode": yaml.YAMLEncodeFunc,

		"formatdate": stdlib.FormatDateFunc, "timeadd": stdlib.TimeAddFunc,

		"tostring": stdlib.MakeToFunc(cty.String), "tonumber": stdlib.MakeToFunc(cty.Number),
		"tobool": stdlib.MakeToFunc(cty.Bool), "toset": taking(stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType))),
		"tolist": taking(stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType))), "tomap": stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)),

		"try": tryFunc, "can": canFunc,
		"sensitive": sensitiveFunc, "nonsensitive": nonsensitiveFunc, "issensitive": issensitiveFunc,
	}
	for _, more := range []map[string]function.Function{stringFunctions(), collectionFunctions(), encodingFunctions(), textFunctions(), netFunctions(), p.fileFunctions()} {
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
		if p.opt.called != nil {
			p.opt.called(name)
		}
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
