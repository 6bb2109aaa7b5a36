package apply

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/overbrainer/overbrainer/providers"
)

var (
	validHost = regexp.MustCompile(`^[A-Za-z0-9.:-]{1,255}$`)
	validUser = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
)

// validEndpoint refuses an address that could be more than an address.
func validEndpoint(e providers.Endpoint) error {
	if !validHost.MatchString(e.Host) || !validUser.MatchString(e.User) || e.Port < 1 || e.Port > 65535 {
		return failf("endpoint", "the provider gave an address that is none: %q", fmt.Sprintf("%s@%s:%d", e.User, e.Host, e.Port))
	}
	return nil
}

// writeSSHFiles writes known_hosts and config into the run's ssh directory, for
// people and for run ssh; the engine itself reads neither. The pod is known by
// an alias, because after a reset it comes back at another port.
func (r *runner) writeSSHFiles(at providers.Endpoint) {
	dir := filepath.Join(r.dir(), sshDir)
	if r.unclaimed || strings.ContainsAny(dir, "\"\n\r") || os.MkdirAll(dir, 0o700) != nil {
		return
	}
	name := alias(r.run.ID)
	_ = putFile(filepath.Join(dir, knownHosts), []byte(name+" "+r.run.HostKey+"\n"), false)
	quoted := func(file string) string {
		return `"` + strings.ReplaceAll(filepath.Join(dir, file), "%", "%%") + `"`
	}
	lines := []string{
		"Host " + name,
		"  HostName " + at.Host,
		fmt.Sprintf("  Port %d", at.Port),
		"  User " + at.User,
		"  IdentityFile " + quoted(clientKey),
		"  IdentitiesOnly yes",
		"  IdentityAgent none",
		"  UserKnownHostsFile " + quoted(knownHosts),
		"  GlobalKnownHostsFile /dev/null",
		"  HostKeyAlias " + name,
		"  CheckHostIP no",
		"  StrictHostKeyChecking yes",
		"  UpdateHostKeys no",
		"  PasswordAuthentication no",
		"  KbdInteractiveAuthentication no",
	}
	_ = putFile(filepath.Join(dir, sshConfig), []byte(strings.Join(lines, "\n")+"\n"), false)
}
