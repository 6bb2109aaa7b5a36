package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
)

func fmtCommand(a *app) *command {
	var check, diff, recursive bool
	return &command{
		name:     "fmt",
		synopsis: "put configuration files in canonical form",
		usage:    "[-check] [-diff] [-recursive] [FILE...]",
		text: `Rewrites the project's HCL files in the canonical form and names those that
		changed. FILE may be - for the standard input, which is written to the
		standard output.`,
		example: "$ overbrainer fmt -check -diff",
		exits:   []int{exitFormat},
		most:    -1,
		register: func(f *flags) {
			f.boolean(&check, "check", "write nothing; exit with 3 when something would change")
			f.boolean(&diff, "diff", "show what changes")
			f.boolean(&recursive, "recursive", "in directories below, too")
		},
		run: func(ctx context.Context, args []string) error {
			if len(args) == 1 && args[0] == standardStream {
				return a.formatInput(ctx, check)
			}
			files, err := a.hclFiles(args, recursive)
			if err != nil {
				return err
			}
			work := false
			for _, name := range files {
				changed, err := a.formatFile(name, check, diff)
				if err != nil {
					return err
				}
				work = work || changed
			}
			if work && check {
				return status(exitFormat)
			}
			return nil
		},
	}
}

func (a *app) formatInput(ctx context.Context, check bool) error {
	text, err := typed(ctx, func() ([]byte, error) { return io.ReadAll(a.in) })
	if err != nil {
		return err
	}
	formatted, err := format("standard input", text)
	if err != nil {
		return err
	}
	if check {
		if !bytes.Equal(text, formatted) {
			return status(exitFormat)
		}
		return nil
	}
	_, err = a.out.Write(formatted)
	return err
}

// format gives the canonical form of HCL that parses.
func format(name string, text []byte) ([]byte, error) {
	_, diags := hclsyntax.ParseConfig(text, name, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, &diagnosed{diags: diags, sources: map[string][]byte{name: text}}
	}
	return hclwrite.Format(text), nil
}

func (a *app) formatFile(name string, check, diff bool) (changed bool, err error) {
	path := a.path(name)
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return false, &problem{code: "file", message: name + " is no plain file, so it is not formatted"}
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return false, &problem{code: "file", message: fmt.Sprintf("%s: %v", name, reason(err))}
	}
	formatted, err := format(name, text)
	if err != nil || bytes.Equal(text, formatted) {
		return false, err
	}
	fmt.Fprintln(a.out, name)
	if diff {
		writeDiff(a.out, string(text), string(formatted))
	}
	if check {
		return true, nil
	}
	if err := replaceFile(path, formatted, 0o644); err != nil {
		return true, &problem{code: "file", message: fmt.Sprintf("%s: %v", name, reason(err))}
	}
	return true, nil
}

// writeDiff shows the lines that differ. Formatting keeps the number of lines.
func writeDiff(w io.Writer, before, after string) {
	old, new := strings.Split(before, "\n"), strings.Split(after, "\n")
	for i := range max(len(old), len(new)) {
		var x, y string
		if i < len(old) {
			x = old[i]
		}
		if i < len(new) {
			y = new[i]
		}
		if x != y {
			fmt.Fprintf(w, "@@ line %d @@\n-%s\n+%s\n", i+1, x, y)
		}
	}
}

// configFile reports whether a file is part of a configuration.
func configFile(name string) bool {
	return name == "overbrainer.hcl" || strings.HasSuffix(name, ".ob.hcl") || strings.HasSuffix(name, ".vars.hcl")
}

// hclFiles names the files to format, relative to the project: those given, or
// the configuration's.
func (a *app) hclFiles(names []string, recursive bool) ([]string, error) {
	if len(names) == 0 {
		names = []string{"."}
	}
	var found []string
	for _, name := range names {
		info, err := os.Stat(a.path(name))
		if err != nil {
			return nil, &problem{code: "file", message: fmt.Sprintf("%s: %v", name, reason(err))}
		}
		if !info.IsDir() {
			found = append(found, name)
			continue
		}
		root := a.path(name)
		err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && path != root && (!recursive || strings.HasPrefix(d.Name(), ".") || d.Name() == "runs"):
				return fs.SkipDir
			case !d.IsDir() && configFile(d.Name()):
				rel, err := filepath.Rel(root, path)
				if err != nil {
					return err
				}
				found = append(found, filepath.Join(name, rel))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}
