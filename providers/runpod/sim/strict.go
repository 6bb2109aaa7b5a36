package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"
)

// shape is what a value of a request's body may be.
type shape struct {
	kind     string // string, integer, boolean, array, map, object
	nullable bool
	min      int // least length or value
	max      int // greatest; 0: none
	enum     []string
	pattern  *regexp.Regexp
	items    *shape           // array, map
	fields   map[string]shape // object: all there are
	required []string
}

// check reports every way in which v differs from the shape, in the API's own
// words. path is "$" for the body itself.
func (sh shape) check(path string, v any) []string {
	if v == nil {
		if sh.nullable {
			return nil
		}
		return []string{fmt.Sprintf("%s: got null, want %s", path, sh.word())}
	}
	switch sh.kind {
	case "string":
		return sh.checkString(path, v)
	case "boolean":
		if _, ok := v.(bool); !ok {
			return sh.wrong(path, v)
		}
	case "integer":
		n, ok := v.(json.Number)
		f, err := n.Float64()
		if !ok || err != nil || f != math.Trunc(f) {
			return sh.wrong(path, v)
		}
		if f < float64(sh.min) {
			return []string{fmt.Sprintf("%s: minimum: got %s, want %d", path, n, sh.min)}
		}
		if sh.max > 0 && f > float64(sh.max) {
			return []string{fmt.Sprintf("%s: maximum: got %s, want %d", path, n, sh.max)}
		}
	case "array":
		list, ok := v.([]any)
		if !ok {
			return sh.wrong(path, v)
		}
		if sh.max > 0 && len(list) > sh.max {
			return []string{fmt.Sprintf("%s: maxItems: got %d, want %d", path, len(list), sh.max)}
		}
		var errs []string
		for i, item := range list {
			errs = append(errs, sh.items.check(fmt.Sprintf("%s[%d]", path, i), item)...)
		}
		return errs
	default:
		m, ok := v.(map[string]any)
		if !ok {
			return sh.wrong(path, v)
		}
		return sh.checkObject(path, m)
	}
	return nil
}

func (sh shape) checkString(path string, v any) []string {
	text, ok := v.(string)
	if !ok {
		return sh.wrong(path, v)
	}
	n := utf8.RuneCountInString(text)
	switch {
	case len(sh.enum) > 0:
		for _, e := range sh.enum {
			if e == text {
				return nil
			}
		}
		return []string{fmt.Sprintf("%s: value must be one of '%s'", path, strings.Join(sh.enum, "', '"))}
	case n < sh.min:
		return []string{fmt.Sprintf("%s: minLength: got %d, want %d", path, n, sh.min)}
	case sh.max > 0 && n > sh.max:
		return []string{fmt.Sprintf("%s: maxLength: got %d, want %d", path, n, sh.max)}
	case sh.pattern != nil && !sh.pattern.MatchString(text):
		return []string{fmt.Sprintf("%s: does not match pattern '%s'", path, sh.pattern)}
	}
	return nil
}

func (sh shape) checkObject(path string, m map[string]any) []string {
	var errs, unknown []string
	for _, name := range sh.required {
		if _, ok := m[name]; !ok {
			errs = append(errs, fmt.Sprintf("%s: missing property '%s'", path, name))
		}
	}
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		field, known := sh.fields[name]
		switch {
		case sh.kind == "map":
			errs = append(errs, sh.items.check(path+"."+name, m[name])...)
		case known:
			errs = append(errs, field.check(path+"."+name, m[name])...)
		default:
			unknown = append(unknown, "'"+name+"'")
		}
	}
	if len(unknown) > 0 {
		errs = append(errs, fmt.Sprintf("%s: additional properties %s not allowed", path, strings.Join(unknown, ", ")))
	}
	return errs
}

func (sh shape) word() string {
	if sh.kind == "map" {
		return "object"
	}
	return sh.kind
}

func (sh shape) wrong(path string, v any) []string {
	got := "object"
	switch v.(type) {
	case string:
		got = "string"
	case bool:
		got = "boolean"
	case json.Number:
		got = "number"
	case []any:
		got = "array"
	}
	return []string{fmt.Sprintf("%s: got %s, want %s", path, got, sh.word())}
}

// decode checks a body against its shape and reads it into v.
func decode(body []byte, sh shape, v any) (reply, bool) {
	in := json.NewDecoder(bytes.NewReader(body))
	in.UseNumber()
	var raw any
	if err := in.Decode(&raw); err != nil {
		return unprocessable("$: not valid JSON"), false
	}
	if _, err := in.Token(); err != io.EOF {
		return unprocessable("$: more than one JSON value"), false
	}
	if errs := sh.check("$", raw); len(errs) > 0 {
		return unprocessable(errs...), false
	}
	if err := json.Unmarshal(body, v); err != nil {
		return unprocessable("$: " + err.Error()), false
	}
	return reply{}, true
}
