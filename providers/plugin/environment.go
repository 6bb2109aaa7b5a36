package plugin

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// What a child gets of the environment: nothing that could hold a credential
// of somebody else.
var (
	passedNames = []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
	}
	passedPrefixes = []string{"XDG_", "LC_"}
)

// childEnvironment filters the environment down to the allowed names.
func childEnvironment(environ []string) []string {
	var out []string
	for _, kv := range environ {
		key, _, _ := strings.Cut(kv, "=")
		if allowed(key) {
			out = append(out, kv)
		}
	}
	return out
}

func allowed(key string) bool {
	for _, n := range passedNames {
		if key == n {
			return true
		}
	}
	for _, p := range passedPrefixes {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	return false
}

// maxSocketDir is the longest directory in which the sockets' own names still
// fit into an address, which takes 104 bytes on some systems.
const maxSocketDir = 40

// makeSocketDir makes a directory with a short path. TMPDIR and the project may
// be too deep for sockets.
func makeSocketDir(environ []string) (string, error) {
	candidates := []string{lookup(environ, "XDG_RUNTIME_DIR"), "/tmp", "/var/tmp", lookup(environ, "TMPDIR")}
	var failed []string
	for _, base := range candidates {
		if base == "" {
			continue
		}
		if len(base) > maxSocketDir {
			failed = append(failed, fmt.Sprintf("%s (path of %d bytes, at most %d fit)", base, len(base), maxSocketDir))
			continue
		}
		sweepSockets(base)
		dir, err := os.MkdirTemp(base, socketPrefix+strconv.Itoa(os.Getpid())+"-")
		if err == nil {
			return dir, nil
		}
		failed = append(failed, err.Error())
	}
	return "", fmt.Errorf("no directory for the provider's socket: %s; set XDG_RUNTIME_DIR or TMPDIR to a short, writable one",
		strings.Join(failed, "; "))
}

// sweepSockets removes what processes of this user left behind that were killed
// together with their children.
func sweepSockets(base string) {
	found, err := filepath.Glob(filepath.Join(base, socketPrefix+"[0-9]*-*"))
	if err != nil {
		return
	}
	for _, dir := range found {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), socketPrefix), "-")
		n, err := strconv.Atoi(pid)
		if err != nil || syscall.Kill(n, 0) != syscall.ESRCH {
			continue
		}
		// A process that started in this minute may live in another process
		// namespace; an older one has long connected and needs no path.
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && ownedByUs(info) && time.Since(info.ModTime()) > time.Minute {
			_ = os.RemoveAll(dir)
		}
	}
}

func ownedByUs(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}

func lookup(environ []string, key string) string {
	value := ""
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok && k == key {
			value = v
		}
	}
	return value
}
