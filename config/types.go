package config

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

func laterDetail(name string, sources []string) string {
	if name == "volume" {
		return fmt.Sprintf("`volume` uses the ID of %s, which does not exist yet; refer to the block itself: volume = %s", list(sources), sources[0])
	}
	return fmt.Sprintf("`%s` uses %s, which is known only after that has ended or was made; such values may stand in command, env, setup, triggers and resume_from of a run, in outputs and in checks",
		name, list(sources))
}

// wrongType says what was wanted and what was found, without the value.
func wrongType(name string, form *attrSchema, got cty.Value, rng hcl.Range) *hcl.Diagnostic {
	found := friendly(got)
	if plain, _ := got.Unmark(); form.typ == stringList && (plain.Type().IsTupleType() || plain.Type().IsListType()) {
		found = "a list of something else"
	}
	detail := fmt.Sprintf("`%s` must be %s, and this is %s", name, friendlyType(form.typ), found)
	if form.example != "" {
		detail += fmt.Sprintf("; write %s = %s", name, form.example)
	}
	return at(rng, "wrong type", detail)
}

func friendlyType(ty cty.Type) string {
	switch {
	case ty == cty.String:
		return "a string"
	case ty == cty.Number:
		return "a number"
	case ty == cty.Bool:
		return "true or false"
	case ty.IsListType() && ty.ElementType() == cty.String:
		return "a list of strings"
	case ty.IsMapType() && ty.ElementType() == cty.String:
		return "a map of strings"
	}
	return "of type " + ty.FriendlyName()
}

// friendly describes a value by its type.
func friendly(v cty.Value) string {
	v, _ = v.Unmark()
	ty := v.Type()
	switch {
	case v.IsNull():
		return "null"
	case ty == secretType:
		return "a secret"
	case ty == cty.String, ty == cty.Number, ty == cty.Bool:
		return map[cty.Type]string{cty.String: "a string", cty.Number: "a number", cty.Bool: "a bool"}[ty]
	case ty.IsTupleType() || ty.IsListType():
		return "a list"
	case ty.IsSetType():
		return "a set"
	case ty.IsObjectType() && ty.HasAttribute("address"):
		if a, _ := v.GetAttr("address").Unmark(); a.Type() == cty.String && a.IsKnown() && !a.IsNull() {
			return "the block " + a.AsString()
		}
		return "an object"
	case ty.IsObjectType() || ty.IsMapType():
		return "a map"
	}
	return "a value of type " + ty.FriendlyName()
}
