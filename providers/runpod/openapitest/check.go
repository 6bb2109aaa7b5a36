package openapitest

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Request checks a request: path and method exist, every query parameter is
// defined there with such a value, and the body fits its schema. path begins
// with /v2, escaped as sent.
func (s *Spec) Request(method, path string, query url.Values, body []byte) error {
	op, err := s.find(method, path)
	if err != nil {
		return err
	}
	if err := s.query(op, query); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	raw, wants := op.node["requestBody"].(map[string]any)
	switch {
	case !wants && len(body) > 0:
		return fmt.Errorf("%s %s takes no body", method, path)
	case !wants:
		return nil
	}
	pointer, _ := op.doc.resolve(op.pointer+"/requestBody", raw)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s %s: body: %w", method, path, err)
	}
	if err := s.validate(op.doc, pointer+"/content/application~1json/schema", value); err != nil {
		return fmt.Errorf("%s %s: body: %w", method, path, err)
	}
	return nil
}

// query checks parameters. The API ignores names that it does not know, so a
// mistyped one would go unnoticed.
func (s *Spec) query(op operation, query url.Values) error {
	known := map[string]string{}
	for _, at := range []struct {
		node    map[string]any
		pointer string
	}{{op.path, op.pointer[:strings.LastIndexByte(op.pointer, '/')]}, {op.node, op.pointer}} {
		list, _ := at.node["parameters"].([]any)
		for i, raw := range list {
			node, _ := raw.(map[string]any)
			pointer, node := op.doc.resolve(at.pointer+"/parameters/"+strconv.Itoa(i), node)
			if node["in"] == "query" {
				known[fmt.Sprint(node["name"])] = pointer
			}
		}
	}
	for name, values := range query {
		pointer, ok := known[name]
		if !ok {
			return fmt.Errorf("query parameter %q is not defined", name)
		}
		if err := s.parameter(op.doc, pointer+"/schema", values); err != nil {
			return fmt.Errorf("query parameter %s=%s: %w", name, strings.Join(values, ","), err)
		}
	}
	return nil
}

// parameter checks a value in the forms that text can stand for.
func (s *Spec) parameter(d *document, pointer string, values []string) error {
	text := strings.Join(values, ",")
	forms := []any{text}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		forms = append(forms, n)
	}
	if b, err := strconv.ParseBool(text); err == nil {
		forms = append(forms, b)
	}
	var list []any
	for _, part := range strings.Split(text, ",") {
		list = append(list, part)
	}
	forms = append(forms, list)
	var first error
	for _, form := range forms {
		err := s.validate(d, pointer, form)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// Answer checks an answer to a request: its status is declared, its content
// type belongs to it, and the body fits its schema.
func (s *Spec) Answer(method, path string, status int, contentType string, body []byte) error {
	op, err := s.find(method, path)
	if err != nil {
		// What is no part of the API can only be refused.
		if status == http.StatusNotFound || status == http.StatusMethodNotAllowed {
			return nil
		}
		return err
	}
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%s %s: answer %d: "+format, append([]any{method, path, status}, args...)...)
	}
	responses, _ := op.node["responses"].(map[string]any)
	key := strconv.Itoa(status)
	if responses[key] == nil {
		if status < 400 || responses["default"] == nil {
			return fail("this status is not declared")
		}
		key = "default"
	}
	raw, _ := responses[key].(map[string]any)
	pointer, node := op.doc.resolve(op.pointer+"/responses/"+key, raw)
	content, _ := node["content"].(map[string]any)
	if len(content) == 0 {
		if len(body) > 0 {
			return fail("it has a body")
		}
		return nil
	}
	kind, _, _ := mime.ParseMediaType(contentType)
	if content[kind] == nil {
		return fail("content type %q is not declared", contentType)
	}
	if kind == "text/event-stream" {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fail("body: %w", err)
	}
	if err := s.validate(op.doc, pointer+"/content/"+escape(kind)+"/schema", value); err != nil {
		return fail("body: %w", err)
	}
	return nil
}
