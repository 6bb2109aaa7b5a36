package config

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/overbrainer/overbrainer/providers"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what is found as what is wanted")

// base is what most scenarios need besides their own file.
const base = `provider "runpod" {}

target "gpu" {
  gpu_types = ["NVIDIA A40"]
  image     = "registry.example/train:1.0"
}

cap "small" {
  max_hours = 1
}
`

// schema is a provider's form, small and like a real one.
func schema(_ context.Context, name string) (providers.Schema, error) {
	if name != "runpod" {
		return providers.Schema{}, fmt.Errorf("no plugin of this name is installed")
	}
	return providers.Schema{Attributes: []providers.Attribute{
		{Name: "api_key", Type: providers.String, Sensitive: true},
		{Name: "api_url", Type: providers.String},
		{Name: "cloud", Type: providers.String},
		{Name: "simulator", Type: providers.Bool},
	}}, nil
}

// scenario is a txtar: its comment holds directives, its files the project,
// and the file "want" the diagnostics. Directives: "base" adds the base
// configuration, "env NAME=VALUE", "var NAME=VALUE" and "version V" are given
// to Load.
type scenario struct {
	archive *txtar.Archive
	dir     string
	opt     Options
	want    []byte
}

func open(t testing.TB, path string) *scenario {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sc := &scenario{archive: archive, dir: filepath.Join(t.TempDir(), "project"), opt: Options{Version: "0.1.0", Schema: schema, Limit: time.Hour, steps: 100_000, bytes: 32 << 20}}
	files := map[string][]byte{}
	for line := range strings.Lines(string(archive.Comment)) {
		directive, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch directive {
		case "base":
			files["base.ob.hcl"] = []byte(base)
		case "env":
			sc.opt.Vars.Environ = append(sc.opt.Vars.Environ, arg)
		case "var":
			sc.opt.Vars.Flags = append(sc.opt.Vars.Flags, arg)
		case "version":
			sc.opt.Version = arg
		}
	}
	for _, f := range archive.Files {
		if f.Name == "want" {
			sc.want = f.Data
			continue
		}
		files[f.Name] = f.Data
	}
	write(t, sc.dir, files)
	return sc
}

func write(t testing.TB, dir string, files map[string][]byte) {
	t.Helper()
	for name, data := range files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// show writes diagnostics as the golden files hold them.
func show(diags hcl.Diagnostics, dir string) []byte {
	var b bytes.Buffer
	for _, d := range diags {
		kind := "error"
		if d.Severity == hcl.DiagWarning {
			kind = "warning"
		}
		where := ""
		if d.Subject != nil {
			where = fmt.Sprintf(" %s:%d,%d", d.Subject.Filename, d.Subject.Start.Line, d.Subject.Start.Column)
			if d.Subject.Start.Line == d.Subject.End.Line {
				where += fmt.Sprintf("-%d", d.Subject.End.Column)
			} else {
				where += fmt.Sprintf("-%d,%d", d.Subject.End.Line, d.Subject.End.Column)
			}
		}
		fmt.Fprintf(&b, "%s%s: %s\n  %s\n", kind, where, d.Summary, strings.ReplaceAll(d.Detail, dir, "DIR"))
	}
	return b.Bytes()
}

func TestMistakes(t *testing.T) {
	paths, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			sc := open(t, path)
			_, diags := Load(t.Context(), sc.dir, sc.opt)
			got := show(diags, sc.dir)
			for _, secret := range []string{"CANARY", "canary"} {
				if bytes.Contains(got, []byte(secret)) {
					t.Errorf("a sensitive value is shown:\n%s", got)
				}
			}
			for _, d := range diags {
				if d.Detail == "" || d.EvalContext != nil || d.Expression != nil {
					t.Errorf("%s: no detail, or values attached", d.Summary)
				}
			}
			if *update {
				rewrite(t, path, sc, got)
				return
			}
			if !bytes.Equal(got, sc.want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, sc.want)
			}
		})
	}
}

func rewrite(t *testing.T, path string, sc *scenario, got []byte) {
	files := []txtar.File{}
	for _, f := range sc.archive.Files {
		if f.Name != "want" {
			files = append(files, f)
		}
	}
	sc.archive.Files = append(files, txtar.File{Name: "want", Data: got})
	if err := os.WriteFile(path, txtar.Format(sc.archive), 0o644); err != nil {
		t.Fatal(err)
	}
}
