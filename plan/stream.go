package plan

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"io"
	"reflect"
	"slices"
	"strings"
)

// WriteJSON writes the plan as one document on one line, without a line break at
// its end. The same plan gives the same bytes.
func (p *Plan) WriteJSON(w io.Writer) error { return stream(w, p.told(), false) }

// oneLine encodes without HTML escapes and without a line break.
func oneLine(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}

// stream writes v as package json encodes it, with HTML escapes or without, but
// never has all of it in memory: a document of ten thousand runs is large. It
// writes the fields of structs one by one, and so the elements of their lists
// and maps, each of which is encoded at once.
func stream(w io.Writer, v any, escape bool) error {
	s := &streamer{w: bufio.NewWriter(w)}
	s.enc = json.NewEncoder(&s.part)
	s.enc.SetEscapeHTML(escape)
	s.value(reflect.ValueOf(v))
	if s.err != nil {
		return s.err
	}
	return s.w.Flush()
}

// streamer writes a document in parts. Its first error stays.
type streamer struct {
	w    *bufio.Writer
	enc  *json.Encoder // to part
	part bytes.Buffer
	err  error
}

func (s *streamer) text(t string) {
	if s.err == nil {
		_, s.err = s.w.WriteString(t)
	}
}

// whole writes what is encoded at once.
func (s *streamer) whole(v any) {
	if s.err != nil {
		return
	}
	s.part.Reset()
	if s.err = s.enc.Encode(v); s.err == nil {
		_, s.err = s.w.Write(bytes.TrimSuffix(s.part.Bytes(), []byte("\n")))
	}
}

func (s *streamer) value(v reflect.Value) {
	if encodesItself(v.Type()) {
		s.whole(v.Interface())
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			s.value(v.Elem())
			return
		}
	case reflect.Struct:
		s.text("{")
		s.fields(v, "")
		s.text("}")
		return
	case reflect.Slice:
		if !v.IsNil() && v.Type().Elem().Kind() != reflect.Uint8 {
			s.list(v)
			return
		}
	case reflect.Map:
		if !v.IsNil() && v.Type().Key().Kind() == reflect.String {
			s.entries(v)
			return
		}
	}
	s.whole(v.Interface())
}

func (s *streamer) list(v reflect.Value) {
	s.text("[")
	for i := range v.Len() {
		if i > 0 {
			s.text(",")
		}
		s.whole(v.Index(i).Interface())
	}
	s.text("]")
}

func (s *streamer) entries(v reflect.Value) {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	s.text("{")
	for i, key := range keys {
		if i > 0 {
			s.text(",")
		}
		s.whole(key.String())
		s.text(":")
		s.whole(v.MapIndex(key).Interface())
	}
	s.text("}")
}

// fields writes what a struct holds, embedded ones in their place, and gives
// what stands before the next one.
func (s *streamer) fields(v reflect.Value, before string) string {
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		if field.Anonymous {
			before = s.fields(reflect.Indirect(value), before)
			continue
		}
		name, option, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || !field.IsExported() || option == "omitempty" && empty(value) || option == "omitzero" && value.IsZero() {
			continue
		}
		s.text(before)
		s.whole(cmp.Or(name, field.Name))
		s.text(":")
		s.value(value)
		before = ","
	}
	return before
}

func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

func encodesItself(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}
