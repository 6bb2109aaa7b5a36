package sim

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// image is how a pod's image differs from the one that all pods have: the
// machine's own programs, and a Python.
type image struct {
	lacks      []string // programs that it does not have
	entrypoint string   // its own start script, which gets the command
	python     string   // the directory in which its Python is, first in PATH
	otherKey   bool     // its sshd shows a host key of its own
	refuses    bool     // its sshd lets no key in
}

// certificates is the name by which an image lacks what curl knows the API by.
// The simulator's API has no certificate, so curl is told to fail as it does.
const certificates = "ca-certificates"

// lacking reads a list of programs.
func lacking(r *rule, arg string, s *server) error {
	lacks := strings.Split(arg, ",")
	for _, name := range lacks {
		switch {
		case name == "" || strings.ContainsAny(name, "/ ") || name == "sh" || name == "bash":
			return fmt.Errorf("%q is no program that an image can lack", name)
		case name == "sshd" && s.form == FormRelocated:
			return errors.New("pods here are served by the simulator's own SSH server, whatever their image has")
		}
	}
	r.out.bend = func(k *knobs) { k.image.lacks = lacks }
	return nil
}

// placing reads an absolute path in the image.
func placing(set func(*image, string)) func(*rule, string, *server) error {
	return func(r *rule, arg string, _ *server) error {
		if !path.IsAbs(arg) || path.Clean(arg) != arg || arg == "/" {
			return fmt.Errorf("%q is no absolute path", arg)
		}
		r.out.bend = func(k *knobs) { set(&k.image, arg) }
		return nil
	}
}

// needs refuses a fault whose argument was left out.
func needs(what string) func(*rule) error {
	return func(r *rule) error {
		if r.out.bend == nil {
			return fmt.Errorf("it needs %s behind a colon", what)
		}
		return nil
	}
}

// apply changes a container's description to that of the image.
func (i image) apply(spec *containerSpec, python string) {
	spec.Lacks = slices.DeleteFunc(slices.Clone(i.lacks), func(name string) bool { return name == certificates })
	if slices.Contains(i.lacks, certificates) {
		// 77: the file with the certificates cannot be read.
		spec.tools["curl"] = "#!/bin/sh\nprintf '\\n000'\nexit 77\n"
	}
	if i.entrypoint != "" {
		spec.files = map[string]string{i.entrypoint: "#!/bin/sh\necho 'the image starts'\nexec \"$@\"\n"}
		spec.Cmd = append([]string{filepath.Join("/", spec.Root, i.entrypoint)}, spec.Cmd...)
	}
	if i.python != "" {
		spec.Lacks = append(spec.Lacks, "python3", "python")
		if real, err := filepath.EvalSymlinks(python); err == nil {
			python = real // its usual name is hidden
		}
		script := "#!/bin/sh\nexec " + quote(python) + " \"$@\"\n"
		spec.files = map[string]string{i.python + "/python3": script, i.python + "/python": script}
	}
	if sshd := findSSHD(); spec.Form == FormRoot && sshd != "" {
		switch {
		case i.otherKey:
			spec.tools["sshd"] = "#!/bin/sh\nk=/etc/ssh/image_key\n[ -e $k ] || ssh-keygen -q -t ed25519 -N '' -f $k\nexec " + sshd + " -h $k \"$@\"\n"
		case i.refuses:
			spec.tools["sshd"] = "#!/bin/sh\nexec " + sshd + " -o AuthorizedKeysFile=none \"$@\"\n"
		}
	}
	spec.OtherKey, spec.Refuses = i.otherKey, i.refuses
	maps.DeleteFunc(spec.tools, func(name, _ string) bool { return slices.Contains(spec.Lacks, name) })
}

// imagePrograms is the directory, below the root of a pod without a file system
// of its own, that stands for the image's programs where it lacks some.
const imagePrograms = "usr/bin"

// linkPrograms fills it: everything that the machine has, less what is lacking.
func (spec containerSpec) linkPrograms() error {
	dir := filepath.Join(spec.Root, imagePrograms)
	if err := mkdir(dir, 0o755); err != nil {
		return err
	}
	for _, from := range filepath.SplitList(imagePath) {
		entries, err := os.ReadDir(from)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if slices.Contains(spec.Lacks, e.Name()) {
				continue
			}
			if err := os.Symlink(filepath.Join(from, e.Name()), filepath.Join(dir, e.Name())); err != nil && !os.IsExist(err) {
				return err
			}
		}
	}
	return nil
}

// writeFiles writes the image's own files, but for what a mount hides where
// that is a link and not above them.
func (spec containerSpec) writeFiles(base string) error {
	for name, text := range spec.files {
		if spec.Form == FormRelocated && slices.ContainsFunc(spec.Binds, func(b bind) bool {
			return name == b.To || strings.HasPrefix(name, strings.TrimSuffix(b.To, "/")+"/")
		}) {
			continue
		}
		at := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, []byte(text), 0o755); err != nil { // #nosec G306 -- a program of the pod
			return err
		}
		if err := os.Chmod(at, 0o755); err != nil {
			return err
		}
	}
	return nil
}
