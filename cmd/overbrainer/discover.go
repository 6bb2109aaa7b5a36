package main

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/overbrainer/overbrainer/providers/plugin"
)

// pluginDirs are where providers made by others are looked for, in order.
func (a *app) pluginDirs() []string {
	var dirs []string
	if d := a.environ("OVERBRAINER_PLUGIN_DIR"); d != "" {
		dirs = append(dirs, d)
	}
	dirs = append(dirs, filepath.Join(a.dir, ".overbrainer", "plugins"))
	data := a.environ("XDG_DATA_HOME")
	if home := a.environ("HOME"); data == "" && home != "" {
		data = filepath.Join(home, ".local", "share")
	}
	if data != "" {
		dirs = append(dirs, filepath.Join(data, "overbrainer", "plugins"))
	}
	return dirs
}

// providerNames are the bundled provider and those whose programs are here.
func (a *app) providerNames() []string {
	names := plugin.Names(a.pluginDirs()...)
	if !slices.Contains(names, bundled) {
		names = append(names, bundled)
	}
	slices.Sort(names)
	return names
}

// program finds the program of a provider and the digest that it must have. A
// provider made by others is started only if the lock file pins it; the bundled
// one is this very program.
func (p *project) program(name string) (plugin.Command, error) {
	c := plugin.Command{Name: name, Path: p.app.exe, Args: []string{"provider", bundled}}
	if name == bundled {
		return c, nil
	}
	path, err := plugin.Find(name, p.app.pluginDirs()...)
	if err != nil {
		return c, err
	}
	c.Path, c.Args = path, nil
	if p.pins != nil {
		c.SHA256, err = p.pins.expected(name, path)
		return c, err
	}
	locks, err := p.app.readLocks()
	if err != nil {
		return c, err
	}
	c.SHA256 = locks[name].SHA256[platform]
	if c.SHA256 == "" {
		return c, &problem{code: "not_locked", message: fmt.Sprintf("%s is not pinned for %s in %s; overbrainer init looks at it and pins it", path, platform, lockFile)}
	}
	return c, nil
}
