package state

import (
	"reflect"
	"testing"
	"time"
)

// TestCopySharesNothing: whoever changes what was read changes nothing for
// those who read it before or after.
func TestCopySharesNothing(t *testing.T) {
	s := &State{}
	fillAll(reflect.ValueOf(s).Elem())
	c := s.copy()
	if !reflect.DeepEqual(s, c) {
		t.Errorf("the copy differs:\n%+v\n%+v", s, c)
	}
	if n := apart(t, "state", reflect.ValueOf(s), reflect.ValueOf(c)); n < 20 {
		t.Errorf("only %d places were compared", n)
	}
}

// fillAll gives every field a value.
func fillAll(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillAll(v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0).UTC()))
			return
		}
		for i := range v.NumField() {
			fillAll(v.Field(i))
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fillAll(key)
		fillAll(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillAll(v.Index(0))
	case reflect.String:
		v.SetString("x")
	}
}

// apart fails where both hold the same thing, and counts the places.
func apart(t *testing.T, where string, a, b reflect.Value) (n int) {
	switch a.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if a.IsNil() {
			t.Errorf("%s was not filled", where)
			return 0
		}
		if n++; a.Pointer() == b.Pointer() {
			t.Errorf("%s is shared", where)
		}
	}
	switch a.Kind() {
	case reflect.Pointer:
		n += apart(t, where, a.Elem(), b.Elem())
	case reflect.Struct:
		if a.Type() == reflect.TypeFor[time.Time]() {
			break
		}
		for i := range a.NumField() {
			n += apart(t, where+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
		}
	case reflect.Map:
		for _, key := range a.MapKeys() {
			n += apart(t, where+"[]", a.MapIndex(key), b.MapIndex(key))
		}
	case reflect.Slice:
		for i := range a.Len() {
			n += apart(t, where+"[]", a.Index(i), b.Index(i))
		}
	}
	return n
}
