package ui

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/overbrainer/overbrainer/internal/safetext"
	"github.com/overbrainer/overbrainer/state"
)

// Outputs shows output values to a person as HCL would write them.
func Outputs(w io.Writer, outputs map[string]state.Output) error {
	p := &printer{w: w}
	wide := 0
	for name := range outputs {
		wide = max(wide, width(name))
	}
	for _, name := range sortedKeys(outputs) {
		text := "(sensitive)"
		if !outputs[name].Sensitive {
			text = Value(outputs[name].Value)
		}
		p.line(pad(clean(name), wide), " = ", text)
	}
	return p.err
}

// Value writes a decoded JSON value in HCL's form.
func Value(v any) string {
	var b strings.Builder
	writeValue(&b, v, "")
	return b.String()
}

func writeValue(b *strings.Builder, v any, indent string) {
	deeper := indent + "  "
	switch x := v.(type) {
	case []any:
		if len(x) == 0 {
			b.WriteString("[]")
			return
		}
		b.WriteString("[\n")
		for _, e := range x {
			b.WriteString(deeper)
			writeValue(b, e, deeper)
			b.WriteString(",\n")
		}
		b.WriteString(indent + "]")
	case map[string]any:
		if len(x) == 0 {
			b.WriteString("{}")
			return
		}
		b.WriteString("{\n")
		for _, k := range sortedKeys(x) {
			fmt.Fprintf(b, "%s%s = ", deeper, quote(k))
			writeValue(b, x[k], deeper)
			b.WriteString("\n")
		}
		b.WriteString(indent + "}")
	case string:
		b.WriteString(quote(x))
	case float64:
		b.WriteString(strings.TrimSuffix(jsonText(x), ".0"))
	default:
		b.WriteString(jsonText(x))
	}
}

// quote writes a string whole: what a terminal would obey is escaped.
func quote(s string) string {
	var b strings.Builder
	for _, c := range rawJSON(s) {
		if unicode.IsControl(c) || safetext.IsDirection(c) {
			fmt.Fprintf(&b, `\u%04x`, c)
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// rawJSON is v as JSON with all its characters as they are.
func rawJSON(v any) string {
	var b strings.Builder
	if err := JSONLine(&b, v); err != nil {
		return "(not to be shown)"
	}
	return strings.TrimSuffix(b.String(), "\n")
}
