// Package openapitest checks requests and answers against Runpod's published
// API description, where a copy of it is at hand. Both the client's and the
// simulator's tests use it, so that neither can drift from the API unnoticed
// along with the other.
package openapitest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// sharedVariable names the directory with the descriptions, in its runpod/.
const sharedVariable = "OVERBRAINER_SHARED"

// Spec is the API's description with our amendments.
type Spec struct {
	documents []*document
	compiler  *jsonschema.Compiler

	mu       sync.Mutex
	compiled map[string]*jsonschema.Schema
}

// document is one OpenAPI file.
type document struct {
	name string
	root map[string]any
}

// Load reads the descriptions. Without a copy of them the test is skipped.
func Load(tb testing.TB) *Spec {
	tb.Helper()
	dir := Directory()
	if dir == "" {
		tb.Skipf("no copy of the API's description: neither %s nor a directory shared beside the repository holds runpod/openapi.json", sharedVariable)
	}
	s, err := read(dir)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// Directory is where the descriptions lie, "" without them: in
// $OVERBRAINER_SHARED/runpod, or in shared/runpod beside the repository.
func Directory() string {
	candidates := []string{os.Getenv(sharedVariable)}
	for dir, err := os.Getwd(); err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			candidates = append(candidates, filepath.Join(filepath.Dir(dir), "shared"))
			break
		}
	}
	for _, c := range candidates {
		dir := filepath.Join(c, "runpod")
		if _, err := os.Stat(filepath.Join(dir, "openapi.json")); c != "" && err == nil {
			return dir
		}
	}
	return ""
}

func read(dir string) (*Spec, error) {
	s := &Spec{compiler: jsonschema.NewCompiler(), compiled: map[string]*jsonschema.Schema{}}
	s.compiler.DefaultDraft(jsonschema.Draft2020)
	s.compiler.AssertFormat()
	for _, name := range []string{"openapi.json", "openapi-secrets.json"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		var root map[string]any
		if err := json.Unmarshal(data, &root); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		d := &document{name: name, root: root}
		for _, a := range Amendments {
			if a.document == name {
				a.apply(root)
			}
		}
		if err := s.compiler.AddResource("file:///"+name, root); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s.documents = append(s.documents, d)
	}
	return s, nil
}

// operation is a method on a path, with where it stands in its document.
type operation struct {
	doc     *document
	pointer string // JSON pointer of the operation
	node    map[string]any
	path    map[string]any // the path's node, for parameters that all methods share
}

// find looks an operation up by a request's path.
func (s *Spec) find(method, path string) (operation, error) {
	known := false
	for _, d := range s.documents {
		paths, _ := d.root["paths"].(map[string]any)
		for template, raw := range paths {
			if !matches(template, path) {
				continue
			}
			known = true
			node, _ := raw.(map[string]any)
			op, ok := node[strings.ToLower(method)].(map[string]any)
			if ok {
				pointer := "/paths/" + escape(template) + "/" + strings.ToLower(method)
				return operation{doc: d, pointer: pointer, node: op, path: node}, nil
			}
		}
	}
	if known {
		return operation{}, fmt.Errorf("%s is no method of %s", method, path)
	}
	return operation{}, fmt.Errorf("the API has no path %s", path)
}

// matches compares a path with a template; {name} stands for one segment.
func matches(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if !strings.HasPrefix(want[i], "{") && want[i] != got[i] || got[i] == "" && i > 0 {
			return false
		}
	}
	return true
}

func escape(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
}

// resolve follows a reference within a document.
func (d *document) resolve(pointer string, node map[string]any) (string, map[string]any) {
	for {
		ref, ok := node["$ref"].(string)
		if !ok {
			return pointer, node
		}
		pointer = strings.TrimPrefix(ref, "#")
		var at any = d.root
		for _, part := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
			m, _ := at.(map[string]any)
			at = m[strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")]
		}
		node, _ = at.(map[string]any)
	}
}

// validate checks a value against the schema at a place of a document.
func (s *Spec) validate(d *document, pointer string, value any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	location := "file:///" + d.name + "#" + strings.ReplaceAll(pointer, "%", "%25")
	schema := s.compiled[location]
	if schema == nil {
		var err error
		if schema, err = s.compiler.Compile(location); err != nil {
			return err
		}
		s.compiled[location] = schema
	}
	return schema.Validate(value)
}
