package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// uploadsOf loads one run with the upload and tells what it selects.
func uploadsOf(t *testing.T, upload string, files map[string]string, prepare func(dir string)) ([]string, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	data := map[string][]byte{MainFile: []byte(base + run("a", "upload = "+upload))}
	for name, text := range files {
		data[name] = []byte(text)
	}
	write(t, dir, data)
	if prepare != nil {
		prepare(dir)
	}
	cfg, diags := Load(t.Context(), dir, with(Options{}))
	var out []string
	if r := cfg.Run("run.a"); r != nil {
		for _, up := range r.Uploads {
			s := up.Path
			if up.Source != up.Path {
				s += "<" + up.Source
			}
			if up.Exec {
				s += "*"
			}
			out = append(out, s)
		}
	}
	return out, string(show(diags, dir))
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Skip("no symbolic links here:", err)
	}
}

func TestUploads(t *testing.T) {
	files := map[string]string{
		"a.py": "1", "b.txt": "2", "sub/c.py": "3", "sub/deep/d.py": "4", ".git/config": "x", ".venv/lib.py": "x",
		"runs/old/run.json": "x", "overbrainer.state.json": "x", "overbrainer.vars.hcl": "", ".env": "SECRET=1", ".overbrainer/cache/x": "x", "sub/skip/e.py": "5",
		".overbrainerignore": "skip/\n!.venv/\n",
	}
	for _, c := range []struct {
		name, upload string
		want         []string
	}{
		{"everything", `["**"]`, []string{".venv/lib.py", "a.py", "b.txt", "sub/c.py", "sub/deep/d.py"}},
		{"one directory", `["sub"]`, []string{"sub/c.py", "sub/deep/d.py"}},
		{"a single string", `"a.py"`, []string{"a.py"}},
		{"taken away", `["**/*.py", "!sub/**", ".env"]`, []string{".env", ".venv/lib.py", "a.py"}},
		{"taken back", `["sub/**", "!sub/**", "sub/c.py"]`, []string{"sub/c.py"}},
		{"alternatives", `["{a,b}.*"]`, []string{"a.py", "b.txt"}},
		{"twice", `["a.py", "*.py"]`, []string{"a.py"}},
		{"none", `[]`, nil},
		{"named though left out", `["overbrainer.vars.hcl"]`, []string{"overbrainer.vars.hcl"}},
		{"map", `{ "main.py" = "a.py", "lib" = "sub", "t/" = "b.txt", "x" = "sub/deep/*.py" }`,
			[]string{"lib/c.py<sub/c.py", "lib/deep/d.py<sub/deep/d.py", "main.py<a.py", "t/b.txt<b.txt", "x/d.py<sub/deep/d.py"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, diags := uploadsOf(t, c.upload, files, nil)
			if strings.Contains(diags, "error") || !slices.Equal(got, c.want) {
				t.Errorf("got %q\n%s", got, diags)
			}
		})
	}
}

func TestUploadLinks(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, map[string][]byte{"secret": []byte("x")})
	files := map[string]string{"real/a.py": "1"}
	got, diags := uploadsOf(t, `["**"]`, files, func(dir string) {
		link(t, "real/a.py", filepath.Join(dir, "inside.py"))
		link(t, "real", filepath.Join(dir, "also"))
		link(t, "..", filepath.Join(dir, "real", "up"))
	})
	if want := []string{"also/a.py", "inside.py", "real/a.py"}; diags != "" || !slices.Equal(got, want) {
		t.Errorf("got %q\n%s", got, diags)
	}
	for name, c := range map[string]struct {
		upload string
		make   func(dir string)
		want   string
	}{
		"directory outside": {`["**"]`, func(dir string) { link(t, outside, filepath.Join(dir, "home")) }, "home is a link that leads out of the project"},
		"file outside":      {`["out"]`, func(dir string) { link(t, filepath.Join(outside, "secret"), filepath.Join(dir, "out")) }, "out is a link that leads out of the project"},
		"through a link":    {`["home/secret"]`, func(dir string) { link(t, outside, filepath.Join(dir, "home")) }, "home/secret is a link that leads out of the project"},
		"by a map":          {`{ x = "home/secret" }`, func(dir string) { link(t, outside, filepath.Join(dir, "home")) }, "leads out of the project"},
		"to nothing":        {`["**"]`, func(dir string) { link(t, "absent", filepath.Join(dir, "dead")) }, "dead is a link to nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			got, diags := uploadsOf(t, c.upload, files, c.make)
			if !strings.Contains(diags, c.want) || len(got) != 0 {
				t.Errorf("got %q\n%s", got, diags)
			}
		})
	}
	// What is left out cannot lead out.
	got, diags = uploadsOf(t, `["**", "!home"]`, files, func(dir string) { link(t, outside, filepath.Join(dir, "home")) })
	if strings.Contains(diags, "error") || !slices.Equal(got, []string{"real/a.py"}) {
		t.Errorf("got %q\n%s", got, diags)
	}
}

func TestUploadExecutableBit(t *testing.T) {
	var fingerprints []string
	for _, mode := range []os.FileMode{0o644, 0o600, 0o755, 0o700} {
		dir := filepath.Join(t.TempDir(), "project")
		write(t, dir, map[string][]byte{MainFile: []byte(base + run("a", `upload = ["run.sh"]`)), "run.sh": []byte("x")})
		if err := os.Chmod(filepath.Join(dir, "run.sh"), mode); err != nil {
			t.Fatal(err)
		}
		cfg, diags := Load(t.Context(), dir, with(Options{}))
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		fingerprints = append(fingerprints, cfg.Run("run.a").Fingerprint)
	}
	if fingerprints[0] != fingerprints[1] || fingerprints[2] != fingerprints[3] || fingerprints[0] == fingerprints[2] {
		t.Error("of a file's mode the executable bit counts, and nothing else")
	}
}

func TestUploadTooMuch(t *testing.T) {
	prepare := func(dir string) {
		f, err := os.Create(filepath.Join(dir, "big.bin"))
		if err == nil {
			err = errors.Join(f.Truncate(40e9), f.Close())
		}
		if err != nil {
			t.Skip("no sparse files here:", err)
		}
	}
	_, diags := uploadsOf(t, `["big.bin"]`, nil, prepare)
	if !strings.Contains(diags, "1 files with 40.0 GB") || !strings.Contains(diags, "max_upload_gb = 41") {
		t.Error(diags)
	}
}

// With very many files the inputs stay few, and the fingerprint exact.
func TestFileInputsAreBounded(t *testing.T) {
	set := &uploadSet{}
	for i := range 3000 {
		set.out = append(set.out, Upload{Path: fmt.Sprintf("d%d/e%d/f%d", i%10, i%100, i), SHA256: hashText(fmt.Sprint(i))})
	}
	in := set.fileInputs(50)
	if len(in) != 10 || in["files d3/"] == "" {
		t.Errorf("%d inputs", len(in))
	}
}

// Reading many small files takes no memory for each that only a large one needs.
func TestSmallFilesAreHashedInLittleMemory(t *testing.T) {
	const many = 400
	p := &program{dir: t.TempDir(), opt: &Options{}}
	var files []*treeFile
	for i := range many {
		name := fmt.Sprint(i)
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(p.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, &treeFile{path: name, info: info})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p.hashFiles(t.Context(), files)
	runtime.ReadMemStats(&after)
	for i, f := range files {
		if f.err != nil || f.sum != hashText(fmt.Sprint(i)) {
			t.Fatalf("file %d: %q, %v", i, f.sum, f.err)
		}
	}
	// With the race detector a pool gives away one in four for nothing.
	if each := (after.TotalAlloc - before.TotalAlloc) / many; each > 128<<10 {
		t.Errorf("%d bytes for each file", each)
	}
}
