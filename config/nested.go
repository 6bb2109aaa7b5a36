package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// nestedBody is a nested block, written or made by a dynamic one, with the
// values of the iterators around it.
type nestedBody struct {
	body  *hclsyntax.Body
	extra map[string]cty.Value
	rng   hcl.Range
}

// nested gives the nested blocks of one kind, dynamic ones expanded.
func (r *reader) nested(kind string) []nestedBody {
	var out []nestedBody
	for _, block := range r.body.Blocks {
		if block.Type == kind {
			out = append(out, nestedBody{body: block.Body, rng: block.DefRange(), extra: r.extra})
		}
		if block.Type != "dynamic" || len(block.Labels) != 1 || block.Labels[0] != kind {
			continue
		}
		content, each := contentOf(block), block.Body.Attributes["for_each"]
		if content == nil || each == nil {
			continue
		}
		out = append(out, r.dynamic(block, content, each)...)
	}
	return out
}

func (r *reader) dynamic(block *hclsyntax.Block, content *hclsyntax.Body, each *hclsyntax.Attribute) []nestedBody {
	raw, ok := r.s.evalWith(each.Expr, r.inst, r.extra)
	if !ok {
		r.failed = true
		return nil
	}
	v, _ := raw.Unmark()
	t := outer(raw)
	switch {
	case t.broken:
		r.failed = true
		return nil
	case len(t.sources) > 0:
		r.fail(each.Expr.Range(), "known only later", "a dynamic block uses %s, which is known only after that has ended", list(t.sources))
		return nil
	case !v.IsKnown() || v.IsNull() || !v.CanIterateElements():
		r.fail(each.Expr.Range(), "wrong type", "for_each of a dynamic block needs a list, a set or a map, and this is %s", friendly(v))
		return nil
	}
	name := iteratorOf(block)
	var out []nestedBody
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if v.Type().IsSetType() {
			key = value
		}
		if t.sensitive {
			key, value = key.Mark(sensitive), value.Mark(sensitive)
		}
		extra := map[string]cty.Value{name: cty.ObjectVal(map[string]cty.Value{"key": key, "value": value})}
		for k, v := range r.extra {
			extra[k] = v
		}
		out = append(out, nestedBody{body: content, extra: extra, rng: block.DefRange()})
		if len(out) > 1000 {
			r.fail(each.Expr.Range(), "too many blocks", "a dynamic block may make 1000 blocks")
			return nil
		}
	}
	return out
}
