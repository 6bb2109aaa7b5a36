package apply

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/crypto/ssh"

	"github.com/overbrainer/overbrainer/state"
)

// ErrNoKey says that a run's private client key is not here.
var ErrNoKey = errors.New("the run's private key is not here")

// ErrOtherKey says that a key is here, and not the one that a run's pod lets in.
var ErrOtherKey = errors.New("the key here is not the one that the run was started with")

// KeyFits holds a client key against the one that a run was started with, as far
// as the state knows it.
func KeyFits(run *state.Run, key ssh.Signer) error {
	if run.ClientKey == "" || run.ClientKey == ssh.FingerprintSHA256(key.PublicKey()) {
		return nil
	}
	if run.KeySource == "derived" {
		return otherKey{"OVERBRAINER_KEY is not the one that run " + run.ID + " was started with"}
	}
	return otherKey{fmt.Sprintf("run %s was started with a key of its own, which is a file on the machine of %s, not with this OVERBRAINER_KEY", run.ID, run.Holder)}
}

// WhoHasKey says for people, on the machine of me, who has the private key of a
// run that is not here.
func WhoHasKey(run *state.Run, me string) string {
	switch {
	case run.Holder != me:
		return run.Holder + " holds it"
	case run.KeySource == (DerivedKeys{}).Kind():
		return "it is derived from an OVERBRAINER_KEY that was set on this machine"
	}
	return fmt.Sprintf("it was made on this machine, in %s, and is not there any more", run.Dir)
}

// WithoutKey is what to do about a run at an address whose private key is not here,
// on the machine of me, for why: how to go on with it, and what ends its pod.
func WithoutKey(address string, run *state.Run, me string, why error) string {
	ends := withoutResults(address) + " ends it, with what its job has written"
	switch {
	case run.KeySource == DerivedKeys{}.Kind():
		return "set OVERBRAINER_KEY to the value that the run was started with by " + run.Holder + "; " + ends
	case run.Holder != me:
		return "go on there; " + ends
	case errors.Is(why, ErrOtherKey):
		return "unset OVERBRAINER_KEY; " + ends
	}
	return ends + "; with OVERBRAINER_KEY later runs have no key in a file"
}

// KeyLost reports whether a run's private key was made on this machine, into a file
// that is not there any more, while its pod may want to be asked.
func KeyLost(project string, run *state.Run, me string) bool {
	if run.Pod == nil || run.Pod.Gone() || run.Holder != me || run.KeySource != (FileKeys{}).Kind() {
		return false
	}
	_, err := os.Stat(filepath.Join(project, filepath.FromSlash(run.Dir), sshDir, clientKey))
	return errors.Is(err, os.ErrNotExist)
}

// otherKey is an ErrOtherKey that says which key is needed.
type otherKey struct{ text string }

func (e otherKey) Error() string { return e.text }
func (otherKey) Unwrap() error   { return ErrOtherKey }

// Names in a run's ssh directory.
const (
	sshDir     = "ssh"
	clientKey  = "id_ed25519"
	knownHosts = "known_hosts"
	sshConfig  = "config"
)

// FileKeys makes random keys and keeps the client's in the run's directory:
// DIR/ssh (0700) with id_ed25519 (0600) and id_ed25519.pub. The private host
// key is in memory only.
type FileKeys struct{}

// Kind is "file".
func (FileKeys) Kind() string { return "file" }

// Make generates the client key and writes it.
func (FileKeys) Make(dir, _, runID string) (ssh.Signer, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("no key could be made: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(private, alias(runID))
	if err != nil {
		return nil, fmt.Errorf("no key could be made: %w", err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		return nil, err
	}
	keep := filepath.Join(dir, sshDir)
	if err := os.MkdirAll(keep, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chmod(keep, 0o700); err != nil {
		return nil, err
	}
	if err := replaceFile(filepath.Join(keep, clientKey), pem.EncodeToMemory(block)); err != nil {
		return nil, err
	}
	return signer, putFile(filepath.Join(keep, clientKey+".pub"), []byte(authorizedLine(signer, runID)+"\n"), false)
}

// ClientKey reads the key that Make wrote.
func (FileKeys) ClientKey(dir, _, _ string) (ssh.Signer, error) {
	path := filepath.Join(dir, sshDir, clientKey)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrNoKey, path)
	}
	if err != nil {
		return nil, err
	}
	signer, err := ssh.ParsePrivateKey(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %s is not a private key", ErrNoKey, path)
	}
	return signer, nil
}

// HostKey makes a new pair.
func (FileKeys) HostKey(_, runID string) (ssh.PublicKey, []byte, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("no key could be made: %w", err)
	}
	return hostPair(private, runID)
}

// Forget removes the client key, public half included.
func (FileKeys) Forget(dir string) error {
	keep := filepath.Join(dir, sshDir)
	for _, name := range []string{clientKey, clientKey + ".pub"} {
		if err := os.Remove(filepath.Join(keep, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// DerivedKeys makes every key from one secret of at least 32 bytes, the
// lineage and the run ID, so that any machine that has the secret can go on
// with a run and no private key is kept in a file.
type DerivedKeys struct{ Secret []byte }

// NewDerivedKeys reads the secret in base64.
func NewDerivedKeys(encoded string) (DerivedKeys, error) {
	secret, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		if secret, err = base64.RawStdEncoding.DecodeString(encoded); err != nil {
			return DerivedKeys{}, errors.New("OVERBRAINER_KEY is not base64")
		}
	}
	if len(secret) < 32 {
		return DerivedKeys{}, fmt.Errorf("OVERBRAINER_KEY has %d bytes; it needs at least 32 random ones, in base64", len(secret))
	}
	return DerivedKeys{Secret: secret}, nil
}

// Kind is "derived".
func (DerivedKeys) Kind() string { return "derived" }

// Make gives the client key; nothing is written.
func (d DerivedKeys) Make(_, lineage, runID string) (ssh.Signer, error) {
	private, err := d.derive(lineage, runID, "client")
	if err != nil {
		return nil, err
	}
	return ssh.NewSignerFromKey(private)
}

// ClientKey gives the same key as Make.
func (d DerivedKeys) ClientKey(dir, lineage, runID string) (ssh.Signer, error) {
	return d.Make(dir, lineage, runID)
}

// HostKey gives the same pair at each call.
func (d DerivedKeys) HostKey(lineage, runID string) (ssh.PublicKey, []byte, error) {
	private, err := d.derive(lineage, runID, "host")
	if err != nil {
		return nil, nil, err
	}
	return hostPair(private, runID)
}

// Forget has nothing to remove.
func (DerivedKeys) Forget(string) error { return nil }

func (d DerivedKeys) derive(lineage, runID, purpose string) (ed25519.PrivateKey, error) {
	seed, err := hkdf.Key(sha256.New, d.Secret, []byte(lineage), "overbrainer/1/"+purpose+"/"+runID, ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("no key could be derived: %w", err)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

func hostPair(private ed25519.PrivateKey, runID string) (ssh.PublicKey, []byte, error) {
	public, err := ssh.NewPublicKey(private.Public())
	if err != nil {
		return nil, nil, err
	}
	block, err := ssh.MarshalPrivateKey(private, alias(runID))
	if err != nil {
		return nil, nil, err
	}
	return public, pem.EncodeToMemory(block), nil
}

// alias is the name by which a run's pod is known, whatever its address.
func alias(runID string) string { return "overbrainer-" + runID }

// authorizedLine is a public key as sshd reads it.
func authorizedLine(signer ssh.Signer, runID string) string {
	line := ssh.MarshalAuthorizedKey(signer.PublicKey())
	return string(line[:len(line)-1]) + " " + alias(runID)
}

// publicLine is a public key on one line, without a comment.
func publicLine(key ssh.PublicKey) string {
	line := ssh.MarshalAuthorizedKey(key)
	return string(line[:len(line)-1])
}
