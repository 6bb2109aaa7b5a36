//go:build unix

package statetest

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// RemotePlace is one state in a Backend on a real server.
type RemotePlace struct {
	// Backend gives a new backend, as another process would have it, whose
	// connections go through Proxy.
	Backend func() state.Backend
	Proxy   *Proxy
	// Write is a part of the request that writes the state, and no other.
	Write string
	// Put replaces the document behind everybody's back.
	Put func(t *testing.T, data []byte)
	// Args is what Main's open gets in the process that is to crash.
	Args string
}

// waitLong is more than any transaction of a test takes on a slow machine.
const waitLong = time.Minute

// RunRemote runs the whole suite on a RemoteStore: what holds for every store,
// and what only a server between two machines can do to one.
func RunRemote(t *testing.T, place func(t *testing.T) RemotePlace) {
	t.Helper()
	Run(t, func(t *testing.T) Place {
		p := place(t)
		return Place{
			Open:  func() state.Store { return p.open(t, waitLong) },
			Put:   p.Put,
			Crash: func(t *testing.T, moment string) { p.crash(t, moment) },
		}
	})
	for _, test := range []struct {
		name string
		run  func(t *testing.T, p RemotePlace)
	}{
		{"a held lock names its holder, and is ended by force", heldLock},
		{"an answer that is lost is found by reading back", lostAnswer},
		{"a lost answer is found below what others wrote since", lostAnswerBuried},
		{"a request that is lost is sent again", lostRequest},
		{"a server that goes down leaves what was pending beside", serverDown},
		{"a server that is away for a while is waited for", serverAway},
		{"a server that goes down with the answer", serverDownUnsure},
		{"a forced push keeps what it replaces", forcedPush},
		{"sensitive values stay at home", sensitiveValues},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, place(t)) })
	}
}

// open gives a store as another machine has it.
func (p RemotePlace) open(t *testing.T, wait time.Duration) *state.RemoteStore {
	t.Helper()
	return state.Remote(p.Backend(), state.RemoteOptions{Dir: t.TempDir(), Version: "test", Wait: wait, Holder: holder()})
}

func holder() state.ClaimHolder {
	host, _ := os.Hostname()
	return state.ClaimHolder{Who: "ann", Host: host, PID: os.Getpid(), Process: state.ProcessIdentity(os.Getpid())}
}

func count(t *testing.T, p RemotePlace) int {
	t.Helper()
	return read(t, p.open(t, waitLong)).Spend["n"].Runs
}

func heldLock(t *testing.T, p RemotePlace) {
	store := p.open(t, 300*time.Millisecond)
	update(t, store, Count("n"))
	since := time.Now().UTC().Truncate(time.Second)
	other := state.Lock{ID: "feedbeef0001", Operation: "update", Who: "bob@elsewhere", Info: "pid=1 process=x", Created: since}
	tx, err := p.Backend().Begin(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.End(t.Context()) }()
	stale, err := tx.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, store); got.Spend["n"].Runs != 1 {
		t.Errorf("a reader had to wait: %+v", got)
	}

	_, err = store.Update(t.Context(), Count("n"))
	var locked *state.LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("update under somebody else's lock: %v", err)
	}
	if locked.Holder.Who != "bob" || locked.Holder.Host != "elsewhere" || locked.Holder.Since.Sub(since).Abs() > time.Minute || locked.ID == "" {
		t.Errorf("holder %+v, ID %q", locked.Holder, locked.ID)
	}
	if !strings.Contains(err.Error(), "force-unlock "+locked.ID) || locked.Saved == "" {
		t.Errorf("error %v", err)
	}
	var none *state.NoLockError
	if err := store.Unlock(t.Context(), "000000000000"); !errors.As(err, &none) {
		t.Errorf("unlocking an unknown ID: %v", err)
	}
	if err := store.Unlock(t.Context(), locked.ID); err != nil {
		t.Fatal(err)
	}
	after := p.open(t, waitLong)
	update(t, after, Count("n"))

	// Whoever lost the lock writes nothing any more.
	if err := tx.Write(t.Context(), stale); err == nil {
		t.Error("a write went through without the lock")
	}
	if got := count(t, p); got != 2 {
		t.Errorf("count is %d, want 2", got)
	}
}

func lostAnswer(t *testing.T, p RemotePlace) {
	store := p.open(t, waitLong)
	update(t, store, Count("n"))
	p.Proxy.LoseAnswer(p.Write, func() {})
	got := update(t, store, Count("n"))
	if p.Proxy.Armed() {
		t.Fatal("no answer was lost")
	}
	if got.Serial != 2 || got.Spend["n"].Runs != 2 || count(t, p) != 2 {
		t.Errorf("serial %d, count %d, there %d", got.Serial, got.Spend["n"].Runs, count(t, p))
	}
}

func lostAnswerBuried(t *testing.T, p RemotePlace) {
	store, other := p.open(t, waitLong), p.open(t, 200*time.Millisecond)
	update(t, store, Count("n"))
	p.Proxy.LoseAnswer(p.Write, func() {
		_, err := other.Update(t.Context(), Count("n"))
		var locked *state.LockedError
		if errors.As(err, &locked) {
			_ = other.Unlock(t.Context(), locked.ID)
			_, err = other.Update(t.Context(), Count("n"))
		}
		if err != nil {
			t.Errorf("the other writer: %v", err)
		}
	})
	got := update(t, store, Count("n"))
	if got.Spend["n"].Runs != 3 || count(t, p) != 3 {
		t.Errorf("count %d, there %d, want 3", got.Spend["n"].Runs, count(t, p))
	}
}

func lostRequest(t *testing.T, p RemotePlace) {
	store := p.open(t, waitLong)
	update(t, store, Count("n"))
	p.Proxy.LoseRequest(p.Write)
	got := update(t, store, Count("n"))
	if p.Proxy.Armed() {
		t.Fatal("no request was lost")
	}
	if got.Serial != 2 || count(t, p) != 2 {
		t.Errorf("serial %d, there %d", got.Serial, count(t, p))
	}
}

func serverDown(t *testing.T, p RemotePlace) {
	store := p.open(t, 200*time.Millisecond)
	update(t, store, Count("n"))
	p.Proxy.Down()
	_, err := store.Update(t.Context(), Count("n"))
	var backend *state.BackendError
	if !errors.As(err, &backend) || backend.Trouble != state.Unreachable || backend.Hint == "" {
		t.Fatalf("error %v", err)
	}
	p.takeOver(t, store, backend.Saved, 2)
}

// serverAway: who has met the server waits for it, once it was told, and what
// comes after it was waited for in vain does not wait again.
func serverAway(t *testing.T, p RemotePlace) {
	var told []string
	store := state.Remote(p.Backend(), state.RemoteOptions{
		Dir: t.TempDir(), Version: "test", Wait: waitLong, Holder: holder(), Tell: func(s string) { told = append(told, s) },
	})
	p.Proxy.Down()
	if _, err := store.Read(t.Context()); err == nil || len(told) != 0 {
		t.Errorf("a server that never answered: %v, told %q", err, told)
	}
	p.Proxy.Up()
	update(t, store, Count("n"))
	for _, use := range []func(){func() { update(t, store, Count("n")) }, func() { read(t, store) }} {
		told = nil
		p.Proxy.Down()
		back := time.AfterFunc(300*time.Millisecond, p.Proxy.Up)
		use()
		back.Stop()
		if len(told) != 2 || !strings.Contains(told[0], "cannot be reached") || !strings.Contains(told[1], "answers again") {
			t.Errorf("told %q", told)
		}
		if files := store.Rescued(); len(files) != 0 {
			t.Errorf("saved %v", files)
		}
	}
	if got := count(t, p); got != 2 {
		t.Errorf("count %d, want 2", got)
	}

	impatient := p.open(t, time.Second)
	update(t, impatient, Count("n"))
	p.Proxy.Down()
	if _, err := impatient.Update(t.Context(), Count("n")); err == nil {
		t.Fatal("written to a server that is down")
	}
	since := time.Now()
	if _, err := impatient.Update(t.Context(), Count("n")); err == nil || time.Since(since) > 900*time.Millisecond {
		t.Errorf("after %s: %v", time.Since(since), err)
	}
	if files := impatient.Rescued(); len(files) != 1 {
		t.Errorf("saved %v", files)
	}
	p.Proxy.Up()
	update(t, impatient, Count("n"))
	if got, files := count(t, p), impatient.Rescued(); got != 6 || len(files) != 0 {
		t.Errorf("count %d, want 6; saved %v", got, files)
	}
}

func serverDownUnsure(t *testing.T, p RemotePlace) {
	store := p.open(t, 200*time.Millisecond)
	update(t, store, Count("n"))
	p.Proxy.LoseAnswer(p.Write, p.Proxy.Down)
	_, err := store.Update(t.Context(), Count("n"))
	var write *state.WriteError
	if !errors.As(err, &write) || !write.Unsure {
		t.Fatalf("error %v", err)
	}
	p.takeOver(t, store, write.Saved, 2)
}

// takeOver pushes the saved state when the server is back, as the message says.
func (p RemotePlace) takeOver(t *testing.T, store *state.RemoteStore, saved string, want int) {
	t.Helper()
	data, err := os.ReadFile(saved)
	if err != nil {
		t.Fatalf("what was pending is not saved: %v", err)
	}
	pending, err := state.Decode(saved, data)
	if err != nil || pending.Spend["n"].Runs != want {
		t.Fatalf("saved %+v, %v", pending, err)
	}
	p.Proxy.Up()
	if files := store.Rescued(); len(files) != 1 || files[0] != saved {
		t.Errorf("beside the state lies %v", files)
	}
	if err := store.Push(t.Context(), pending, false); err != nil {
		t.Fatal(err)
	}
	if got := count(t, p); got != want {
		t.Errorf("count %d, want %d", got, want)
	}
}

func forcedPush(t *testing.T, p RemotePlace) {
	update(t, p.open(t, waitLong), Count("n"))
	dir := t.TempDir()
	store := state.Remote(p.Backend(), state.RemoteOptions{Dir: dir, Version: "test", Holder: holder()})
	var refused *state.PushError
	if err := store.Push(t.Context(), state.New("other"), false); !errors.As(err, &refused) {
		t.Fatalf("another lineage: %v", err)
	}
	if err := store.Push(t.Context(), state.New("other"), true); err != nil {
		t.Fatal(err)
	}
	if got := read(t, p.open(t, waitLong)); got.Lineage != "other" || got.Serial != 2 {
		t.Errorf("there is %s, serial %d", got.Lineage, got.Serial)
	}
	kept, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range kept {
		if data, err := os.ReadFile(dir + "/" + f.Name()); err == nil && strings.Contains(string(data), `"runs": 1`) {
			return
		}
	}
	t.Errorf("what was replaced is gone: %v", kept)
}

func sensitiveValues(t *testing.T, p RemotePlace) {
	store := p.open(t, waitLong)
	with := func(s *state.State) error {
		s.Outputs["token"] = state.Output{Value: "s3cr3t-word", Type: "string", Sensitive: true}
		s.Outputs["loss"] = state.Output{Value: "plain-word", Type: "string"}
		return nil
	}
	there := func() string {
		data, err := p.Backend().Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	written := update(t, store, with)
	if text := there(); strings.Contains(text, "s3cr3t-word") || !strings.Contains(text, "plain-word") || !strings.Contains(text, "token") {
		t.Errorf("an update wrote %s", text)
	}
	if err := with(written); err != nil {
		t.Fatal(err)
	}
	if err := store.Push(t.Context(), written, false); err != nil {
		t.Fatal(err)
	}
	if text := there(); strings.Contains(text, "s3cr3t-word") || !strings.Contains(text, "plain-word") {
		t.Errorf("a push wrote %s", text)
	}
}

// crashEnv makes a test binary the process that crashes: MOMENT|ARGS.
const crashEnv = "STATETEST_CRASH"

// Main is TestMain of a package that runs RunRemote. open gives the backend in
// the process that is to crash, of a place's Args.
func Main(m *testing.M, open func(args string) (state.Backend, error)) {
	moment, args, crashing := strings.Cut(os.Getenv(crashEnv), "|")
	if !crashing {
		os.Exit(m.Run())
	}
	b, err := open(args)
	if err == nil {
		err = crashIn(b, moment)
	}
	println("the process did not crash:", err.Error())
	os.Exit(1)
}

func (p RemotePlace) crash(t *testing.T, moment string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashEnv+"="+moment+"|"+p.Args)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the process was not killed: %v\n%s", err, out)
	}
}
