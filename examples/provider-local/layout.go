//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// layOut makes what an image would bring: directories, and an sshd.
func layOut(r record, root string) error {
	for dir, mode := range map[string]os.FileMode{
		"etc/ssh": 0o755, "run": 0o755, "workspace": 0o755, "usr/local/bin": 0o755, "root": 0o700, "tmp": 0o700,
	} {
		if err := os.MkdirAll(filepath.Join(root, dir), mode); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(root, "usr/local/bin/sshd"), []byte(sshdScript(r, root)), 0o700)
}

// sshdScript is the pod's sshd: the machine's, reachable from this machine
// only, whose sessions know where the pod's files are. The pod's bootstrap
// starts it with a configuration and keys of its own.
func sshdScript(r record, root string) string {
	return fmt.Sprintf(`#!/bin/sh
[ "$(id -u)" != 0 ] || mkdir -p -m 0755 /run/sshd
exec '%s' -o 'ListenAddress 127.0.0.1' -o 'SetEnv "SHLVL=1" "OVERBRAINER_POD_ROOT=%s" "HOME=%s/root" "TMPDIR=%s/tmp" "PATH=%s" "%s=%s"' "$@"
`, r.SSHD, root, root, root, searchPath(r, root), podVariable, r.ID)
}

// podVariable is in the environment of a pod's processes, by which they are
// found whoever their parent is.
const podVariable = "OVERBRAINER_LOCAL_POD"

func searchPath(r record, root string) string {
	return filepath.Join(root, "usr/local/bin") + ":" + r.SearchPath
}

// environment is the main process's. It runs in the holder, the only place
// where a secret's value stands beside the pod's other variables.
func environment(r record, root string) ([]string, error) {
	secrets, err := storeOf(root).secrets()
	if err != nil {
		return nil, err
	}
	env := map[string]string{
		"LANG": "C.UTF-8", "USER": r.User, "LOGNAME": r.User,
		"HOME": filepath.Join(root, "root"), "TMPDIR": filepath.Join(root, "tmp"), "PATH": searchPath(r, root),
	}
	for name, value := range r.Env {
		for _, s := range secrets {
			if value == fmt.Sprintf(secretPlaceholder, s.Name) {
				value = s.Value
			}
		}
		env[name] = value
	}
	env["OVERBRAINER_POD_ROOT"] = root
	env["OVERBRAINER_SSHD_PORT"] = fmt.Sprint(r.Port)
	env["OVERBRAINER_LOCAL_HOLDER"] = fmt.Sprint(os.Getpid())
	env[podVariable] = r.ID
	var list []string
	for name, value := range env {
		if !strings.Contains(name+value, "\x00") {
			list = append(list, name+"="+value)
		}
	}
	sort.Strings(list)
	return list, nil
}

// storeOf finds the account that a pod's root belongs to: DIR/pods/ID/root.
func storeOf(root string) store {
	return store{dir: filepath.Dir(filepath.Dir(filepath.Dir(root)))}
}
