package job

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/internal/remote"
	"github.com/overbrainer/overbrainer/internal/remote/remotetest"
)

// farPod is an ended job's directory behind the system's SSH server, with tools of
// the test's that stand before the machine's.
type farPod struct {
	t      *testing.T
	root   string
	bin    string
	server *remotetest.Server
	proxy  *remotetest.Proxy
	c      Collect
	stall  time.Duration

	ahead  func(remote.Pull) // called before a download without digests
	after  func(remote.Pull) // called after one
	before func(remote.Pull) // called before any other
	pulled []string          // what others were asked for
}

// pullConn tells of the downloads.
type pullConn struct {
	*remote.Client
	f *farPod
}

func (c pullConn) Pull(ctx context.Context, pull remote.Pull) error {
	if pull.Ahead != nil {
		if c.f.ahead != nil {
			c.f.ahead(pull)
		}
		err := c.Client.Pull(ctx, pull)
		if c.f.after != nil {
			c.f.after(pull)
		}
		return err
	}
	if c.f.before != nil {
		c.f.before(pull)
	}
	for _, f := range pull.Files {
		c.f.pulled = append(c.f.pulled, f.Path)
	}
	return c.Client.Pull(ctx, pull)
}

const weights, mib64 = "output/weights.bin", 64 << 20

func newFarPod(t *testing.T) *farPod {
	t.Helper()
	t.Parallel()
	f := &farPod{t: t, root: t.TempDir(), bin: t.TempDir()}
	f.server = remotetest.StartSSHD(t, remotetest.Options{Path: f.bin + ":" + os.Getenv("PATH")})
	f.proxy = remotetest.StartProxy(t, f.server, 0)
	f.c = Collect{Dir: filepath.Join(t.TempDir(), "runs", "run-1"), Globs: []string{"output/**"}}
	f.write(".pod/launch", "")
	f.write("output/small", "x")
	f.large(weights, "one")
	return f
}

func (f *farPod) path(name string) string { return filepath.Join(f.root, "run", name) }

func (f *farPod) write(name, content string) {
	f.t.Helper()
	if err := writeFile(f.path(name), []byte(content), false); err != nil {
		f.t.Fatal(err)
	}
}

// large writes a file of 64 MiB with its own beginning and end.
func (f *farPod) large(name, content string) {
	f.t.Helper()
	f.write(name, content)
	if err := os.Truncate(f.path(name), mib64-3); err != nil {
		f.t.Fatal(err)
	}
	file, err := os.OpenFile(f.path(name), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		f.t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(content[:3]); err != nil {
		f.t.Fatal(err)
	}
}

// tool puts a program before the machine's: it may wait for a gate and then runs
// the machine's by $real.
func (f *farPod) tool(name, script string) {
	f.t.Helper()
	real := need(f.t, name)
	text := "#!/bin/sh\nreal=" + real + `
gate() { n=0; while [ ! -e "` + f.root + `/$1" ]; do [ $n -lt 3000 ] || exit 9; n=$((n+1)); sleep 0.02; done; }
` + script + "\n"
	if err := writeFile(filepath.Join(f.bin, name), []byte(text), true); err != nil {
		f.t.Fatal(err)
	}
}

// open lets tools through a gate.
func (f *farPod) open(gate string) {
	if err := writeFile(filepath.Join(f.root, gate), nil, false); err != nil {
		f.t.Error(err)
	}
}

// collect makes one try over a connection of its own.
func (f *farPod) collect(known *Manifest) (Manifest, error) {
	f.t.Helper()
	conn, err := remote.Dial(f.t.Context(), remote.Config{
		Host: f.server.Host, Port: f.proxy.Port, User: f.server.User, Signer: f.server.Signer, HostKey: f.server.HostKey,
		HandshakeTimeout: time.Minute,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	defer conn.Close()
	pod := At(pullConn{conn, f}, f.root, "/run")
	pod.LeaseEvery, pod.Stall = 0, f.stall
	c := f.c
	c.Known = known
	return pod.Collect(f.t.Context(), c)
}

// home checks that everything came home as it lies on the pod.
func (f *farPod) home(m Manifest, err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
	for _, file := range m.Files {
		want, err := os.ReadFile(f.path(file.Path))
		if err != nil {
			f.t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(f.c.Dir, file.Path))
		if sum := sha256.Sum256(want); err != nil || !bytes.Equal(got, want) || file.SHA256 != hex.EncodeToString(sum[:]) {
			f.t.Errorf("%s is another one: %v", file.Path, err)
		}
	}
	if _, err := os.Stat(filepath.Join(f.c.Dir, partial)); !errors.Is(err, fs.ErrNotExist) {
		f.t.Errorf("staging: %v", err)
	}
}

// nothing checks that no result has its name.
func (f *farPod) nothing() {
	f.t.Helper()
	if _, err := os.Lstat(filepath.Join(f.c.Dir, "output")); !errors.Is(err, fs.ErrNotExist) {
		f.t.Errorf("results have their names: %v", err)
	}
}

// sent checks how many large files went over the line since the last time.
func (f *farPod) sent(since int64, files float64) {
	f.t.Helper()
	if n := float64(f.proxy.Down()-since) / mib64; n < files-0.1 || n > files+0.4 {
		f.t.Errorf("%.2f large files were sent, want %g", n, files)
	}
}

// TestLargeFilesTravelAhead: a large file comes while the pod computes its digest,
// whichever is done first, and is sent once.
func TestLargeFilesTravelAhead(t *testing.T) {
	for name, arrange := range map[string]func(f *farPod){
		"the digest comes later": func(f *farPod) {
			f.tool("openssl", `gate came; exec $real "$@"`)
			f.after = func(remote.Pull) { f.open("came") }
		},
		"the digest comes earlier": func(f *farPod) {
			f.tool("dd", `>"`+f.root+`/begun"; gate known; exec $real "$@"`)
			f.tool("openssl", `gate begun; exec $real "$@"`)
			f.ahead = func(pull remote.Pull) { go func() { <-pull.Ahead.Until; f.open("known") }() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFarPod(t)
			arrange(f)
			var last, total int64
			f.c.Progress = func(done, all int64, _ float64) { last, total = done, all }
			m, err := f.collect(nil)
			f.home(m, err)
			f.sent(0, 1)
			if strings.Join(f.pulled, " ") != "output/small" {
				t.Errorf("fetched later: %q", f.pulled)
			}
			if last != mib64+1 || total != mib64+1 {
				t.Errorf("told %d of %d", last, total)
			}
		})
	}
}

// TestDigestsAreToldWhileNothingElseMoves: the transfer tells how far it is; how far
// the digests are is told before and after it.
func TestDigestsAreToldWhileNothingElseMoves(t *testing.T) {
	f := newFarPod(t)
	f.tool("openssl", `gate came; exec $real "$@"`)
	moving := true
	f.c.Digests = func(done, total int) {
		if moving {
			t.Errorf("%d of %d", done, total)
		}
	}
	f.after = func(remote.Pull) { moving = false; f.open("came") }
	m, err := f.collect(nil)
	f.home(m, err)
}

// TestWhatNeverBeganIsFetchedLater: a digest that is there before a file began to
// travel keeps that from beginning, and one of two copies is fetched.
func TestWhatNeverBeganIsFetchedLater(t *testing.T) {
	f := newFarPod(t)
	f.large("output/copy.bin", "one")
	f.ahead = func(pull remote.Pull) { <-pull.Ahead.Until }
	m, err := f.collect(nil)
	f.home(m, err)
	f.sent(0, 1)
}

// TestNamesForOneFileTravelOnce: a link of either kind is a copy of what it leads to.
func TestNamesForOneFileTravelOnce(t *testing.T) {
	f := newFarPod(t)
	f.tool("openssl", `gate came; exec $real "$@"`)
	f.after = func(remote.Pull) { f.open("came") }
	if err := os.Link(f.path(weights), f.path("output/hard.bin")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("weights.bin", f.path("output/best.bin")); err != nil {
		t.Fatal(err)
	}
	small := strings.Repeat("s", minTwin)
	f.write("output/twin-1", small)
	f.write("output/twin-2", small)
	m, err := f.collect(nil)
	f.home(m, err)
	f.sent(0, 1)
	if got := strings.Join(f.pulled, " "); got != "output/small output/twin-1" {
		t.Errorf("fetched later: %q", got)
	}
}

// TestChangedWhileItTravelsAhead: what came before a file was written to is not taken
// for what the pod has, by size or otherwise.
func TestChangedWhileItTravelsAhead(t *testing.T) {
	longer := func(f *farPod) {
		if err := os.Truncate(f.path(weights), mib64+1); err != nil {
			f.t.Fatal(err)
		}
	}
	other := func(f *farPod) { f.large(weights, "two") }
	isChanged := func(f *farPod, err error) {
		f.t.Helper()
		var changed *ChangedError
		if !errors.As(err, &changed) || fmt.Sprint(changed.Paths) != "["+weights+"]" {
			f.t.Errorf("%v", err)
		}
		f.nothing()
	}
	// Its size is known when its digest is begun, and nothing is read before that.
	inStep := func(f *farPod, dd string) {
		f.tool("dd", `gate hashing; `+dd+` exec $real "$@"`)
		f.tool("openssl", `case "$*" in *weights*) >"`+f.root+`/hashing"; gate came ;; esac; exec $real "$@"`)
	}
	for name, write := range map[string]func(f *farPod){"other content": other, "another size": longer} {
		t.Run("before its digest, "+name, func(t *testing.T) {
			f := newFarPod(t)
			inStep(f, "")
			f.after = func(remote.Pull) { write(f); f.open("came") }
			m, err := f.collect(nil)
			if name == "another size" {
				isChanged(f, err)
				f.after = nil
				m, err = f.collect(nil)
			} else {
				f.sent(0, 2)
			}
			f.home(m, err)
		})
		t.Run("after its digest, "+name, func(t *testing.T) {
			f := newFarPod(t)
			f.before = func(remote.Pull) { write(f) }
			_, err := f.collect(nil)
			isChanged(f, err)
			f.before = nil
			m, err := f.collect(nil)
			f.home(m, err)
		})
	}
	t.Run("shorter while it is read", func(t *testing.T) {
		f := newFarPod(t)
		inStep(f, `printf short >./`+weights+`;`)
		f.after = func(remote.Pull) { f.open("came") }
		_, err := f.collect(nil)
		isChanged(f, err)
		m, err := f.collect(nil)
		f.home(m, err)
	})
}

// TestAheadIsNotForWhatIsHere: a file of the right size, in place or staged, waits for
// its digest: the right one is not sent, another one is replaced.
func TestAheadIsNotForWhatIsHere(t *testing.T) {
	count := `echo >>"$0.calls"; exec $real "$@"`
	f := newFarPod(t)
	f.tool("openssl", count)
	m, err := f.collect(nil)
	f.home(m, err)
	for range 2 {
		began := f.proxy.Down()
		f.ahead = func(pull remote.Pull) { t.Errorf("ahead: %v", pull.Files) }
		m, err = f.collect(nil)
		f.home(m, err)
		f.sent(began, 0)
		// And once more with all of it staged only.
		if err := writeFile(filepath.Join(f.c.Dir, partial, "x"), nil, false); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(f.c.Dir, "output"), filepath.Join(f.c.Dir, partial, "output")); err != nil {
			t.Fatal(err)
		}
	}
	calls, err := os.ReadFile(filepath.Join(f.bin, "openssl.calls"))
	if n := bytes.Count(calls, []byte("\n")); err != nil || n != 3 {
		t.Errorf("%d digests in 3 tries, %v", n, err)
	}
	f.large(weights, "two")
	began := f.proxy.Down()
	m, err = f.collect(nil)
	f.home(m, err)
	f.sent(began, 1)
}

// TestAheadGoesOnWhereItWasCut: with the digests not known, and with them known, by
// the list that was made; and what was kept of other content is dropped.
func TestAheadGoesOnWhereItWasCut(t *testing.T) {
	cut := func(t *testing.T, f *farPod) Manifest {
		f.proxy.CutAfter(40 << 20)
		m, err := f.collect(nil)
		if err == nil {
			t.Fatal("it was not cut")
		}
		f.nothing()
		return m
	}
	t.Run("without digests", func(t *testing.T) {
		f := newFarPod(t)
		f.tool("openssl", `gate came; exec $real "$@"`)
		if m := cut(t, f); len(m.Files) > 0 {
			t.Errorf("a list without digests: %v", m.Files)
		}
		f.after = func(remote.Pull) { f.open("came") }
		m, err := f.collect(nil)
		f.home(m, err)
		f.sent(0, 1)
	})
	for name, list := range map[string]func(m Manifest) *Manifest{
		"with the list": func(m Manifest) *Manifest { return &m },
		"with another":  func(Manifest) *Manifest { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFarPod(t)
			f.tool("openssl", `echo >>"$0.calls"; exec $real "$@"`)
			f.tool("dd", `>>"`+f.root+`/begun"; gate known; exec $real "$@"`)
			f.ahead = func(pull remote.Pull) { go func() { <-pull.Ahead.Until; f.open("known") }() }
			m := cut(t, f)
			if len(m.Files) != 2 {
				t.Fatalf("no list with digests: %v", m.Files)
			}
			known := list(m)
			m, err := f.collect(known)
			f.home(m, err)
			f.sent(0, 1)
			calls, _ := os.ReadFile(filepath.Join(f.bin, "openssl.calls"))
			if n := bytes.Count(calls, []byte("\n")); known != nil && n != 1 {
				t.Errorf("%d digests", n)
			}
		})
	}
	t.Run("written to, with its times as they were", func(t *testing.T) {
		f := newFarPod(t)
		f.tool("openssl", `gate came; exec $real "$@"`)
		f.tool("stat", `case $* in *%y*) echo "`+fmt.Sprint(mib64)+` 1:2 as it was ./`+weights+`" ;; *) exec $real "$@" ;; esac`)
		cut(t, f)
		f.large(weights, "two")
		f.after = func(remote.Pull) { f.open("came") }
		m, err := f.collect(nil)
		f.home(m, err)
	})
}

// TestNoDigestNoName: what came ahead is worth nothing where the pod's digest does not
// come.
func TestNoDigestNoName(t *testing.T) {
	t.Run("one that fails", func(t *testing.T) {
		f := newFarPod(t)
		f.tool("openssl", `gate came; exit 1`)
		f.tool("sha256sum", `exit 1`)
		f.after = func(remote.Pull) { f.open("came") }
		_, err := f.collect(nil)
		var unread *UnreadError
		if !errors.As(err, &unread) {
			t.Errorf("%v", err)
		}
		f.nothing()
		f.tool("sha256sum", `exec $real "$@"`)
		began := f.proxy.Down()
		m, err := f.collect(nil)
		f.home(m, err)
		f.sent(began, 0)
	})
	t.Run("no program", func(t *testing.T) {
		t.Parallel()
		m := machine{name: "dash", sh: need(t, "dash"), path: programsOf(t, "sha256sum", "openssl", "python3")}
		p := newPod(t, m)
		p.put("job.pid", "5 7\n")
		p.put(weights, "")
		if err := os.Truncate(filepath.Join(p.dir, weights), mib64); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "run-1")
		_, err := p.Collect(t.Context(), Collect{Dir: dir, Globs: []string{"output/**"}})
		var script *ScriptError
		if !errors.As(err, &script) || !strings.Contains(err.Error(), "sha256sum") {
			t.Errorf("%v", err)
		}
		if _, err := os.Lstat(filepath.Join(dir, "output")); err == nil {
			t.Error("results have their names")
		}
	})
}

// TestStallAhead: a transfer that stands still ends the try, also while the pod
// computes; waiting for digests alone does not.
func TestStallAhead(t *testing.T) {
	t.Run("the transfer", func(t *testing.T) {
		f := newFarPod(t)
		f.tool("dd", `gate end`)
		f.tool("openssl", `gate end; exec $real "$@"`)
		defer f.open("end")
		f.stall = time.Second
		_, err := f.collect(nil)
		var stall *remote.StallError
		if !errors.As(err, &stall) {
			t.Errorf("%v", err)
		}
		f.nothing()
	})
	t.Run("the digests", func(t *testing.T) {
		f := newFarPod(t)
		f.tool("openssl", `gate late; exec $real "$@"`)
		f.stall = 3 * time.Second
		f.after = func(remote.Pull) { time.AfterFunc(f.stall+time.Second, func() { f.open("late") }) }
		m, err := f.collect(nil)
		f.home(m, err)
	})
}

// TestAheadNeedsRoom: nothing begins where it may not all fit.
func TestAheadNeedsRoom(t *testing.T) {
	f := newFarPod(t)
	f.ahead = func(remote.Pull) { t.Error("it began") }
	f.c.Free = func(string) (int64, error) { return mib64, nil }
	_, err := f.collect(nil)
	var full *SpaceError
	if !errors.As(err, &full) || full.Need != mib64+1 {
		t.Errorf("%v", err)
	}
}

// TestLargeFilesAreHashedAtOnce: on half of the processors.
func TestLargeFilesAreHashedAtOnce(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		openssl := need(t, "openssl")
		p := newPod(t, m)
		var names []string
		large := map[string]string{}
		for i := range 4 {
			name := fmt.Sprintf("it's %d", i)
			p.put(name, fmt.Sprint(i))
			if err := os.Truncate(filepath.Join(p.dir, name), mib64); err != nil {
				t.Fatal(err)
			}
			names, large[name] = append(names, name), fmt.Sprint(mib64, " ", i)
		}
		p.put("small", "x")
		// Each waits until four run.
		p.tool("openssl", `d=${0%/*}; >"$d/run.$$"; n=0
while set -- "$@" && [ $(ls "$d" | grep -c ^run) -lt 4 ]; do [ $n -lt 500 ] || exit 1; n=$((n+1)); sleep 0.02; done
exec `+openssl+` "$@"`)
		p.tool("sha256sum", `case "$*" in *small*) exec `+need(t, "sha256sum")+` "$@" ;; esac; exit 1`)
		p.conn.m.path = filepath.Dir(p.tool("nproc", "echo 9")) + ":" + p.conn.m.path
		files, err := p.hashes(t.Context(), append(names, "small"), large, nil)
		if err != nil || len(files) != 5 {
			t.Errorf("%v %v", files, err)
		}
	})
}

// TestReadLarge: only sizes that are large enough count, and only names of files.
func TestReadLarge(t *testing.T) {
	got := readLarge([]byte("67108864 1:2 2026-01-01 3 ./a b\n67108863 1:2 x ./small\n67108864 no name\nx 1 ./b\n-5 ./c\n99999999 ./d ./e\n"))
	if fmt.Sprint(got) != fmt.Sprint(map[string]string{"a b": "67108864 1:2 2026-01-01 3", "d ./e": "99999999"}) {
		t.Errorf("%q", got)
	}
}
