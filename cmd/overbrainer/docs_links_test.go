package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	mdLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	mdHeading = regexp.MustCompile(`(?m)^#+ +(.*?) *$`)
	mdSlug    = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// TestLinksLeadSomewhere: every relative link of every Markdown file leads to a
// file that is there, and to a heading of it.
func TestLinksLeadSomewhere(t *testing.T) {
	found := 0
	err := filepath.WalkDir(sourceRoot, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			if err == nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "bin") {
				return fs.SkipDir
			}
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range mdLink.FindAllSubmatch(prose(data), -1) {
			found++
			if fault := follow(path, string(m[1])); fault != "" {
				t.Errorf("%s: %s: %s", strings.TrimPrefix(path, sourceRoot+"/"), m[1], fault)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 60 {
		t.Errorf("only %d links were found: the search is broken", found)
	}
}

// prose is a text without its fenced blocks.
func prose(data []byte) []byte {
	parts := bytes.Split(data, []byte("```"))
	var out []byte
	for i := 0; i < len(parts); i += 2 {
		out = append(out, parts[i]...)
	}
	return out
}

// follow says what is wrong with a link.
func follow(from, link string) string {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return ""
	}
	name, anchor, _ := strings.Cut(link, "#")
	path := from
	if name != "" {
		path = filepath.Join(filepath.Dir(from), filepath.FromSlash(name))
	}
	if _, err := os.Stat(path); err != nil {
		return "there is no such file"
	}
	if anchor == "" || filepath.Ext(path) != ".md" {
		return ""
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	for _, m := range mdHeading.FindAllSubmatch(prose(data), -1) {
		slug := strings.ReplaceAll(mdSlug.ReplaceAllString(strings.ToLower(string(m[1])), ""), " ", "-")
		if slug == anchor {
			return ""
		}
	}
	return "there is no such heading"
}
