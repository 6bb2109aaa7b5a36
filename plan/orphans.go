package plan

import (
	"time"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// HasOrphans reports whether there are pods of this project whose run the
// state does not know, which a destroy deletes where they are this checkout's.
func (p *Plan) HasOrphans() bool {
	for _, l := range p.Leftovers {
		if l.Address == "" && (l.Kind == "pod" || l.Kind == "stopped") {
			return true
		}
	}
	return false
}

// orphanedSecrets reports the host keys of this project's runs that neither
// the state nor a pod needs.
func (j *judging) orphanedSecrets(provider string) {
	a := j.b.account(provider)
	for _, run := range OrphanedSecrets(j.st, a.pods.Pods, a.secrets, j.b.in.Now.Add(-j.b.freshPod(provider))) {
		j.leave(Leftover{
			Kind: "secret", RunID: run.RunID, ID: run.Name, Hourly: usd(0), Fix: sweepCommand,
			Note: "an account secret of a run that the state does not know any more; the next apply removes it",
		})
	}
}

// OrphanedSecret is an account secret that nothing needs.
type OrphanedSecret struct{ Name, RunID string }

// OrphanedSecrets finds the host keys of this project's runs that neither the
// state nor one of the account's pods needs. Those made after before are left
// out: their run may have begun since the state was read.
func OrphanedSecrets(st *state.State, pods []providers.Pod, secrets []providers.Secret, before time.Time) []OrphanedSecret {
	needed := map[string]bool{}
	for _, pod := range pods {
		needed[pod.Marker.RunID] = true
	}
	var out []OrphanedSecret
	for _, s := range secrets {
		id, orphan := st.OrphanedHostKey(s.Name)
		if orphan && !needed[id] && !s.CreatedAt.After(before) {
			out = append(out, OrphanedSecret{Name: s.Name, RunID: id})
		}
	}
	return out
}
