package config

import (
	"errors"
	"regexp"

	"github.com/zclconf/go-cty/cty"
)

// maxMade bounds what one call may make out of little.
const maxMade = 64 << 20

var (
	widths  = regexp.MustCompile(`%[^a-zA-Z%]*?(\d{5,})`)
	aliases = regexp.MustCompile(`(?:^|[\s\[{,:-])\*[^\s,\]}]`)
)

func refuseSize(name string, args []cty.Value) error {
	plain := make([]cty.Value, len(args))
	for i, a := range args {
		plain[i], _ = a.Unmark()
		if !plain[i].IsKnown() || plain[i].IsNull() {
			return nil
		}
	}
	switch name {
	case "format", "formatlist":
		if widths.MatchString(text(plain[0])) {
			return errors.New("a width or precision may have at most four digits")
		}
	case "indent":
		if n, _ := plain[0].AsBigFloat().Float64(); n < 0 || n > 1000 {
			return errors.New("the number of spaces must be between 0 and 1000")
		}
	case "setproduct":
		total := 1.0
		for _, v := range plain {
			if v.CanIterateElements() && v.Type() != cty.DynamicPseudoType {
				total *= float64(v.LengthInt())
			}
		}
		if total > 1e6 {
			return errors.New("the product has more than a million elements")
		}
	case "replace":
		if len(text(plain[0]))*max(1, len(text(plain[2]))) > maxMade {
			return errors.New("the result would be too large")
		}
	case "join":
		n := 1
		for _, v := range plain[1:] {
			if v.CanIterateElements() {
				n += v.LengthInt()
			}
		}
		if n*len(text(plain[0])) > maxMade {
			return errors.New("the result would be too large")
		}
	case "jsondecode", "yamldecode", "csvdecode":
		return refuseDocument(name, text(plain[0]))
	case "parseint":
		if len(text(plain[0])) > 10_000 {
			return errors.New("the number is too long")
		}
	case "tonumber":
		if exponent([]byte(text(plain[0]))) > maxExponent {
			return errors.New("the number is too large")
		}
	}
	return nil
}

// refuseDocument refuses documents that are nested so deeply, or refer to their
// own parts so often, that reading them would exhaust the machine.
func refuseDocument(name, doc string) error {
	depth, most := 0, 0
	for i := range len(doc) {
		switch doc[i] {
		case '[', '{':
			depth++
			most = max(most, depth)
		case ']', '}':
			depth--
		}
	}
	if most > 1000 {
		return errors.New("the text is nested too deeply")
	}
	if name == "yamldecode" && len(aliases.FindAllStringIndex(doc, 33)) > 32 {
		return errors.New("the text has more than 32 aliases")
	}
	return nil
}

func text(v cty.Value) string {
	if v.Type() != cty.String {
		return ""
	}
	return v.AsString()
}
