package config

import (
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// Form tells what may stand in a block: what the reference of the language is
// written from.
type Form struct {
	// Kind is the block's type, Label what its label is called ("" = none).
	Kind, Label string
	// Example is how to write one.
	Example string
	// Open: it takes arguments of others besides, which are not listed.
	Open bool
	// Repeats: the block may stand several times where it is nested.
	Repeats   bool
	Arguments []Argument
	Blocks    []Form
}

// Argument is one argument of a block.
type Argument struct {
	Name string
	// Type is "string", "list of string" and so on; "any" where several are
	// taken, "expression" where it is read as it is written, and for a
	// reference the kind of block that is referred to.
	Type     string
	Required bool
	// Example is how a value looks.
	Example string
}

// Forms are the forms of all blocks, in order of name.
func Forms() []Form { return formsOf(schemas()) }

func formsOf(all map[string]*blockSchema) []Form {
	var forms []Form
	for _, kind := range sorted(all) {
		s := all[kind]
		f := Form{Kind: kind, Label: s.label, Example: s.example, Open: s.open, Repeats: s.many, Blocks: formsOf(s.blocks)}
		for _, a := range s.attrs {
			f.Arguments = append(f.Arguments, Argument{Name: a.name, Type: a.typeName(), Required: a.required, Example: a.example})
		}
		slices.SortStableFunc(f.Arguments, func(a, b Argument) int {
			switch {
			case a.Required == b.Required:
				return 0
			case a.Required:
				return -1
			}
			return 1
		})
		forms = append(forms, f)
	}
	return forms
}

func (a *attrSchema) typeName() string {
	switch {
	case a.ref != "":
		return a.ref
	case a.secret:
		return "map of secret"
	case a.typ == cty.NilType:
		return "expression"
	case a.typ == cty.DynamicPseudoType:
		return "any"
	}
	return a.typ.FriendlyName()
}
