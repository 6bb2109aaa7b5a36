package apply

import (
	"context"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

func dialWords(e *DialError) string {
	switch e.Stage {
	case StageConnect:
		return "nothing answers at the pod's address yet: " + e.Error()
	case StageBanner:
		return "the pod's address accepts a connection and says nothing yet"
	case StageHandshake:
		return "the pod's SSH breaks off: " + e.Error()
	case StageHostKey:
		return "what answers at the pod's address does not have this run's host key, it showed " + e.shownKey()
	case StageAuth:
		return "the pod's SSH refuses this run's key"
	}
	return e.Error()
}

// dial opens a connection to the pod and writes the files for people's ssh.
func (r *runner) dial(ctx context.Context, at providers.Endpoint) (Machine, error) {
	hostKey, _, _, _, err := ssh.ParseAuthorizedKey([]byte(r.run.HostKey))
	if err != nil {
		return nil, failf("keys", "the pod's public host key in the state is not readable").at(r.address)
	}
	if err := validEndpoint(at); err != nil {
		return nil, err
	}
	r.writeSSHFiles(at)
	ctx, cancel := context.WithTimeout(ctx, 2*r.t.Connect)
	defer cancel()
	return r.s.Dial(ctx, Target{
		Host: at.Host, Port: at.Port, User: at.User, Signer: r.signer, HostKey: hostKey,
		RunID: r.run.ID, RunDir: r.run.Pod.WorkDir, Metrics: r.run.Job.Metrics, Connect: r.t.Connect,
		LeaseEvery: min(time.Minute, r.t.LeaseTTL/3), Stall: r.t.TransferStall,
	})
}

// sawPod takes from a read what was not known before.
func (r *runner) sawPod(pod providers.Pod) {
	if !pod.Status.Dead() {
		r.lastSeen = r.now()
	}
	p := r.run.Pod
	if p == nil {
		return
	}
	news := pod.RatePerHour > 0 && p.RateUSD == 0 || pod.DataCenter != "" && p.DataCenter == "" || pod.GPUType != "" && p.GPUType == ""
	if !news {
		return
	}
	_ = r.save(func(_ *state.State, run *state.Run) {
		if run.Pod == nil || run.Pod.ID != pod.ID {
			return
		}
		if run.Pod.RateUSD == 0 {
			run.Pod.RateUSD = pod.RatePerHour
		}
		if run.Pod.DataCenter == "" {
			run.Pod.DataCenter = pod.DataCenter
		}
		if run.Pod.GPUType == "" {
			run.Pod.GPUType = pod.GPUType
		}
	})
}

func stateEndpoint(e *providers.Endpoint) *state.Endpoint {
	if e == nil {
		return nil
	}
	return &state.Endpoint{Host: e.Host, Port: e.Port, User: e.User}
}
