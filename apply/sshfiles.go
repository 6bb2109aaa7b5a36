package apply

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

var (
	validHost = regexp.MustCompile(`^[A-Za-z0-9.:-]+$`)
	validUser = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
)

// validEndpoint refuses an address that could be more than an address.
func validEndpoint(e providers.Endpoint) error {
	if len(e.Host) > 255 || !validHost.MatchString(e.Host) || len(e.User) > 64 || !validUser.MatchString(e.User) || e.Port < 1 || e.Port > 65535 {
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
	_ = putFile(filepath.Join(dir, knownHosts), knownHost(r.run), false)
	_ = putFile(filepath.Join(dir, sshConfig), configOf(dir, r.run.ID, at, "IdentityFile "+quoted(dir, clientKey), "IdentitiesOnly yes", "IdentityAgent none"), false)
}

// LendSSH writes into a private directory what ssh needs to reach the pod of a
// run whose key is in no file: an agent at the socket has it. It gives the path
// of the configuration and the name of the pod in it.
func LendSSH(dir, socket string, run *state.Run) (config, host string, err error) {
	at := run.Pod.SSH
	if at == nil || strings.ContainsAny(dir, "\"\n\r") {
		return "", "", fmt.Errorf("pod %s has no address yet", run.Pod.ID)
	}
	config = filepath.Join(dir, sshConfig)
	if err := os.WriteFile(filepath.Join(dir, knownHosts), knownHost(run), 0o600); err != nil {
		return "", "", err
	}
	text := configOf(dir, run.ID, providers.Endpoint{Host: at.Host, Port: at.Port, User: at.User}, "IdentityFile none", "IdentityAgent "+quoted(dir, filepath.Base(socket)))
	return config, alias(run.ID), os.WriteFile(config, text, 0o600)
}

func knownHost(run *state.Run) []byte { return []byte(alias(run.ID) + " " + run.HostKey + "\n") }

// quoted is the path of a file as a line of an ssh configuration has it.
func quoted(dir, file string) string {
	return `"` + strings.ReplaceAll(filepath.Join(dir, file), "%", "%%") + `"`
}

// configOf is an ssh configuration that knows one pod.
func configOf(dir, runID string, at providers.Endpoint, identity ...string) []byte {
	lines := []string{"Host " + alias(runID)}
	for _, line := range append([]string{
		"HostName " + at.Host,
		fmt.Sprintf("Port %d", at.Port),
		"User " + at.User,
	}, append(identity,
		"UserKnownHostsFile "+quoted(dir, knownHosts),
		"GlobalKnownHostsFile /dev/null",
		"HostKeyAlias "+alias(runID),
		"CheckHostIP no",
		"StrictHostKeyChecking yes",
		"UpdateHostKeys no",
		"PasswordAuthentication no",
		"KbdInteractiveAuthentication no",
	)...) {
		lines = append(lines, "  "+line)
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}
