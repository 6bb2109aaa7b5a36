package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// module is one that is built in.
type module struct {
	Path, Version, Dir string
	key                string // what a bill of materials calls it
}

// licences finds the licences of everything that is built in on any platform,
// and gives what that is, in order. A module without a licence that is known here
// is an error: somebody has to look at it.
func (r *release) licences(ctx context.Context) ([]module, error) {
	goenv := command(ctx, "go", "env", "GOVERSION", "GOROOT")
	goenv.Dir = r.source
	out, err := goenv.Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	goVersion, goRoot, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	modules := map[string]module{"std": {Path: "The Go standard library", Version: goVersion, Dir: goRoot}}
	for _, platform := range platforms {
		if err := r.modules(ctx, platform, modules); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	var errs []error
	var found []module
	r.names = map[string][]string{}
	b.WriteString("overbrainer is built with the following modules.\n")
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		m := modules[path]
		files, err := licenceFiles(m.Dir)
		if err == nil && len(files) == 0 {
			err = errors.New("it has no licence file")
		}
		var names []string
		for _, text := range files {
			if name := licenceName(text); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if err == nil && len(names) == 0 {
			err = errors.New("its licence is none that is known here: look at it, then add it to licences.go")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", m.Path, m.Version, err))
			continue
		}
		m.key, r.names[path] = path, names
		found = append(found, m)
		fmt.Fprintf(&b, "\n%s\n%s %s (%s)\n%[1]s\n", strings.Repeat("=", 78), m.Path, m.Version, strings.Join(names, ", "))
		for _, text := range files {
			fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(text))
		}
	}
	r.licence = b.Bytes()
	return found, errors.Join(errs...)
}

// modules adds what a platform's program is built of.
func (r *release) modules(ctx context.Context, platform string, to map[string]module) error {
	goos, goarch, _ := strings.Cut(platform, "/")
	cmd := command(ctx, "go", "list", "-deps", "-json=Module", "./cmd/overbrainer")
	cmd.Dir, cmd.Env = r.source, append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w\n%s", err, problems.Bytes())
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Module *struct {
				module
				Main bool
			}
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if p.Module != nil && !p.Module.Main {
			to[p.Module.Path] = p.Module.module
		}
	}
}

// licenceFiles reads the licences and notices at the top of a module.
func licenceFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE"}, func(p string) bool { return strings.HasPrefix(name, p) }) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, string(text))
	}
	return out, nil
}

// known licences by words that only they have, the more particular first.
var known = []struct{ name, words string }{
	{"Apache-2.0", "apache license version 2.0"},
	{"MPL-2.0", "mozilla public license version 2.0"},
	{"MPL-2.0", "mozilla public license, version 2.0"},
	{"ISC", "permission to use, copy, modify, and distribute this software for any purpose with or without fee"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose with or without fee"},
	{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"BSD-3-Clause", "neither the name of"},
	{"BSD-2-Clause", "redistribution and use in source and binary forms, with or without modification"},
}

// licenceName gives the SPDX name of a licence by its text, "" if it is not
// known here.
func licenceName(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	for _, k := range known {
		if strings.Contains(text, k.words) {
			return k.name
		}
	}
	return ""
}
