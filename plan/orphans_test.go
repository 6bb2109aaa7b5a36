package plan

import (
	"context"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// A host key of this project whose run the state does not know is left over,
// unless a pod of the run is there or the secret is so young that its run may
// have begun since the state was read. Another project's is not.
func TestOrphanedSecrets(t *testing.T) {
	p := newProject(t, base)
	p.did("run.train", nil)
	old := func(name string) providers.Secret {
		return providers.Secret{ID: name, Name: name, CreatedAt: testNow.Add(-time.Hour)}
	}
	lineage := p.state.Lineage
	young := old(state.HostKeySecret(lineage, "young-1"))
	young.CreatedAt = testNow
	p.pods = []providers.Pod{{ID: "there", Marker: providers.Marker{RunID: "held-1", Lineage: lineage}}}
	secrets := []providers.Secret{
		old(state.HostKeySecret(lineage, "old-1")), old(state.HostKeySecret(lineage, "held-1")),
		old(state.HostKeySecret("another", "old-1")), old("hf-token"), young,
	}
	pl := p.plan(func(in *Input) {
		in.Secrets = func(context.Context, string) ([]providers.Secret, error) { return secrets, nil }
	})
	var got []string
	for _, l := range pl.Leftovers {
		if l.Kind == "secret" {
			got = append(got, l.ID+" "+l.Fix)
		}
	}
	if want := state.HostKeySecret(lineage, "old-1") + " overbrainer sweep"; len(got) != 1 || got[0] != want {
		t.Errorf("leftovers %q, want %q", got, want)
	}
	if !pl.HasOrphans() {
		t.Error("the pod of a run that the state does not know is an orphan")
	}
}
