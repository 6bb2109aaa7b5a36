package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// checkNames compares a body with its form: names that are not known, blocks
// written as arguments and arguments written as blocks, what is missing. With
// partial, text is missing from the body, and so nothing is called missing.
func checkNames(what string, body *hclsyntax.Body, schema *blockSchema, header hcl.Range, partial bool) hcl.Diagnostics {
	var diags hcl.Diagnostics
	if !schema.open {
		for _, name := range sorted(body.Attributes) {
			if attr := body.Attributes[name]; schema.attr(name) == nil {
				diags = append(diags, unknownArgument(what, attr, schema))
			}
		}
	}
	given := map[string]hcl.Range{}
	for _, block := range body.Blocks {
		nested, dynamic, moreDiags := nestedBlock(what, block, schema)
		diags = append(diags, moreDiags...)
		if nested == nil {
			continue
		}
		name := block.Type
		inner := block.Body
		if dynamic {
			name = block.Labels[0]
			inner = contentOf(block)
			if inner == nil {
				continue
			}
		}
		if first, twice := given[name]; twice && !nested.many && !dynamic {
			diags = append(diags, at(block.TypeRange, fmt.Sprintf("second %s block", name),
				fmt.Sprintf("%s has a %s block at %s already; one is enough", what, name, place(first))))
		}
		given[name] = block.TypeRange
		diags = append(diags, checkNames(name+" of "+what, inner, nested, block.DefRange(), partial)...)
	}
	if partial {
		return diags
	}
	for _, attr := range schema.attrs {
		if _, set := body.Attributes[attr.name]; attr.required && !set && !misnamed(attr.name, body, schema) {
			diags = append(diags, missing(what, attr, header))
		}
	}
	return diags
}

// misnamed reports whether a name that is not known stands for a required one:
// then it is one fault, not two.
func misnamed(name string, body *hclsyntax.Body, schema *blockSchema) bool {
	for given := range body.Attributes {
		if schema.attr(given) == nil && nearest(given, schema.attrNames()) == name {
			return true
		}
	}
	for _, block := range body.Blocks {
		if block.Type == name {
			return true
		}
	}
	return false
}

func missing(what string, attr attrSchema, header hcl.Range) *hcl.Diagnostic {
	detail := fmt.Sprintf("%s needs `%s`, such as %s = %s", what, attr.name, attr.name, attr.example)
	if attr.name == "max_hours" || attr.name == "cap" {
		detail += "; nothing is rented without a bound on its time"
	}
	return at(header, fmt.Sprintf("no %s", attr.name), detail)
}

func unknownArgument(what string, attr *hclsyntax.Attribute, schema *blockSchema) *hcl.Diagnostic {
	if nested := schema.blocks[attr.Name]; nested != nil {
		return at(attr.NameRange, "a block, not an argument",
			fmt.Sprintf("`%s` is a block: write it without the equals sign, as in %s", attr.Name, nested.example))
	}
	names := append(schema.attrNames(), slices.Collect(maps.Keys(schema.blocks))...)
	return at(attr.NameRange, "unknown argument", hint(fmt.Sprintf("%s has no argument `%s`", what, attr.Name), didYouMean(attr.Name, names, "")))
}

// nestedBlock finds the form of a nested block, dynamic ones included.
func nestedBlock(what string, block *hclsyntax.Block, schema *blockSchema) (nested *blockSchema, dynamic bool, diags hcl.Diagnostics) {
	if block.Type == "dynamic" && len(schema.blocks) > 0 && schema.blocks["backend"] == nil {
		if len(block.Labels) != 1 {
			return nil, true, hcl.Diagnostics{at(block.TypeRange, "dynamic without a name", `a dynamic block names the block it makes: dynamic "`+sorted(schema.blocks)[0]+`" { for_each = …, content { … } }`)}
		}
		nested = schema.blocks[block.Labels[0]]
		if nested == nil {
			return nil, true, hcl.Diagnostics{at(block.LabelRanges[0], "unknown block",
				hint(fmt.Sprintf("%s has no block `%s`", what, block.Labels[0]), didYouMean(block.Labels[0], sorted(schema.blocks), "")))}
		}
		return nested, true, checkDynamic(block)
	}
	nested = schema.blocks[block.Type]
	if nested == nil {
		if attr := schema.attr(block.Type); attr != nil {
			return nil, false, hcl.Diagnostics{at(block.TypeRange, "an argument, not a block",
				fmt.Sprintf("`%s` is an argument: write it with an equals sign, as in %s = %s", attr.name, attr.name, attr.example))}
		}
		detail := fmt.Sprintf("%s has no block `%s`", what, block.Type)
		return nil, false, hcl.Diagnostics{at(block.TypeRange, "unknown block", hint(detail, didYouMean(block.Type, append(sorted(schema.blocks), schema.attrNames()...), "")))}
	}
	return nested, false, checkLabels(block, nested)
}

// checkDynamic looks at the parts of a dynamic block.
func checkDynamic(block *hclsyntax.Block) hcl.Diagnostics {
	var diags hcl.Diagnostics
	known := []string{"for_each", "iterator", "labels"}
	for _, name := range sorted(block.Body.Attributes) {
		if !slices.Contains(known, name) {
			diags = append(diags, at(block.Body.Attributes[name].NameRange, "unknown argument",
				hint(fmt.Sprintf("a dynamic block has no argument `%s`", name), didYouMean(name, append(known, "content"), ""))))
		}
	}
	if block.Body.Attributes["for_each"] == nil {
		diags = append(diags, at(block.TypeRange, "no for_each", "a dynamic block needs `for_each`: one block is made for each of its elements"))
	}
	if contentOf(block) == nil {
		diags = append(diags, at(block.TypeRange, "no content", "a dynamic block needs one block `content { … }`: what each block that it makes holds"))
	}
	return diags
}

func contentOf(dynamic *hclsyntax.Block) *hclsyntax.Body {
	if len(dynamic.Body.Blocks) != 1 || dynamic.Body.Blocks[0].Type != "content" || len(dynamic.Body.Blocks[0].Labels) > 0 {
		return nil
	}
	return dynamic.Body.Blocks[0].Body
}

// checkLabels compares a block's labels with its form.
func checkLabels(block *hclsyntax.Block, schema *blockSchema) hcl.Diagnostics {
	want := 0
	if schema.label != "" {
		want = 1
	}
	switch {
	case len(block.Labels) > want && want == 0:
		return hcl.Diagnostics{at(block.LabelRanges[0], "one label too many", fmt.Sprintf("a %s block has no label: write %s", block.Type, schema.example))}
	case len(block.Labels) > want:
		return hcl.Diagnostics{at(block.LabelRanges[1], "one label too many", fmt.Sprintf("a %s block has one label, its %s: write %s", block.Type, schema.label, schema.example))}
	case len(block.Labels) < want:
		return hcl.Diagnostics{at(block.TypeRange, fmt.Sprintf("no %s", schema.label), fmt.Sprintf("a %s block needs a %s: write %s", block.Type, schema.label, schema.example))}
	}
	return nil
}

// hint adds a sentence to a detail, if there is one.
func hint(detail, more string) string {
	if more == "" {
		return detail
	}
	return detail + "; " + strings.TrimSpace(more)
}
