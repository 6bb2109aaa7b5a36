package config

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"
	"golang.org/x/tools/txtar"
)

// Whatever the text, Load ends, with a configuration or with diagnostics that
// have a place or a reason, and shows no sensitive value.
func FuzzLoad(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*/*.txtar")
	for _, path := range paths {
		if archive, err := txtar.ParseFile(path); err == nil {
			for _, file := range archive.Files {
				if file.Name == MainFile && len(file.Data) < 8<<10 {
					f.Add(file.Data)
				}
			}
		}
	}
	f.Add([]byte(whole))
	f.Add([]byte(`x = "${"${"${"`))
	f.Add([]byte("locals {\n a = <<EOT\n%{ for x in y ~}\n"))
	f.Add([]byte("locals { a = yamldecode(\"a: &a [1]\\nb: [*a, *a]\") }"))
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.py"), nil, 0o600); err != nil {
		f.Fatal(err)
	}
	prelude := []byte(base + "variable \"fuzz_token\" {\n  sensitive = true\n  default   = \"CANARY-77\"\n}\n")
	f.Fuzz(func(t *testing.T, text []byte) {
		opt := with(Options{Sources: map[string][]byte{"base.ob.hcl": prelude, MainFile: text}, Limit: 20 * time.Second, steps: 20_000, bytes: 8 << 20})
		cfg, diags := Load(t.Context(), dir, opt)
		if !bytes.Contains(text, []byte("nonsensitive")) && bytes.Contains(show(diags, dir), []byte("CANARY-77")) {
			t.Errorf("a sensitive value is shown:\n%s", show(diags, dir))
		}
		for _, d := range diags {
			if d.Summary == "" || d.Expression != nil {
				t.Errorf("%+v", d)
			}
			if bytes.Contains([]byte(d.Detail), []byte("panic")) {
				t.Errorf("a panic: %s", d.Detail)
			}
		}
		if diags.HasErrors() {
			return
		}
		if _, diags := cfg.EvalOutputs(nil); diags.HasErrors() {
			t.Errorf("valid, and its outputs are not:\n%s", show(diags, dir))
		}
		cfg.EvalChecks(cty.NilVal, nil)
		for _, run := range cfg.Runs {
			if (run.Fingerprint == "") != (len(run.Late) > 0) {
				t.Errorf("%s: late %q, fingerprint %q", run.Address, run.Late, run.Fingerprint)
			}
		}
	})
}
