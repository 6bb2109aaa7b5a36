package sim

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// enterRoot gives this process, the first of its own namespaces, a root file
// system: a writable layer of the pod's own over the whole machine's. Nothing
// that the pod writes, removes or installs reaches the machine.
func enterRoot(spec containerSpec) error {
	step := func(what string, err error) error {
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	}
	others, err := otherMounts()
	if err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return step("private mounts", err)
	}
	// Paths in the options must not hold a comma or colon: stay relative.
	if err := os.Chdir(spec.Dir); err != nil {
		return err
	}
	if err := unix.Mount("overlay", "merged", "overlay", 0, "lowerdir=/,upperdir=upper,workdir=work"); err != nil {
		return step("overlay", err)
	}
	for _, dir := range []string{"/dev", "/sys"} {
		if err := unix.Mount(dir, "merged"+dir, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return step("bind "+dir, err)
		}
	}
	for _, dir := range others {
		if slices.ContainsFunc(spec.Hide, func(h string) bool { return within(h, dir) || within(dir, h) }) {
			continue
		}
		// A mount of the machine that cannot be shown is missing, no more.
		_ = unix.Mount(dir, "merged"+dir, "", unix.MS_BIND|unix.MS_REC, "")
		_ = unix.Mount("", "merged"+dir, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
	}
	for _, b := range spec.Binds {
		at := filepath.Join("merged", b.To)
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(b.From, at, "", unix.MS_BIND, ""); err != nil {
			return step("mount "+b.To, err)
		}
	}
	for _, dir := range spec.Hide {
		if _, err := os.Stat("merged" + dir); os.IsNotExist(err) {
			continue
		}
		if err := unix.Mount("tmpfs", "merged"+dir, "tmpfs", 0, "size=4k,mode=0700"); err != nil {
			return step("hide "+dir, err)
		}
	}
	if err := unix.Mount("proc", "merged/proc", "proc", 0, ""); err != nil {
		return step("proc", err)
	}
	if err := os.Chdir("merged"); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return step("pivot", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return step("leave the machine's root", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	return step("hostname", unix.Sethostname([]byte(spec.ID)))
}

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// otherMounts lists what is mounted on the machine beside its root and what
// every pod gets anew: a /home or /usr of its own, for instance.
func otherMounts() ([]string, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var out []string
	in := bufio.NewScanner(bytes.NewReader(data))
	for in.Scan() {
		fields := strings.Fields(in.Text())
		if len(fields) < 5 {
			continue
		}
		at := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\134`, `\`).Replace(fields[4])
		if at == "/" || slices.ContainsFunc([]string{"/proc", "/sys", "/dev", "/run", "/tmp"}, func(d string) bool { return within(at, d) }) {
			continue
		}
		if st, err := os.Stat(at); err == nil && st.IsDir() {
			out = append(out, at)
		}
	}
	return out, in.Err()
}

// prepareRoot writes the files of the image that must not be the machine's.
func (spec containerSpec) prepareRoot() error {
	upper := filepath.Join(spec.Dir, "upper")
	if err := mkdir(filepath.Join(upper, "tmp"), 0o777|os.ModeSticky); err != nil {
		return err
	}
	// The machine's /tmp is not shown, only what the pod writes there.
	if err := unix.Setxattr(filepath.Join(upper, "tmp"), "trusted.overlay.opaque", []byte("y"), 0); err != nil {
		return fmt.Errorf("overlay attributes: %w", err)
	}
	files := map[string]string{"etc/ssh/sshd_config": sshdConfig}
	// What this machine's root has its shells do at their start is not the
	// pod's: it may be slow, print, or look for programs below that home.
	for _, name := range []string{".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshenv"} {
		files["root/"+name] = ""
	}
	for _, name := range []string{"/etc/resolv.conf", "/etc/hosts"} {
		if data, err := os.ReadFile(name); err == nil {
			files[name[1:]] = string(data)
		}
	}
	if data, err := os.ReadFile("/etc/shadow"); err == nil {
		if text := unlockRoot(string(data)); text != string(data) {
			files["etc/shadow"] = text
		}
	}
	if err := spec.whiteOut(upper); err != nil {
		return err
	}
	if err := mkdir(filepath.Join(upper, "root"), 0o700); err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(upper, name)
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		if err := mkdir(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		mode := os.FileMode(0o644)
		if name == "etc/shadow" {
			mode = 0o640
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			return err
		}
	}
	return nil
}

// whiteOut marks programs of the machine as removed, the way a layer of an image
// does that lies over another.
func (spec containerSpec) whiteOut(upper string) error {
	for _, dir := range filepath.SplitList(imagePath) {
		real, err := filepath.EvalSymlinks(dir) // /bin may be a link
		if err != nil {
			continue
		}
		for _, name := range spec.Lacks {
			at := filepath.Join(upper, real, name)
			if _, err := os.Lstat(filepath.Join(real, name)); err != nil {
				continue
			}
			if _, err := os.Lstat(at); err == nil {
				continue // hidden before, or installed since
			}
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				return err
			}
			if err := unix.Mknod(at, unix.S_IFCHR, 0); err != nil {
				return fmt.Errorf("hide %s: %w", name, err)
			}
		}
	}
	return nil
}

// unlockRoot lets keys open root's account where its password is locked.
func unlockRoot(shadow string) string {
	lines := strings.Split(shadow, "\n")
	for i, line := range lines {
		if rest, is := strings.CutPrefix(line, "root:!"); is {
			if _, after, found := strings.Cut(rest, ":"); found {
				lines[i] = "root:*:" + after
			}
		}
	}
	return strings.Join(lines, "\n")
}

// sshdConfig is an image's configuration of sshd, but for the address: pods
// share the machine's network, and nobody outside may reach them.
const sshdConfig = `ListenAddress 127.0.0.1
PermitRootLogin prohibit-password
PubkeyAuthentication yes
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
PrintMotd no
X11Forwarding no
AcceptEnv LANG LC_*
Subsystem sftp internal-sftp
`
