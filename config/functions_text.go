package config

import (
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// textFunctions turn text into other forms of it, and compare times.
func textFunctions() map[string]function.Function {
	return map[string]function.Function{
		"base64gzip":       simple(gzipped),
		"base64gunzip":     simple(gunzipped),
		"textencodebase64": pair("encoding", textEncoded),
		"textdecodebase64": pair("encoding", textDecoded),
		"uuidv5":           pair("name", uuidv5),
		"pathexpand":       simple(pathExpanded),
		"timecmp": function.New(&function.Spec{
			Params: []function.Parameter{{Name: "a", Type: cty.String}, {Name: "b", Type: cty.String}},
			Type:   function.StaticReturnType(cty.Number),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				var at [2]time.Time
				for i, arg := range args {
					t, err := time.Parse(time.RFC3339, arg.AsString())
					if err != nil {
						return cty.NilVal, function.NewArgErrorf(i, "a time like 2026-01-02T15:04:05Z is required")
					}
					at[i] = t
				}
				return cty.NumberIntVal(int64(at[0].Compare(at[1]))), nil
			},
		}),
	}
}

// pair makes a function of two strings that gives a string.
func pair(second string, impl func(a, b string) (string, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "str", Type: cty.String}, {Name: second, Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			s, err := impl(args[0].AsString(), args[1].AsString())
			return cty.StringVal(s), err
		},
	})
}

func gzipped(s string) (string, error) {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	_, err := io.WriteString(w, s)
	err = errors.Join(err, w.Close())
	return base64.StdEncoding.EncodeToString(buf.Bytes()), err
}

func gunzipped(s string) (string, error) {
	r, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(s)))
	if err != nil {
		return "", errors.New("the text is not gzip in base64")
	}
	data, err := io.ReadAll(io.LimitReader(r, maxMade+1))
	switch {
	case err != nil:
		return "", errors.New("the text is not gzip in base64")
	case len(data) > maxMade:
		return "", errors.New("the result would be too large")
	case !utf8.Valid(data):
		return "", errors.New("the unpacked bytes are not text in UTF-8")
	}
	return string(data), nil
}

// textForms are the encodings that programs which do not take UTF-8 ask for.
var textForms = map[string]binary.ByteOrder{"UTF-8": nil, "UTF-16LE": binary.LittleEndian, "UTF-16BE": binary.BigEndian}

func textForm(name string) (binary.ByteOrder, error) {
	order, ok := textForms[strings.ToUpper(name)]
	if !ok {
		return nil, function.NewArgErrorf(1, "the encoding must be UTF-8, UTF-16LE or UTF-16BE")
	}
	return order, nil
}

func textEncoded(s, encoding string) (string, error) {
	order, err := textForm(encoding)
	if err != nil {
		return "", err
	}
	data := []byte(s)
	if order != nil {
		data = nil
		for _, unit := range utf16.Encode([]rune(s)) {
			pair := make([]byte, 2)
			order.PutUint16(pair, unit)
			data = append(data, pair...)
		}
	}
	return base64.StdEncoding.EncodeToString(data), nil
}

func textDecoded(s, encoding string) (string, error) {
	order, err := textForm(encoding)
	if err != nil {
		return "", err
	}
	data, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return "", function.NewArgErrorf(0, "the text is not base64")
	}
	if order == nil {
		if !utf8.Valid(data) {
			return "", errors.New("the decoded bytes are not text in UTF-8")
		}
		return string(data), nil
	}
	if len(data)%2 != 0 {
		return "", fmt.Errorf("text in %s has an even number of bytes", strings.ToUpper(encoding))
	}
	var units []uint16
	for i := 0; i < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	return string(utf16.Decode(units)), nil
}

// uuidSpaces are the name spaces of RFC 9562 by their usual words.
var uuidSpaces = map[string]string{
	"dns": "6ba7b8109dad11d180b400c04fd430c8", "url": "6ba7b8119dad11d180b400c04fd430c8",
	"oid": "6ba7b8129dad11d180b400c04fd430c8", "x500": "6ba7b8149dad11d180b400c04fd430c8",
}

// uuidv5 gives the UUID that a name has in a name space: always the same.
func uuidv5(space, name string) (string, error) {
	digits, ok := uuidSpaces[space]
	if !ok {
		digits = strings.ReplaceAll(space, "-", "")
	}
	id, err := hex.DecodeString(digits)
	if err != nil || len(id) != 16 {
		return "", function.NewArgErrorf(0, "the name space must be dns, url, oid, x500 or a UUID")
	}
	sum := sha1.Sum(append(id, name...))
	u := sum[:16]
	u[6] = u[6]&0x0f | 0x50 // version 5
	u[8] = u[8]&0x3f | 0x80 // variant
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:]), nil
}

// pathExpanded puts the home directory in the place of a leading ~.
func pathExpanded(name string) (string, error) {
	rest, ok := strings.CutPrefix(name, "~")
	if !ok || rest != "" && !os.IsPathSeparator(rest[0]) {
		return name, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("the home directory is not known")
	}
	return filepath.Join(home, rest), nil
}
