package apply

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/crypto/ssh"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// hostKeySecret names the account secret with the run's private host key.
func (r *runner) hostKeySecret() string { return state.HostKeySecret(r.s.lineage, r.run.ID) }

// prepareKeys makes the run's keys where it has none, and stores the private
// host key as an account secret. No pod of the run may exist: the value of the
// secret is never rewritten while a pod could start from it.
func (r *runner) prepareKeys() error {
	lineage := r.s.lineage
	signer, err := r.s.Keys.ClientKey(r.dir(), lineage, r.run.ID)
	if err != nil {
		if signer, err = r.s.Keys.Make(r.dir(), lineage, r.run.ID); err != nil {
			return failf("keys", "%v", err).at(r.address).because(err)
		}
	}
	r.signer = signer
	public, private, err := r.s.Keys.HostKey(lineage, r.run.ID)
	if err != nil {
		return failf("keys", "%v", err).at(r.address).because(err)
	}
	value := base64.StdEncoding.EncodeToString(private)
	r.s.Redactor.Add(value, string(private))
	name := r.hostKeySecret()
	err = r.save(func(_ *state.State, run *state.Run) {
		run.HostKey = publicLine(public)
		run.ClientKey = ssh.FingerprintSHA256(signer.PublicKey())
		run.KeySource = r.s.Keys.Kind()
		run.Holder = r.s.Who.Name()
		noteSecret(run, name, "")
	})
	if err != nil {
		return err
	}
	if err := r.s.mayBegin(); err != nil {
		return err
	}
	ctx, cancel := r.s.effect(r.t.CreateLimit)
	defer cancel()
	var secret providers.Secret
	r.soon(r.late("stores the run's host key"), func() { secret, err = r.rented.Provider.PutSecret(ctx, name, value) })
	if providers.Is(err, providers.Forbidden) { // it was not stored, so nothing of it is left
		if saved := r.save(func(_ *state.State, run *state.Run) { forgetSecret(run, name) }); saved != nil {
			return saved
		}
	}
	if err != nil {
		return r.secretRefused(err)
	}
	return r.save(func(_ *state.State, run *state.Run) { noteSecret(run, name, secret.ID) })
}

func (r *runner) secretRefused(err error) error {
	message := "the pod's host key could not be stored as an account secret, so no pod was created: " + reasonOf(err)
	e := failf("host_key_secret", "%s", message).at(r.address).because(err)
	if providers.Is(err, providers.Forbidden) {
		e.Hint = "the key needs read and write access to the account's secrets"
	}
	return e
}

func noteSecret(run *state.Run, name, id string) {
	for i := range run.Secrets {
		if run.Secrets[i].Name == name {
			if id != "" {
				run.Secrets[i].ID = id
			}
			return
		}
	}
	run.Secrets = append(run.Secrets, state.SecretRef{Name: name, ID: id})
}

func forgetSecret(run *state.Run, name string) {
	run.Secrets = slices.DeleteFunc(run.Secrets, func(have state.SecretRef) bool { return have.Name == name })
}

// placeholder is what stands for the host key in the create call.
func (r *runner) placeholder() string {
	if r.rented.Description.SecretPlaceholder == "" {
		return ""
	}
	return fmt.Sprintf(r.rented.Description.SecretPlaceholder, r.hostKeySecret())
}

// dropSecrets deletes the run's account secrets and proves it. It is called
// only when no pod of the run can exist.
func (r *runner) dropSecrets() error {
	var first error
	for _, ref := range append([]state.SecretRef(nil), r.run.Secrets...) {
		if err := r.dropSecret(ref); err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		err := r.save(func(_ *state.State, run *state.Run) {
			forgetSecret(run, ref.Name)
		})
		if err != nil && first == nil {
			first = err
		}
		r.emit(Event{Kind: EventRemoved, Message: "removed account secret " + ref.Name})
	}
	return first
}

// dropSecret deletes every account secret of exactly this name, until the
// account shows none. One whose ID is known is not looked for first.
func (r *runner) dropSecret(ref state.SecretRef) error {
	left := func(err error) error {
		return failf("secret_left", "account secret %s could not be removed: %s", ref.Name, reasonOf(err)).at(r.address).because(err)
	}
	p := r.rented.Provider
	if ref.ID != "" {
		if _, err := p.DeleteSecret(r.s.steady(), ref.ID); err != nil {
			return left(err)
		}
	}
	for look := 0; ; look++ {
		list, err := r.s.listSecrets(r.provider)
		if err != nil {
			return left(err)
		}
		found := false
		for _, secret := range list {
			if secret.Name != ref.Name {
				continue
			}
			found = true
			if _, err := p.DeleteSecret(r.s.steady(), secret.ID); err != nil {
				return left(err)
			}
		}
		if !found {
			return nil
		}
		if look >= 5 {
			return failf("secret_left", "account secret %s is still there after its deletion", ref.Name).at(r.address)
		}
		if look > 0 {
			r.s.pause(r.t.Poll)
		}
	}
}

// reasonOf is the text of a provider's error, without the name of the call.
func reasonOf(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	return err.Error()
}
