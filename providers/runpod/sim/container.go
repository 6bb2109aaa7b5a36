package sim

import (
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// bind is a directory of the machine that a pod sees under a path of its own.
type bind struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// containerSpec is all that the process which holds a container needs to know.
type containerSpec struct {
	ID   string   `json:"id"`
	Form string   `json:"form"`
	Dir  string   `json:"dir"`  // the pod's directory on this machine
	Root string   `json:"root"` // relocated: where the pod's files lie
	Hide []string `json:"hide"` // root: directories of the machine that the pod must not see
	Cmd  []string `json:"cmd"`
	Env  []string `json:"env"`
	// SSHEnv is what a session of the built-in SSH server gets.
	SSHEnv []string `json:"ssh_env"`
	Binds  []bind   `json:"binds"`
	Lacks  []string `json:"lacks,omitempty"` // programs of the machine that the image does not have
	// How the built-in SSH server goes wrong.
	OtherKey bool              `json:"other_key,omitempty"`
	Refuses  bool              `json:"refuses,omitempty"`
	tools    map[string]string // scripts in /usr/local/bin
	files    map[string]string // programs elsewhere in the image
}

// bash is the script that stands for bash in pods.
func (o Options) bash() string {
	program := quote(o.Shell)
	if filepath.Base(o.Shell) == "busybox" {
		program += " sh" // it is a shell by that name only
	}
	return "#!/bin/sh\nexec " + program + " \"$@\"\n"
}

// spec describes a pod's container. sshd is the port on which SSH is served
// inside. mu is held.
func (s *server) spec(p *pod, sshd int) containerSpec {
	spec := containerSpec{
		ID: p.id, Form: s.form, Dir: p.dir, Cmd: p.command(), Hide: []string{s.opt.Home},
		tools: s.tools().scripts(p),
	}
	if s.opt.Shell != "" {
		spec.tools["bash"] = s.opt.bash()
	}
	home, path := "/root", imagePath
	if s.form == FormRelocated {
		spec.Root = filepath.Join(p.dir, "root")
	}
	p.knobs.image.apply(&spec, s.tools().python)
	if s.form == FormRelocated {
		home = filepath.Join(spec.Root, "root")
		path = filepath.Join(spec.Root, "usr/local/bin") + ":" + imagePath
		if len(spec.Lacks) > 0 {
			path = filepath.Join(spec.Root, "usr/local/bin") + ":" + filepath.Join(spec.Root, imagePrograms)
		}
	}
	if at := p.knobs.image.python; at != "" {
		path = filepath.Join("/", spec.Root, at) + ":" + path
	}
	if m := p.req.Mounts.Persistent; m != nil {
		spec.Binds = append(spec.Binds, bind{From: filepath.Join(p.dir, "persistent"), To: m.Path})
	}
	for _, m := range p.req.Mounts.Network {
		spec.Binds = append(spec.Binds, bind{From: s.volumeDir(m.VolumeID), To: m.Path})
	}
	env := map[string]string{
		"PATH": path, "HOME": home, "LANG": "C.UTF-8", "HOSTNAME": p.id,
		"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
		"CUDA_VERSION": p.cuda,
	}
	for k, v := range p.req.Env {
		if p.knobs.unresolved {
			env[k] = v
		} else {
			env[k] = s.resolve(v)
		}
	}
	if p.req.StartSSH && env["PUBLIC_KEY"] == "" {
		env["PUBLIC_KEY"] = strings.Join(s.sshKeys, "\n")
	}
	env["RUNPOD_POD_ID"], env["RUNPOD_API_KEY"] = p.id, p.key
	env["RUNPOD_POD_HOSTNAME"], env["RUNPOD_DC_ID"] = p.id+"-64411eb2", p.center
	env["RUNPOD_CPU_COUNT"], env["RUNPOD_PUBLIC_IP"] = "8", "127.0.0.1"
	if p.req.GPU != nil {
		env["RUNPOD_GPU_COUNT"] = strconv.Itoa(p.gpus)
	}
	if p.port != 0 {
		env["RUNPOD_TCP_PORT_22"] = strconv.Itoa(p.port)
	}
	if id := p.volumeID(); id != "" {
		env["RUNPOD_VOLUME_ID"] = id
	}
	env["OVERBRAINER_SSHD_PORT"] = strconv.Itoa(sshd)
	if s.form == FormRelocated {
		env["OVERBRAINER_POD_ROOT"], env["OVERBRAINER_SSHD"] = spec.Root, "builtin"
		spec.SSHEnv = []string{"PATH=" + path, "HOME=" + home, "USER=root", "LOGNAME=root",
			"OVERBRAINER_POD_ROOT=" + spec.Root}
	}
	for k, v := range env {
		spec.Env = append(spec.Env, k+"="+v)
	}
	sort.Strings(spec.Env)
	return spec
}

// prepare lays out the disk, keeping what an earlier start left on it.
func (spec containerSpec) prepare() error {
	base := spec.Root
	dirs := map[string]os.FileMode{"usr/local/bin": 0o755}
	if spec.Form == FormRoot {
		base = filepath.Join(spec.Dir, "upper")
		for _, d := range []string{"work", "merged"} {
			if err := mkdir(filepath.Join(spec.Dir, d), 0o755); err != nil {
				return err
			}
		}
	} else {
		for _, d := range []string{"etc/ssh", "run", "workspace"} {
			dirs[d] = 0o755
		}
		dirs["root"], dirs["tmp"] = 0o700, 0o777|os.ModeSticky
		_ = os.Remove(filepath.Join(base, sshdStarted))
	}
	if err := mkdir(base, 0o755); err != nil {
		return err
	}
	for d, mode := range dirs {
		if err := mkdir(filepath.Join(base, d), mode); err != nil {
			return err
		}
	}
	for name, script := range spec.tools {
		path := filepath.Join(base, "usr/local/bin", name)
		if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
			return err
		}
		if err := os.Chmod(path, 0o755); err != nil {
			return err
		}
	}
	if err := spec.writeFiles(base); err != nil {
		return err
	}
	for _, b := range spec.Binds {
		if err := os.MkdirAll(b.From, 0o755); err != nil {
			return err
		}
	}
	if spec.Form == FormRoot {
		return spec.prepareRoot()
	}
	if len(spec.Lacks) > 0 {
		if err := spec.linkPrograms(); err != nil {
			return err
		}
	}
	return spec.linkBinds()
}

// linkBinds stands in for mounts where there are none: links from the pod's
// paths to the directories.
func (spec containerSpec) linkBinds() error {
	for _, b := range spec.Binds {
		at := filepath.Join(spec.Root, b.To)
		if target, err := os.Readlink(at); err == nil && target == b.From {
			continue
		}
		if err := removeDisk(at); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(b.From, at); err != nil {
			return err
		}
	}
	return nil
}

// sshdStarted is the file, below the pod's root, by which the bootstrap says
// that SSH may be served with the keys it installed.
const sshdStarted = "run/sshd.started"
