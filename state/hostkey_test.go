package state

import "testing"

// A host-key secret is an orphan only when its name carries this project's
// mark and no run of the state needs it.
func TestOrphanedHostKey(t *testing.T) {
	s := New("ours")
	s.Resources["run.a"] = &Resource{Run: &RunResource{Runs: []*Run{
		{ID: "a-1", Phase: Running}, {ID: "a-2", Phase: Failed},
		{ID: "a-3", Phase: Failed, Pod: &Pod{ID: "p", State: PodDeleting}},
	}}}
	for name, want := range map[string]string{
		HostKeySecret("ours", "gone-1"):                      "gone-1",
		HostKeySecret("ours", "a-2"):                         "a-2",
		HostKeySecret("ours", "a-1"):                         "",
		HostKeySecret("ours", "a-3"):                         "",
		HostKeySecret("other", "gone-1"):                     "",
		hostKeyPrefix + "gone-1":                             "", // of no project in particular
		hostKeyPrefix + "_0123456789ab":                      "",
		"hf-token":                                           "",
		"x" + HostKeySecret("ours", "gone-1"):                "",
		HostKeySecret("ours", "gone-1") + "0":                "",
		HostKeySecret("ours", "gone-1")[:len(hostKeyPrefix)]: "",
	} {
		run, ok := s.OrphanedHostKey(name)
		if !ok {
			run = ""
		}
		if run != want {
			t.Errorf("%s: run %q, want %q", name, run, want)
		}
	}
	if _, ok := New("").OrphanedHostKey(HostKeySecret("", "gone-1")); ok {
		t.Error("a state that never was written has no secrets")
	}
	for name, want := range map[string]bool{
		HostKeySecret("other", "r-1"): true, hostKeyPrefix + "r-1": true,
		hostKeyPrefix + "r-12": false, HostKeySecret("ours", "r-12"): false, "r-1": false,
	} {
		if IsHostKeyOf(name, "r-1") != want {
			t.Errorf("%s is of r-1: %v", name, !want)
		}
	}
}
