package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/runpod"
)

// block is a fenced block of a Markdown file.
type block struct {
	lang, mark string // the words behind the fence: what it is, and what to do with it
	text       string
	line       int // of its first line, from 1
}

// blocks finds the fenced blocks of a text, those in lists too.
func blocks(text string) []block {
	var out []block
	var now *block
	indent := ""
	for i, line := range strings.Split(text, "\n") {
		mark, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && now == nil:
			indent, _, _ = strings.Cut(line, "`")
			now = &block{line: i + 2}
			now.lang, now.mark, _ = strings.Cut(mark, " ")
		case fence:
			out, now = append(out, *now), nil
		case now != nil:
			now.text += strings.TrimPrefix(line, indent) + "\n"
		}
	}
	return out
}

// TestShownConfigurationsAreValid: a block of HCL in a document is a whole
// configuration, without a warning; one marked "fragment" is one beside a
// provider, a target and a cap; one marked with a name ending in vars.hcl holds
// values of variables.
func TestShownConfigurationsAreValid(t *testing.T) {
	shown := 0
	for _, file := range documents(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks(string(data)) {
			if b.lang != "hcl" {
				continue
			}
			shown++
			name := fmt.Sprintf("%s:%d", strings.TrimPrefix(filepath.ToSlash(file), "../../"), b.line)
			t.Run(name, func(t *testing.T) { checkShown(t, b) })
		}
	}
	if shown < 20 {
		t.Errorf("only %d configurations were found: the search is broken", shown)
	}
}

func checkShown(t *testing.T, b block) {
	t.Helper()
	file, diags := hclsyntax.ParseConfig([]byte(b.text), "overbrainer.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if strings.HasSuffix(b.mark, "vars.hcl") {
		return
	}
	text := b.text
	switch b.mark {
	case "", "overbrainer.hcl":
	case "fragment":
		text += "\n" + missing(file.Body.(*hclsyntax.Body))
	default:
		t.Fatalf("nobody knows what %q behind the fence means", b.mark)
	}
	dir := t.TempDir()
	for _, name := range []string{"train.py", "prepare.py", "overbrainer_job.py", "axolotl.yaml", "data/iris.csv", "data/train.jsonl"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "overbrainer.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, diags = config.Load(context.Background(), dir, config.Options{Schema: shownSchema, Vars: config.Vars{MayMiss: true}})
	for _, d := range diags {
		t.Errorf("%s: %s: %s", d.Subject, d.Summary, d.Detail)
	}
}

// beside is what a fragment may leave out.
var beside = map[string]string{
	`provider`: `provider "runpod" {}`,
	`target gpu`: `target "gpu" {
  gpu_types          = "auto"
  min_vram_gb        = 24
  max_price_per_hour = 0.80
  image              = "runpod/pytorch:1.0.2-cu1281-torch280-ubuntu2404"
}`,
	`cap evening`: `cap "evening" {
  max_hours    = 6
  max_cost_usd = 4
}`,
}

// missing gives what stands beside a fragment in a whole configuration.
func missing(body *hclsyntax.Body) string {
	has := map[string]bool{}
	for _, b := range body.Blocks {
		has[b.Type] = true
		has[strings.Join(append([]string{b.Type}, b.Labels...), " ")] = true
	}
	out := ""
	for _, name := range []string{"provider", "target gpu", "cap evening"} {
		if !has[name] {
			out += beside[name] + "\n"
		}
	}
	return out
}

// shownSchema knows the bundled provider's arguments, and takes the one of the
// example by others.
func shownSchema(ctx context.Context, name string) (providers.Schema, error) {
	switch name {
	case "runpod":
		d, err := runpod.New(runpod.Options{Version: "1.0.0"}).Describe(ctx)
		return d.Schema, err
	case "local":
		return providers.Schema{Attributes: []providers.Attribute{{Name: "speed", Type: providers.Number}}}, nil
	}
	return providers.Schema{}, fmt.Errorf("there is none")
}

// TestShownBlocksAreFound: what is not found would never be wrong.
func TestShownBlocksAreFound(t *testing.T) {
	text := "a\n```hcl fragment\nx = 1\n```\n\n- b\n\n  ```sh\n  make x\n    y\n  ```\n"
	got := fmt.Sprint(blocks(text))
	want := fmt.Sprint([]block{{"hcl", "fragment", "x = 1\n", 3}, {"sh", "", "make x\n  y\n", 9}})
	if got != want {
		t.Errorf("%s, not %s", got, want)
	}
}
