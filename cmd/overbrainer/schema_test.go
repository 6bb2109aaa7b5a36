package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaDir holds the published forms.
const schemaDir = "../../docs/schemas"

// strictSchemas compiles the published schemas, closed: what a schema does not
// describe is an error, so that a document cannot grow unseen.
func strictSchemas() (map[string]*jsonschema.Schema, error) {
	files, err := filepath.Glob(filepath.Join(schemaDir, "*.schema.json"))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		if err := c.AddResource("mem:///"+filepath.Base(file), closed(doc)); err != nil {
			return nil, err
		}
	}
	out := map[string]*jsonschema.Schema{}
	for _, file := range files {
		name := filepath.Base(file)
		if out[strings.TrimSuffix(name, ".schema.json")], err = c.Compile("mem:///" + name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// closed forbids in every object what it does not describe.
func closed(v any) any {
	switch x := v.(type) {
	case []any:
		for i := range x {
			x[i] = closed(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = closed(x[k])
		}
		_, described := x["properties"].(map[string]any)
		if _, said := x["additionalProperties"]; described && !said && (x["type"] == "object" || x["$schema"] != nil) {
			x["additionalProperties"] = false
		}
	}
	return v
}

// schema NAME FILE checks every line of a file against a published schema.
func schema(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: schema NAME FILE")
	}
	all, err := strictSchemas()
	ts.Check(err)
	s := all[args[0]]
	if s == nil {
		ts.Fatalf("there is no schema %s", args[0])
	}
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile(args[1]), "\n"), "\n")
	if args[0] == "error" { // it is the last line of the standard error
		lines = lines[len(lines)-1:]
	}
	for i, line := range lines {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err != nil {
			ts.Fatalf("line %d is no JSON: %v\n%s", i+1, err, line)
		}
		if err := s.Validate(doc); err != nil {
			ts.Fatalf("line %d: %v\n%.2000s", i+1, err, line)
		}
	}
}

// TestSchemasSayTheVersion: what is published begins with its version.
func TestSchemasSayTheVersion(t *testing.T) {
	for _, name := range []string{"plan", "state", "validate", "events"} {
		data, err := os.ReadFile(filepath.Join(schemaDir, name+".schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string]any
		if err := json.Unmarshal(data, &doc); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Contains(data, []byte(`"format_version"`)) {
			t.Errorf("%s has no format_version", name)
		}
	}
	if _, err := strictSchemas(); err != nil {
		t.Error(err)
	}
}
