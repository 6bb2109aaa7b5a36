package apply

import (
	"fmt"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/overbrainer/overbrainer/providers"
)

// streak is answers of one kind in a row.
type streak struct {
	n     int
	since time.Time
}

// lasts counts one more, and reports whether they are as many as that over as
// long a time.
func (s *streak) lasts(now time.Time, n int, window time.Duration) bool {
	if s.n++; s.n == 1 {
		s.since = now
	}
	return s.n >= n && now.Sub(s.since) >= window
}

// foreignKey counts looks at an address that showed another host key than the
// run's. One proves nothing: an image's own sshd may answer before ours, a
// host's forwarding may still lead to where it did. Looks that got no answer
// between them do not speak for the pod either, so they break no streak; only
// another address and the right key do.
//
// The next offer is asked for all the same: it is another machine, often in
// another place, and whatever answers there has to show the run's key, too. Two
// pods with it are the image or somebody on the way, and end the walk.
func (w *readiness) foreignKey(at providers.Endpoint, shown string) error {
	r := w.r
	if w.foreignAt != at {
		w.foreignAt, w.foreign = at, streak{}
	}
	window, guard := r.t.ForeignKeyBoot, "the pod's guard has not spoken"
	if r.guardReady() {
		window, guard = r.t.ForeignKey, "the pod's guard is ready, so the pod's own sshd runs"
	}
	now := r.now()
	if !w.foreign.lasts(now, r.t.Refusals, window) {
		return nil
	}
	e := slow("for %s what answers at %s:%d has shown %s and not this run's host key %s; nothing was sent to it; %s",
		r.t.Nominal(now.Sub(w.foreign.since)).Round(time.Second), at.Host, at.Port, shown, r.hostKeyPrint(), guard)
	e.common = commonForeignKey
	return e
}

// shownKey names the host key that was shown.
func (e *DialError) shownKey() string {
	if e.Fingerprint == "" {
		return "a host key of another kind"
	}
	return fmt.Sprintf("the host key %s", e.Fingerprint)
}

// hostKeyPrint is the fingerprint of the run's host key.
func (r *runner) hostKeyPrint() string {
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(r.run.HostKey))
	if err != nil {
		return "(not readable)"
	}
	return ssh.FingerprintSHA256(key)
}
