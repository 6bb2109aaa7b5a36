package config

import (
	"math"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// TestQuoteHidesNothing: what nobody sees is escaped, in a way that reads back,
// and what is written with joiners stays.
func TestQuoteHidesNothing(t *testing.T) {
	for text, want := range map[string]string{
		"ab\a":              `"ab\u0007"`,
		"a\u202eb\u2066":    `"a\u202eb\u2066"`,
		"a\u200f\u200b":     `"a\u200f\u200b"`,
		"a\u0085\u2028":     `"a\u0085\u2028"`,
		"a\U000e0041":       `"a\U000e0041"`,
		"学習率 größer":        `"学習率 größer"`,
		"می\u200cخواهم":     "\"می\u200cخواهم\"",
		"\U0001f469\u200d":  "\"\U0001f469\u200d\"",
		"${x} \"\\\" %{y}%": `"$${x} \"\\\" %%{y}%"`,
	} {
		got := quote(text)
		if got != want {
			t.Errorf("%+q is written %+q, not %+q", text, got, want)
		}
		expr, diags := hclsyntax.ParseExpression([]byte(got), "", hcl.InitialPos)
		if diags.HasErrors() {
			t.Errorf("%s: %v", got, diags)
			continue
		}
		if v, diags := expr.Value(nil); diags.HasErrors() || v.AsString() != text {
			t.Errorf("%s reads back as %#v, %v", got, v, diags)
		}
	}
}

// TestNumberIsNullForNoNumber and for nothing else.
func TestNumberIsNullForNoNumber(t *testing.T) {
	for _, v := range []float64{0, -1e308, math.MaxFloat64, math.SmallestNonzeroFloat64} {
		if got := number(v); got.IsNull() || got.Equals(cty.NumberFloatVal(v)).False() {
			t.Errorf("%g is %#v", v, got)
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if !number(v).IsNull() {
			t.Errorf("%g is %#v", v, number(v))
		}
	}
}
