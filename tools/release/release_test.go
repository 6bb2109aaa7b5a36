package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
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
