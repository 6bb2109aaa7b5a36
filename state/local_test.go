package state

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// helperEnv makes the test binary act as a second process, see TestMain.
const helperEnv = "STATE_TEST_HELPER"

func TestMain(m *testing.M) {
	if args := os.Getenv(helperEnv); args != "" {
		os.Exit(helper(strings.Split(args, "|")))
	}
	os.Exit(m.Run())
}

// helper is what the second process does: ACTION|DIR|….
func helper(args []string) int {
	action, dir := args[0], args[1]
	store := Local(dir, "helper", LockTimeout(30*time.Second), HeldBy(ClaimHolder{Who: "bob", Host: "box", PID: os.Getpid()}))
	kill := func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} }
	count := func(name string) func(*State) error {
		return func(s *State) error {
			s.Spend[name] = Spend{Runs: s.Spend[name].Runs + 1}
			return nil
		}
	}
	var err error
	switch action {
	case "count":
		for range 25 {
			if _, err = store.Update(context.Background(), count("n")); err != nil {
				break
			}
		}
	case "crash-before":
		_, err = store.Update(context.Background(), func(s *State) error { kill(); return nil })
	case "crash-after":
		store.sys.syncDir = func(string) error { kill(); return nil }
		_, err = store.Update(context.Background(), count("crash"))
	case "small-disk-journal":
		signalIgnoreXFSZ()
		limit := syscall.Rlimit{Cur: 8192, Max: 8192}
		if err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			break
		}
		JournalFrom(0)(store)
		store.Session()
		for i := 0; err == nil; i++ {
			if err = touch(store, message(i%3, strings.Repeat("x", 100*i)), address(i%3)); err == nil {
				fmt.Println("written")
			}
		}
	case "journal":
		err = journalHelper(store, args[2], kill)
	case "hold":
		_, err = store.Update(context.Background(), func(*State) error {
			fmt.Println("held")
			_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
			return ErrNoChange
		})
	case "small-disk":
		// A write past the limit fails as on a full disk.
		signalIgnoreXFSZ()
		limit := syscall.Rlimit{Cur: 4096, Max: 4096}
		if err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			break
		}
		Rescue("", os.Stderr)(store)
		if _, err = store.Read(context.Background()); err != nil {
			break
		}
		_, err = store.Update(context.Background(), func(s *State) error {
			s.Outputs["big"] = Output{Value: strings.Repeat("x", 8192)}
			return nil
		})
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func start(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperEnv+"="+strings.Join(args, "|"))
	return cmd
}

func bump(s *State) error {
	s.Spend["n"] = Spend{Runs: s.Spend["n"].Runs + 1}
	return nil
}

func mustUpdate(t *testing.T, l *LocalStore, change func(*State) error) *State {
	t.Helper()
	s, err := l.Update(t.Context(), change)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFilesAndModes(t *testing.T) {
	old := syscall.Umask(0o777)
	defer syscall.Umask(old)
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	mustUpdate(t, Local(dir, "1.2.3"), bump)
	mustUpdate(t, Local(dir, "1.2.3"), bump)
	for _, name := range []string{FileName, FileName + backupSuffix} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o", name, info.Mode().Perm())
		}
	}
	backup, err := os.ReadFile(filepath.Join(dir, FileName+backupSuffix))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Decode("backup", backup)
	if err != nil || s.Serial != 1 {
		t.Errorf("backup has serial %v, %v", s, err)
	}
	if s.OverbrainerVersion != "1.2.3" {
		t.Errorf("written by %q", s.OverbrainerVersion)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*.tmp*"))
	if len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestProcessesLoseNothing(t *testing.T) {
	dir := t.TempDir()
	var cmds []*exec.Cmd
	for range 4 {
		cmd := start(t, "count", dir)
		cmd.Stdout = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	s, err := Local(dir, "1").Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Serial != 100 || s.Spend["n"].Runs != 100 {
		t.Errorf("serial %d, count %d, want 100", s.Serial, s.Spend["n"].Runs)
	}
}

func TestLockTimeoutNamesTheHolder(t *testing.T) {
	dir := t.TempDir()
	l := Local(dir, "1", LockTimeout(50*time.Millisecond))
	mustUpdate(t, l, bump)
	cmd := start(t, "hold", dir)
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("helper said %q", line)
	}
	_, err := l.Update(t.Context(), bump)
	var locked *LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("error %v", err)
	}
	if locked.Holder.Who != "bob" || locked.Holder.PID != cmd.Process.Pid || locked.Holder.Since.IsZero() {
		t.Errorf("holder %+v", locked.Holder)
	}
	if locked.Saved == "" {
		t.Error("what was to be written is not saved")
	}
	if _, err := l.Read(t.Context()); err != nil {
		t.Errorf("read while locked: %v", err)
	}
	_ = in.Close()
	_ = cmd.Wait()
	mustUpdate(t, l, bump)
}

func TestNoLocksHere(t *testing.T) {
	for _, errno := range []error{syscall.ENOLCK, syscall.EOPNOTSUPP} {
		dir := t.TempDir()
		l := Local(dir, "1")
		l.sys.flock = func(*os.File) error { return errno }
		_, err := l.Update(t.Context(), bump)
		var none *NoLocksError
		if !errors.As(err, &none) || none.Dir != dir || !strings.Contains(err.Error(), dir) {
			t.Errorf("error %v", err)
		}
		if err := l.Writable(t.Context()); !errors.As(err, &none) {
			t.Errorf("writable: %v", err)
		}
	}
}

func TestGroupCommitSharesWrites(t *testing.T) {
	l := Local(t.TempDir(), "1")
	writes := 0
	begun, gate := make(chan struct{}), make(chan struct{})
	write := l.sys.write
	l.sys.write = func(path string, data []byte) error {
		if writes++; writes == 1 {
			close(begun)
			<-gate
		}
		return write(path, data)
	}
	var wg sync.WaitGroup
	update := func() {
		if _, err := l.Update(t.Context(), bump); err != nil {
			t.Error(err)
		}
	}
	wg.Go(update)
	<-begun // it writes alone; the others wait
	for range 49 {
		wg.Go(update)
	}
	for queued := 0; queued < 49; runtime.Gosched() {
		l.mu.Lock()
		queued = len(l.queue)
		l.mu.Unlock()
	}
	close(gate)
	wg.Wait()
	s, _ := l.Read(t.Context())
	if s.Spend["n"].Runs != 50 || writes > 2 {
		t.Errorf("count %d in %d writes", s.Spend["n"].Runs, writes)
	}
}

func TestBadChangeDoesNotTakeOthersAlong(t *testing.T) {
	l := Local(t.TempDir(), "1")
	gate, waiting := make(chan struct{}), make(chan struct{})
	go func() {
		_, _ = l.Update(context.Background(), func(s *State) error { close(waiting); <-gate; return bump(s) })
	}()
	<-waiting
	errs := make(chan error, 3)
	bad := func(s *State) error { s.Resources["run.x"] = &Resource{}; return nil }
	for _, change := range []func(*State) error{bump, bad, bump} {
		go func() { _, err := l.Update(context.Background(), change); errs <- err }()
	}
	for {
		l.mu.Lock()
		n := len(l.queue)
		l.mu.Unlock()
		if n == 3 {
			break
		}
		runtime.Gosched()
	}
	close(gate)
	failed := 0
	for range 3 {
		if err := <-errs; err != nil {
			failed++
		}
	}
	s, err := l.Read(t.Context())
	if err != nil || failed != 1 || s.Spend["n"].Runs != 3 {
		t.Errorf("%d failed, count %d, %v", failed, s.Spend["n"].Runs, err)
	}
}

func TestContextEndsTheWait(t *testing.T) {
	l := Local(t.TempDir(), "1")
	gate, waiting := make(chan struct{}), make(chan struct{})
	go func() {
		_, _ = l.Update(context.Background(), func(s *State) error { close(waiting); <-gate; return nil })
	}()
	<-waiting
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Update(ctx, bump); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	close(gate)
	if s := mustUpdate(t, l, bump); s.Spend["n"].Runs != 1 {
		t.Errorf("count %d", s.Spend["n"].Runs)
	}
}

// Who may not read a state has nothing to put back.
func TestForbiddenStates(t *testing.T) {
	err := &ReadError{Path: "p", Err: &fs.PathError{Op: "open", Path: "p", Err: syscall.EACCES}}
	if text := err.Error(); strings.Contains(text, "put the file back") || !strings.Contains(text, "permission denied") {
		t.Error(text)
	}
	if text := (&ReadError{Path: "p", Err: syscall.EISDIR}).Error(); !strings.Contains(text, "put the file back") {
		t.Error(text)
	}
}

func TestUnreadableStates(t *testing.T) {
	good, err := Encode(New("0123"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		make  func(path string) error
		kind  func(error) bool
		words string
	}{
		{"newer", text(`{"version": 99, "overbrainer_version": "9.0", "lineage": "x"}`), is[*NewerError], "version 99, written by overbrainer 9.0"},
		{"directory", func(p string) error { return os.Mkdir(p, 0o755) }, is[*ReadError], "directory"},
		{"link to nowhere", func(p string) error { return os.Symlink("nowhere", p) }, is[*ReadError], "not there"},
		{"array", text(`[1]`), is[*DamagedError], "array"},
		{"empty", text(``), is[*DamagedError], "empty"},
		{"truncated", text(string(good[:len(good)-10])), is[*DamagedError], "ends in the middle"},
		{"garbage", text("\x00\x01"), is[*DamagedError], "no JSON"},
		{"something after", text(string(good) + "{}"), is[*DamagedError], ""},
		{"unknown field", text(`{"version":1,"lineage":"x","extra":1}`), is[*DamagedError], "extra"},
		{"no version", text(`{}`), is[*DamagedError], "no format version"},
		{"version 0", text(`{"version":0}`), is[*DamagedError], "never existed"},
		{"neither run nor volume", text(`{"version":1,"resources":{"run.a":{"type":"run"}}}`), is[*DamagedError], "run.a"},
		{"null", text(`null`), is[*DamagedError], ""},
		{"mode 000", func(p string) error { return errors.Join(os.WriteFile(p, good, 0o600), os.Chmod(p, 0)) }, is[*ReadError], "permission"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "mode 000" && os.Getuid() == 0 {
				t.Skip("root reads everything")
			}
			dir := t.TempDir()
			path := filepath.Join(dir, FileName)
			if err := test.make(path); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(path)
			l := Local(dir, "1")
			_, err := l.Read(t.Context())
			if err == nil || !test.kind(err) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), test.words) {
				t.Errorf("read: %T %v", err, err)
			}
			if _, err := l.Update(t.Context(), bump); err == nil || !test.kind(err) {
				t.Errorf("update: %T %v", err, err)
			}
			if err := l.Writable(t.Context()); err == nil {
				t.Error("said to be writable")
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("the file changed")
			}
			if len(l.Rescued()) > 0 {
				t.Error("a copy was saved of nothing")
			}
		})
	}
}

func text(s string) func(string) error {
	return func(p string) error { return os.WriteFile(p, []byte(s), 0o600) }
}

func is[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

func TestReplacedWhileRunning(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	l := Local(dir, "1")
	mustUpdate(t, l, bump)
	first, _ := os.ReadFile(path)
	mustUpdate(t, l, bump)
	second, _ := os.ReadFile(path)
	other, _ := Encode(&State{Version: 1, Lineage: "other", Serial: 9})

	bumps := 2
	for name, replace := range map[string]func() error{
		"older":         func() error { return os.WriteFile(path, first, 0o600) },
		"other project": func() error { return os.WriteFile(path, other, 0o600) },
		"gone":          func() error { return os.Remove(path) },
		"same serial": func() error {
			return os.WriteFile(path, bytes.Replace(second, []byte(`"runs": 2`), []byte(`"runs": 7`), 1), 0o600)
		},
		"not overwritten": func() error { return os.WriteFile(path, []byte("["), 0o600) },
	} {
		if err := replace(); err != nil {
			t.Fatal(err)
		}
		before, _ := os.ReadFile(path)
		_, err := l.Update(t.Context(), bump)
		var replaced *ReplacedError
		if name != "not overwritten" && !errors.As(err, &replaced) {
			t.Errorf("%s: %v", name, err)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Errorf("%s: the file was written", name)
		}
		copies := l.Rescued()
		if len(copies) != 1 || !strings.Contains(err.Error(), copies[0]) {
			t.Fatalf("%s: saved %v, error %v", name, copies, err)
		}
		data, _ := os.ReadFile(copies[0])
		bumps++ // each copy has what could not be written before, too
		if s, err := Decode("copy", data); err != nil || s.Spend["n"].Runs != bumps || s.Serial != 3 {
			t.Errorf("%s: copy %v %v", name, s, err)
		}
		_ = os.Remove(copies[0])
		if _, err := l.Read(t.Context()); err == nil {
			t.Errorf("%s: read", name)
		}
		if err := os.WriteFile(path, second, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStateOfAnotherProject(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	mustUpdate(t, Local(dir, "1"), bump)
	other, _ := Encode(&State{Version: 1, Lineage: "other", Serial: 9})
	if err := os.WriteFile(path, other, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Local(dir, "1").Read(t.Context())
	var replaced *ReplacedError
	if !errors.As(err, &replaced) || replaced.Pin == "" || !strings.Contains(err.Error(), "another project") {
		t.Fatalf("error %v", err)
	}
	// A missing state is a new beginning.
	_ = os.Remove(path)
	s := mustUpdate(t, Local(dir, "1"), bump)
	if _, err := Local(dir, "1").Read(t.Context()); err != nil {
		t.Errorf("new lineage %s: %v", s.Lineage, err)
	}
}

func TestLinkedStateIsReplacedWhereItLies(t *testing.T) {
	dir, shared := t.TempDir(), t.TempDir()
	real := filepath.Join(shared, "state.json")
	data, _ := Encode(&State{Version: 1, Lineage: "x", Serial: 1})
	if err := os.WriteFile(real, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, filepath.Join(dir, FileName)); err != nil {
		t.Fatal(err)
	}
	mustUpdate(t, Local(dir, "1"), bump)
	got, _ := os.ReadFile(real)
	if s, err := Decode(real, got); err != nil || s.Serial != 2 {
		t.Errorf("%v %v", s, err)
	}
	if info, _ := os.Lstat(filepath.Join(dir, FileName)); info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
}

func TestFailedWriteSavesACopy(t *testing.T) {
	full := errors.New("no space left on device")
	for _, test := range []struct {
		name    string
		refuse  func(path, dir string) bool
		inWords string
	}{
		{"beside", func(path, dir string) bool { return strings.HasSuffix(path, tempName) }, "pending-"},
		{"temporary directory", func(path, dir string) bool { return strings.HasPrefix(path, dir) }, "pending-"},
		{"printed", func(path, dir string) bool { return true }, "standard error"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, temp := t.TempDir(), t.TempDir()
			var printed bytes.Buffer
			l := Local(dir, "1", Rescue(temp, &printed))
			mustUpdate(t, l, bump)
			before, _ := os.ReadFile(l.Where())
			real := l.sys.write
			l.sys.write = func(path string, data []byte) error {
				if test.refuse(path, dir) {
					return &os.PathError{Op: "write", Path: path, Err: full}
				}
				return real(path, data)
			}
			_, err := l.Update(t.Context(), bump)
			var failed *WriteError
			if !errors.As(err, &failed) || !errors.Is(err, full) || !strings.Contains(err.Error(), test.inWords) {
				t.Fatalf("error %v", err)
			}
			data := printed.Bytes()
			if failed.Saved != "standard error" {
				if data, err = os.ReadFile(failed.Saved); err != nil {
					t.Fatal(err)
				}
			}
			if s, err := Decode("copy", data); err != nil || s.Spend["n"].Runs != 2 {
				t.Errorf("copy %v %v", s, err)
			}
			if after, _ := os.ReadFile(l.Where()); !bytes.Equal(before, after) {
				t.Error("the file changed")
			}
			if err := l.Writable(t.Context()); err == nil {
				t.Error("said to be writable")
			}
			// With room again the copy is taken over.
			l.sys.write = real
			s, _ := Decode("copy", data)
			if err := l.Push(t.Context(), s, false); err != nil {
				t.Fatal(err)
			}
			if s := mustUpdate(t, l, bump); s.Spend["n"].Runs != 3 {
				t.Errorf("count %d", s.Spend["n"].Runs)
			}
		})
	}
}

func TestFullDiskForReal(t *testing.T) {
	dir := t.TempDir()
	l := Local(dir, "1")
	mustUpdate(t, l, bump)
	var stderr bytes.Buffer
	cmd := start(t, "small-disk", dir)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil || !strings.Contains(string(out), "cannot be written") {
		t.Fatalf("%v: %s", err, out)
	}
	if !json.Valid(stderr.Bytes()) || !strings.Contains(string(out), "standard error") {
		t.Errorf("the pending state was not printed whole: %s", out)
	}
	if s := mustUpdate(t, l, bump); s.Serial != 2 {
		t.Errorf("serial %d", s.Serial)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*pending*")); len(left) > 0 {
		t.Errorf("half a copy is left: %v", left)
	}
}

func TestUpgradeKeepsACopy(t *testing.T) {
	old := []byte(`{"version": 0, "lineage": "x", "serial": 4, "things": {}}`)
	steps := map[int]upgrade{0: func(doc map[string]json.RawMessage) error {
		doc["resources"] = doc["things"]
		delete(doc, "things")
		return nil
	}}
	s, had, err := decodeUpgrading("f", old, steps)
	if err != nil || had != 0 || s.Version != Version || s.Serial != 4 {
		t.Fatalf("%+v %d %v", s, had, err)
	}
	dir := t.TempDir()
	l := Local(dir, "1")
	if err := os.WriteFile(l.path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	data, _ := Encode(s)
	if err := l.replace(loaded{path: l.path, doc: printOf(old), version: had}, data); err != nil {
		t.Fatal(err)
	}
	if kept, _ := os.ReadFile(l.path + ".v0" + backupSuffix); !bytes.Equal(kept, old) {
		t.Errorf("copy of the old format: %q", kept)
	}
}

func TestPush(t *testing.T) {
	dir := t.TempDir()
	l := Local(dir, "1")
	mine := mustUpdate(t, l, bump)
	mustUpdate(t, l, bump)
	var refused *PushError
	if err := l.Push(t.Context(), mine, false); !errors.As(err, &refused) {
		t.Errorf("older: %v", err)
	}
	if err := l.Push(t.Context(), New("other"), false); !errors.As(err, &refused) {
		t.Errorf("other lineage: %v", err)
	}
	if err := l.Push(t.Context(), mine, true); err != nil {
		t.Fatal(err)
	}
	s, err := Local(dir, "1").Read(t.Context())
	if err != nil || s.Serial != 3 || s.Spend["n"].Runs != 1 {
		t.Errorf("%+v %v", s, err)
	}
	if err := os.WriteFile(l.path, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Local(dir, "1").Push(t.Context(), mine, true); err != nil {
		t.Errorf("over a damaged file: %v", err)
	}
}
