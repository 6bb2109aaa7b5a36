package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/overbrainer/overbrainer/internal/ui"
)

func versionText() string {
	return fmt.Sprintf("overbrainer %s (%s/%s)", version, runtime.GOOS, runtime.GOARCH)
}

// buildID tells apart binaries that share a version.
func buildID() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return version + "+" + s.Value[:12]
		}
	}
	return version
}

func versionCommand(a *app) *command {
	asJSON := false
	return &command{
		name:     "version",
		synopsis: "the version of this program",
		usage:    "[-json]",
		text:     "Prints the version. It reads no configuration and starts nothing.",
		example:  "$ overbrainer version -json",
		register: func(f *flags) { f.boolean(&asJSON, "json", "as JSON") },
		run: func(context.Context, []string) error {
			if asJSON {
				return ui.JSONLine(a.out, map[string]string{
					"overbrainer_version": version,
					"platform":            runtime.GOOS + "_" + runtime.GOARCH,
					"go_version":          runtime.Version(),
				})
			}
			_, err := fmt.Fprintln(a.out, versionText())
			return err
		},
	}
}
