package config

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// headerRange is a block's word and labels.
func headerRange(block *hclsyntax.Block) hcl.Range {
	if n := len(block.LabelRanges); n > 0 {
		return hcl.RangeBetween(block.TypeRange, block.LabelRanges[n-1])
	}
	return block.TypeRange
}

// attrRanges gives the place of each argument of a block and of the blocks in
// it, these as "snapshot.path".
func attrRanges(body *hclsyntax.Body) map[string]hcl.Range {
	ranges := make(map[string]hcl.Range, len(body.Attributes))
	for name, attr := range body.Attributes {
		ranges[name] = attr.SrcRange
	}
	for _, block := range body.Blocks {
		for name, rng := range attrRanges(block.Body) {
			ranges[block.Type+"."+name] = rng
		}
	}
	return ranges
}

// instanceAddr is the address of an instance: run.a["x"], run.a[0], run.a.
func instanceAddr(addr string, key any) string {
	switch k := key.(type) {
	case string:
		return addr + "[" + quote(k) + "]"
	case int:
		return fmt.Sprintf("%s[%d]", addr, k)
	}
	return addr
}

// quote writes a string as HCL does. Characters that are not seen or turn the
// direction of text are escaped: two names that look alike are none.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case (r == '$' || r == '%') && strings.HasPrefix(s[i+1:], "{"):
			b.WriteRune(r)
			b.WriteRune(r)
		case unseen(r) && r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		case unseen(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// unseen reports whether a character is a control, a format or a separator that
// nobody sees. The joiners stay, which some scripts and emoji are written with.
func unseen(r rune) bool {
	return r != 0x200c && r != 0x200d && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}
