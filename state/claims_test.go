package state

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alive := true
		ann := ClaimHolder{Who: "ann", Host: "desk", PID: 10, Process: "boot/1", Alive: func(int, string) bool { return alive }}
		other := ann
		other.PID, other.Process = 11, "boot/2"
		remote := ClaimHolder{Who: "bob", Host: "lab", PID: 10, Alive: func(int, string) bool { return false }}
		s := New("x")

		id, over, err := s.Claim([]string{"run.b", "run.a"}, "apply", ann, time.Now())
		if err != nil || len(over) > 0 || !s.Holds(id, "run.a") || !s.Holds(id, "run.b") {
			t.Fatalf("%s %v %v", id, over, err)
		}

		// All or nothing, and the error says all there is to know.
		_, _, err = s.Claim([]string{"run.c", "run.b"}, "destroy", other, time.Now())
		var held *ClaimedError
		if !errors.As(err, &held) || s.Claims["run.c"].ID != "" {
			t.Fatalf("%v", err)
		}
		for _, word := range []string{"run.b", "apply", "ann@desk", "pid 10", "since 2000-01-01T00:00:00Z", "overbrainer force-unlock " + id} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%q is not in %q", word, err)
			}
		}

		// A process of another host cannot judge ours, whatever runs there.
		if _, _, err := s.Claim([]string{"run.a"}, "apply", remote, time.Now()); !errors.As(err, &held) {
			t.Errorf("another host took a live claim: %v", err)
		}
		if _, _, err := s.Claim([]string{"run.d"}, "apply", remote, time.Now()); err != nil {
			t.Errorf("a free address: %v", err)
		}

		// Renewed claims last, others end after three minutes.
		time.Sleep(2 * time.Minute)
		if err := s.Renew(id, ann, time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		if _, _, err := s.Claim([]string{"run.a"}, "apply", remote, time.Now()); !errors.As(err, &held) {
			t.Errorf("a renewed claim was taken: %v", err)
		}
		_, over, err = s.Claim([]string{"run.d"}, "apply", ann, time.Now())
		if err != nil || len(over) != 1 || over[0].Claim.Who != "bob" {
			t.Errorf("a stale claim was not taken over: %v %v", over, err)
		}
		time.Sleep(time.Minute)
		if _, _, err = s.Claim([]string{"run.a"}, "apply", remote, time.Now()); err != nil {
			t.Errorf("after exactly three minutes: %v", err)
		}
		if err := s.Renew("none", ann, time.Now()); !errors.Is(err, ErrClaimLost) {
			t.Errorf("renewing what is gone: %v", err)
		}

		// A dead process of the same host is taken over at once.
		alive = false
		id2, over, err := s.Claim([]string{"run.b"}, "apply", other, time.Now())
		if err != nil || len(over) != 1 || over[0].Address != "run.b" {
			t.Errorf("dead process: %v %v", over, err)
		}
		if err := s.Renew(id, ann, time.Now()); !errors.Is(err, ErrClaimLost) {
			t.Errorf("the claim that was taken over: %v", err)
		}

		if _, err := s.ForceUnlock("wrong"); err == nil || !strings.Contains(err.Error(), id2) {
			t.Errorf("wrong ID: %v", err)
		}
		if freed, err := s.ForceUnlock(id2); err != nil || len(freed) != 1 || s.Claims["run.b"].ID != "" {
			t.Errorf("force: %v %v", freed, err)
		}
	})
}

func TestReleaseIsExact(t *testing.T) {
	s := New("x")
	h := ClaimHolder{Who: "a", Host: "h", PID: os.Getpid(), Process: ProcessIdentity(os.Getpid())}
	id, _, _ := s.Claim([]string{"run.a", "run.b"}, "apply", h, time.Now())
	s.Release("other")
	s.Release(id, "run.a")
	if len(s.Claims) != 1 || !s.Holds(id, "run.b") {
		t.Errorf("claims %v", s.Claims)
	}
	// The same process may claim again what it has.
	again, over, err := s.Claim([]string{"run.b"}, "destroy", h, time.Now())
	if err != nil || len(over) > 0 || !s.Holds(again, "run.b") {
		t.Errorf("%v %v", over, err)
	}
	s.Release(again)
	if len(s.Claims) != 0 {
		t.Errorf("claims %v", s.Claims)
	}
}

func TestDropStaleClaims(t *testing.T) {
	s := New("x")
	now := time.Now()
	dead := ClaimHolder{Who: "a", Host: "h", PID: 1, Alive: func(int, string) bool { return false }}
	far := ClaimHolder{Who: "b", Host: "far", PID: 1}
	_, _, _ = s.Claim([]string{"run.a"}, "apply", dead, now)
	_, _, _ = s.Claim([]string{"run.b"}, "apply", far, now)
	if gone := s.DropStaleClaims(dead, now); len(gone) != 1 || gone[0].Address != "run.a" || len(s.Claims) != 1 {
		t.Errorf("gone %v, left %v", gone, s.Claims)
	}
}

func TestProcessIdentity(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skip("no sleep here")
	}
	pid := cmd.Process.Pid
	identity := ProcessIdentity(pid)
	if identity == "" {
		t.Skip("this system does not tell")
	}
	if !ProcessAlive(pid, identity) || ProcessAlive(pid, identity+"0") || !ProcessAlive(pid, "") {
		t.Error("a live process is not known, or a later one taken for it")
	}
	_ = cmd.Process.Kill()
	for ProcessAlive(pid, identity) { // until the kernel has made a zombie of it
		time.Sleep(time.Millisecond)
	}
	_ = cmd.Wait()
	if ProcessAlive(pid, identity) {
		t.Error("a dead process lives")
	}
}
