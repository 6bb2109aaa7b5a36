package main

import "testing"

// The names of commands that only tell are names of commands.
func TestOnlyTellNamesCommands(t *testing.T) {
	known := map[string]bool{}
	for _, make := range commands {
		known[make(&app{environ: func(string) string { return "" }, dir: t.TempDir()}).name] = true
	}
	for name := range onlyTell {
		if !known[name] {
			t.Errorf("there is no command %q", name)
		}
	}
}
