package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// materials writes what is built in, as CycloneDX JSON.
func (r *release) materials(ctx context.Context, binary, name string) error {
	path := filepath.Join(r.dist, name+".cdx.json")
	cmd := command(ctx, "go", "tool", "cyclonedx-gomod", "bin", "-json", "-std", "-noserial", "-notimestamp",
		"-version", r.version, "-output", path, binary)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cyclonedx-gomod: %w\n%s", err, out)
	}
	bill, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if bill, err = withLicences(bill, r.names); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, bill, 0o644)
}

// withLicences adds to each component of a bill of materials the licences that
// are known of it.
func withLicences(bill []byte, names map[string][]string) ([]byte, error) {
	var doc map[string]any
	d := json.NewDecoder(bytes.NewReader(bill))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		return nil, err
	}
	components, ok := doc["components"].([]any)
	if !ok {
		return nil, fmt.Errorf("it lists no components")
	}
	for _, c := range components {
		component, _ := c.(map[string]any)
		name, _ := component["name"].(string)
		var licences []any
		for _, id := range names[name] {
			licences = append(licences, map[string]any{"license": map[string]any{"id": id}})
		}
		if licences != nil {
			component["licenses"] = licences
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(doc)
	return b.Bytes(), err
}
