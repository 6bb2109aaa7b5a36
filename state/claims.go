package state

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"
)

// How long a claim holds without being renewed, and how often it is renewed.
const (
	ClaimTTL   = 3 * time.Minute
	ClaimRenew = 30 * time.Second
)

// ClaimHolder is who works: one process on one host.
type ClaimHolder struct {
	Who  string // user name
	Host string
	PID  int
	// Process tells the process from a later one with the same number, see
	// ProcessIdentity.
	Process string
	// TTL is how long a claim holds without renewal; 0 = ClaimTTL.
	TTL time.Duration
	// Alive reports whether a process of this host still runs; nil =
	// ProcessAlive.
	Alive func(pid int, process string) bool
}

// Name is user@host, as runs name who made their key or fetched their results.
func (h ClaimHolder) Name() string { return h.Who + "@" + h.Host }

func (h ClaimHolder) ttl() time.Duration {
	if h.TTL > 0 {
		return h.TTL
	}
	return ClaimTTL
}

func (h ClaimHolder) is(c Claim) bool {
	return c.Who == h.Who && c.Host == h.Host && c.PID == h.PID && c.Process == h.Process
}

// stale reports whether nobody stands behind the claim any more, as far as the
// holder can tell.
func (h ClaimHolder) stale(c Claim, now time.Time) bool {
	if !now.Before(c.Expires) {
		return true
	}
	if c.Host != h.Host || c.PID == 0 {
		return false
	}
	alive := h.Alive
	if alive == nil {
		alive = ProcessAlive
	}
	return !alive(c.PID, c.Process)
}

// ClaimedElsewhere reports whether somebody who still lives works on an address.
func (s *State) ClaimedElsewhere(address string, h ClaimHolder, now time.Time) bool {
	c, ok := s.Claims[address]
	return ok && !h.is(c) && !h.stale(c, now)
}

// ClaimedError says that somebody else works on an address.
type ClaimedError struct {
	Address string
	Claim   Claim
}

func (e *ClaimedError) Error() string {
	return e.Holder() + "; wait for it, or if that process is gone for good: " + e.UnlockCommand()
}

// Holder says who works on the address.
func (e *ClaimedError) Holder() string {
	c := e.Claim
	return fmt.Sprintf("%s is held by %s of %s@%s (pid %d) since %s, claim %s",
		e.Address, c.Operation, c.Who, c.Host, c.PID, c.Since.UTC().Format(time.RFC3339), c.ID)
}

// UnlockCommand is what ends the claim by force.
func (e *ClaimedError) UnlockCommand() string { return "overbrainer force-unlock " + e.Claim.ID }

// ErrClaimLost is what renewing a claim gives that is no longer there: it was
// unlocked by force, or stale and taken over.
var ErrClaimLost = errors.New("the claim is gone: it was ended by force or taken over")

// TakenOver is a stale claim that was replaced.
type TakenOver struct {
	Address string
	Claim   Claim
}

// Why says for people why nobody stands behind the claim any more, as far as the
// holder who took it can tell.
func (o TakenOver) Why(h ClaimHolder, now time.Time) string {
	c := o.Claim
	c.Expires = now.Add(time.Nanosecond) // what is left is whether its process lives
	if h.stale(c, now) {
		return "which is not running any more"
	}
	return fmt.Sprintf("which has not renewed it for %s", (now.Sub(o.Claim.Expires) + h.ttl()).Round(time.Second))
}

// Claim takes all the addresses for the holder, or none, under one new ID. An
// address that the holder has already keeps its claim's start. It gives the ID
// and the stale claims of others that it replaced, by address.
//
// The error is *ClaimedError, for the first address that is held.
func (s *State) Claim(addresses []string, operation string, h ClaimHolder, now time.Time) (string, []TakenOver, error) {
	sorted := append([]string{}, addresses...)
	sort.Strings(sorted)
	var over []TakenOver
	for _, addr := range sorted {
		c, held := s.Claims[addr]
		switch {
		case !held, h.is(c):
		case h.stale(c, now):
			over = append(over, TakenOver{Address: addr, Claim: c})
		default:
			return "", nil, &ClaimedError{Address: addr, Claim: c}
		}
	}
	id := newClaimID()
	for _, addr := range sorted {
		s.Claims[addr] = Claim{
			ID: id, Operation: operation, Who: h.Who, Host: h.Host, PID: h.PID, Process: h.Process,
			Since: now.UTC(), Expires: now.Add(h.ttl()).UTC(),
		}
	}
	return id, over, nil
}

// Renew extends every claim with the ID, ErrClaimLost if there is none.
func (s *State) Renew(id string, h ClaimHolder, now time.Time) error {
	found := false
	for addr, c := range s.Claims {
		if c.ID == id {
			found = true
			c.Expires = now.Add(h.ttl()).UTC()
			s.Claims[addr] = c
		}
	}
	if !found {
		return ErrClaimLost
	}
	return nil
}

// Holds reports whether the claim with the ID still covers the address.
func (s *State) Holds(id, address string) bool {
	c, ok := s.Claims[address]
	return ok && c.ID == id
}

// Release ends the claim with the ID on the addresses, on all of its
// addresses when none is given. What is not held under the ID is left alone.
func (s *State) Release(id string, addresses ...string) {
	for addr, c := range s.Claims {
		if c.ID == id && (len(addresses) == 0 || contains(addresses, addr)) {
			delete(s.Claims, addr)
		}
	}
}

// ForceUnlock ends a claim whoever holds it, and gives the addresses that it
// covered. An ID that no claim has ends nothing and is an error.
func (s *State) ForceUnlock(id string) ([]string, error) {
	var freed []string
	for addr, c := range s.Claims {
		if c.ID == id {
			freed = append(freed, addr)
		}
	}
	if len(freed) == 0 {
		return nil, fmt.Errorf("no claim has the ID %q%s", id, s.claimList())
	}
	sort.Strings(freed)
	s.Release(id)
	return freed, nil
}

func (s *State) claimList() string {
	var ids []string
	for addr, c := range s.Claims {
		ids = append(ids, fmt.Sprintf("%s (%s)", c.ID, addr))
	}
	if len(ids) == 0 {
		return ": there is none"
	}
	sort.Strings(ids)
	return "; there are " + strings.Join(ids, ", ")
}

// DropStaleClaims removes claims that nobody stands behind, and gives them.
func (s *State) DropStaleClaims(h ClaimHolder, now time.Time) []TakenOver {
	var gone []TakenOver
	for addr, c := range s.Claims {
		if h.stale(c, now) {
			gone = append(gone, TakenOver{Address: addr, Claim: c})
			delete(s.Claims, addr)
		}
	}
	sort.Slice(gone, func(i, j int) bool { return gone[i].Address < gone[j].Address })
	return gone
}

func newClaimID() string {
	var b [6]byte
	_, _ = rand.Read(b[:])
	return fmt.Sprintf("%x", b)
}

func contains(list []string, s string) bool {
	for _, have := range list {
		if have == s {
			return true
		}
	}
	return false
}
