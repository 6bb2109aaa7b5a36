package state

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
)

// hostKeyPrefix begins the name of every account secret that holds a run's
// private host key; the run's ID and a mark of the project follow.
const hostKeyPrefix = "overbrainer_host_key_"

var projectMark = regexp.MustCompile(`^_[0-9a-f]{12}$`)

// HostKeySecret names the account secret with the private host key of a run.
// The name tells the project, too, so that a secret whose run the state does
// not know any more can be told from another project's. It has at most 98
// characters.
func HostKeySecret(lineage, runID string) string {
	sum := sha256.Sum256([]byte(lineage))
	return fmt.Sprintf("%s%s_%x", hostKeyPrefix, runID, sum[:6])
}

// IsHostKeyOf reports whether an account secret holds the host key of a run,
// of whatever project.
func IsHostKeyOf(name, runID string) bool {
	mark, ok := strings.CutPrefix(name, hostKeyPrefix+runID)
	return ok && runID != "" && (mark == "" || projectMark.MatchString(mark))
}

// OrphanedHostKey gives the run of an account secret that holds a host key of
// this project and that no run of the state needs any more. ok is false for
// every other secret. Whether a pod of the run exists is for the caller to
// see. The state has to be read after the secret was seen: a run that is about
// to begin is in the state before its secret exists.
func (s *State) OrphanedHostKey(name string) (runID string, ok bool) {
	rest, ok := strings.CutPrefix(name, hostKeyPrefix)
	n := len(rest) - len("_0123456789ab")
	if !ok || n < 1 || s.Lineage == "" {
		return "", false
	}
	runID = rest[:n]
	if name != HostKeySecret(s.Lineage, runID) {
		return "", false
	}
	_, run := s.FindRun(runID)
	return runID, run == nil || run.Phase.Ended() && !run.Holds()
}
