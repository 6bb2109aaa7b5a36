package apply

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// listAccounts reads the pods of every provider once. A list that cannot be
// read is an error where the state still holds something there.
func (s *session) listAccounts(st *state.State) (map[string][]providers.Pod, error) {
	needed := map[string]bool{}
	for _, res := range st.Resources {
		if res.Run != nil && anyHolds(res.Run) {
			needed[res.Provider] = true
		}
	}
	lists := map[string][]providers.Pod{}
	for _, name := range sortedKeys(s.Providers) {
		pods, err := s.listPods(name)
		switch {
		case err == nil:
			lists[name] = pods
		case needed[name]:
			return nil, failf("list_pods", "what earlier commands left cannot be looked for: %s", reasonOf(err)).because(err)
		default:
			s.warn("", "", fmt.Sprintf("pods that the state does not know could not be looked for: %s", reasonOf(err)))
		}
	}
	return lists, nil
}

// unknown keeps the pods of this project whose run the state does not know. The
// state has to be read after the pods were listed: a run is in it before its pod
// exists.
func (s *session) unknown(st *state.State, pods []providers.Pod) []providers.Pod {
	var out []providers.Pod
	for _, pod := range s.ours(pods, "") {
		if _, run := st.FindRun(pod.Marker.RunID); run == nil {
			out = append(out, pod)
		}
	}
	return out
}

// reportUnknown warns of pods that carry this project's lineage and a run that
// the state does not know: only destroy and pod rm do anything to them. before
// is the state from before the lists; what it knew has ended meanwhile.
func (s *session) reportUnknown(before *state.State, lists map[string][]providers.Pod) error {
	st, err := s.read()
	if err != nil {
		return err
	}
	for _, provider := range sortedKeys(lists) {
		for _, pod := range s.unknown(before, s.unknown(st, lists[provider])) {
			s.warn("", pod.Marker.RunID, fmt.Sprintf("pod %s belongs to run %s, which this state does not know, and costs %s; if no other checkout owns it: overbrainer pod rm %s -force", pod.ID, pod.Marker.RunID, anHour(pod.RatePerHour), pod.Marker.RunID))
		}
	}
	return nil
}

// destroyUnknown deletes the pods of this project whose run the state does not
// know, as far as they are this checkout's: a stopped one, in which nothing
// can be at work, and one whose run left its directory here. One that runs and
// may be another checkout's was reported.
func (s *session) destroyUnknown() {
	for _, provider := range sortedKeys(s.Providers) {
		pods, err := s.listPods(provider)
		if err != nil {
			continue // it was said when recovery began
		}
		st, err := s.read()
		if err != nil {
			s.addError(err)
			return
		}
		for _, pod := range s.unknown(st, pods) {
			id := pod.Marker.RunID
			if !pod.Status.Dead() && !s.hasDirectory(id) {
				continue
			}
			r := s.stranger(provider, id)
			if _, err := r.deletePod(pod.ID, pod.CreatedAt, anHour(pod.RatePerHour)); err != nil {
				s.addError(failf("not_deleted", "pod %s is not proven deleted and may go on billing %s: %s", pod.ID, anHour(pod.RatePerHour), reasonOf(err)).id(pod.ID).because(err))
				s.addLeft(Left{Kind: "pod", RunID: id, ID: pod.ID, RateUSD: pod.RatePerHour, Fix: "overbrainer destroy"})
				continue
			}
			s.emit(Event{Kind: EventDeleted, RunID: id, PodID: pod.ID, Message: fmt.Sprintf("pod %s of run %s, which the state does not know, is gone", pod.ID, id)})
		}
	}
}

// hasDirectory reports whether a run has its directory in this project.
func (s *session) hasDirectory(runID string) bool {
	if !ValidRunID(runID) {
		return false
	}
	info, err := os.Stat(filepath.Join(s.Project, "runs", runID))
	return err == nil && info.IsDir()
}

// sweepAccounts does sweepHostKeys with the pods as they are now.
func (s *session) sweepAccounts() {
	lists := map[string][]providers.Pod{}
	for _, name := range sortedKeys(s.Providers) {
		if pods, err := s.listPods(name); err == nil {
			lists[name] = pods
		}
	}
	s.sweepHostKeys(lists)
}

// sweepHostKeys removes the host keys of this project's runs that the state
// does not know any more and no pod can need. lists are the pods of each
// provider. Another project's are not touched.
func (s *session) sweepHostKeys(lists map[string][]providers.Pod) {
	for _, provider := range sortedKeys(lists) {
		if !s.Providers[provider].Description.Has(providers.CapSecrets) || s.interrupted() || s.isBroken() {
			continue
		}
		if err := s.sweepHostKeysOf(provider, lists[provider]); err != nil {
			s.warn("", "", fmt.Sprintf("account secrets that no run needs could not all be removed: %s", reasonOf(err)))
		}
	}
}

func (s *session) sweepHostKeysOf(provider string, pods []providers.Pod) error {
	secrets, err := s.listSecrets(provider)
	if err != nil {
		return err
	}
	st, err := s.read() // after the list: see OrphanedHostKey
	if err != nil {
		return err
	}
	needed := map[string]bool{}
	for _, pod := range pods {
		needed[pod.Marker.RunID] = true
	}
	var first error
	for _, secret := range secrets {
		id, orphan := st.OrphanedHostKey(secret.Name)
		if !orphan || needed[id] {
			continue
		}
		err := s.stranger(provider, id).dropSecret(state.SecretRef{Name: secret.Name, ID: secret.ID})
		if err != nil && first == nil {
			first = err
		}
		if err == nil {
			s.emit(Event{Kind: EventRemoved, RunID: id, Message: "removed, of a run that is over, account secret " + secret.Name})
		}
	}
	return first
}

// stranger works on what is left of a run that the state does not know.
func (s *session) stranger(provider, runID string) *runner {
	return &runner{s: s, provider: provider, rented: s.Providers[provider], t: s.timing(provider), unclaimed: true, run: &state.Run{ID: runID}}
}

// dropHostKeys deletes every account secret with a host key of the run, of
// whatever project.
func (r *runner) dropHostKeys(runID string) error {
	secrets, err := r.s.listSecrets(r.provider)
	if err != nil {
		return failf("secret_left", "the run's account secret could not be looked for: %s", reasonOf(err)).because(err)
	}
	for _, secret := range secrets {
		if !state.IsHostKeyOf(secret.Name, runID) {
			continue
		}
		if err := r.dropSecret(state.SecretRef{Name: secret.Name, ID: secret.ID}); err != nil {
			return err
		}
	}
	return nil
}
