package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestArchivesAreReproducible: the same entries give the same bytes, whenever
// and wherever they are written.
func TestArchivesAreReproducible(t *testing.T) {
	entries := []entry{{name: "overbrainer", data: []byte("program"), mode: 0o755}, {name: "man/overbrainer.1", data: []byte("page"), mode: 0o644}}
	at := time.Unix(1764000000, 0).UTC()
	for name, write := range map[string]func(string, string, []entry, time.Time) error{"tar.gz": writeTar, "zip": writeZip} {
		var made [2][]byte
		for i := range made {
			path := filepath.Join(t.TempDir(), name)
			if err := write(path, "overbrainer_1", entries, at); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			made[i] = data
		}
		if len(made[0]) == 0 || !bytes.Equal(made[0], made[1]) {
			t.Errorf("%s: two writings differ", name)
		}
	}
}

// TestLicencesAreTold: a licence is known by its words however it is broken
// into lines, and another one is not taken for it.
func TestLicencesAreTold(t *testing.T) {
	for text, want := range map[string]string{
		"Mozilla Public License\nVersion 2.0\n":                                                                 "MPL-2.0",
		"Mozilla Public License Version 2.0\n==":                                                                "MPL-2.0",
		"                       Apache License\n  Version 2.0, January 2004":                                    "Apache-2.0",
		"Permission is hereby granted, free\nof charge, to any person obtaining a copy":                         "MIT",
		"Redistribution and use in source and binary forms, with or\nwithout modification. Neither the name of": "BSD-3-Clause",
		"GNU GENERAL PUBLIC LICENSE Version 3":                                                                  "",
	} {
		if got := licenceName(text); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

// TestMaterialsHaveLicences: what is known of a component stands in the bill,
// which else stays as it is.
func TestMaterialsHaveLicences(t *testing.T) {
	bill := `{"bomFormat": "CycloneDX", "version": 1, "components": [{"name": "a/b", "version": "v1"}, {"name": "c"}]}`
	got, err := withLicences([]byte(bill), map[string][]string{"a/b": {"MIT", "Apache-2.0"}})
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, got); err != nil {
		t.Fatal(err)
	}
	want := `{"bomFormat":"CycloneDX","components":[{"licenses":[{"license":{"id":"MIT"}},{"license":{"id":"Apache-2.0"}}],"name":"a/b","version":"v1"},{"name":"c"}],"version":1}`
	if compact.String() != want {
		t.Errorf("%s", compact.String())
	}
	if _, err := withLicences([]byte(`{}`), nil); err == nil {
		t.Error("a bill without components is none")
	}
}

// TestAMakingThatIsEndedLeavesNothingOutside: what it works in is below dist, where
// the next one removes it, and is gone already when it was asked to end.
func TestAMakingThatIsEndedLeavesNothingOutside(t *testing.T) {
	calls, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer calls.Close()
	dir := t.TempDir()
	source, temp, dist := filepath.Join(dir, "source"), filepath.Join(dir, "tmp"), filepath.Join(dir, "dist")
	// A program that calls when it is asked for its pages, and never answers.
	for name, text := range map[string]string{
		"source/go.mod": "module example.org/x\n",
		"source/cmd/overbrainer/main.go": `package main

import (
	"net"
	"os"
)

func main() {
	c, err := net.Dial("tcp", os.Getenv("RELEASE_TEST_CALLS"))
	if err == nil {
		_, _ = c.Read(make([]byte, 1))
	}
}
`, "tmp/.keep": ""} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("RELEASE_TEST_CALLS", calls.Addr().String())
	t.Setenv("SOURCE_DATE_EPOCH", "1764000000")
	t.Setenv("TMPDIR", temp)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		r := release{source: source, dist: dist, version: "v1"}
		ended <- r.make(ctx, "", "linux/amd64")
	}()
	began := make(chan net.Conn, 1)
	go func() {
		if c, err := calls.Accept(); err == nil {
			began <- c
		}
	}()
	select {
	case c := <-began:
		defer c.Close()
	case err := <-ended:
		t.Fatalf("it ended by itself: %v", err)
	}
	for _, name := range names(t, temp) {
		if name != ".keep" && !strings.HasPrefix(name, "go-") {
			t.Errorf("while it works there is %s in the temporary directory", name)
		}
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("a making that was ended has succeeded")
	}
	if left := names(t, dist); len(left) > 0 {
		t.Errorf("it left %q", left)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}
