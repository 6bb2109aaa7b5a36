package remote

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/metrics"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/overbrainer/overbrainer/internal/remote/remotetest"
)

// farErrand is what a client in a process of its own is to move.
type farErrand struct {
	Up           bool
	Port         int
	User         string
	Key, HostKey string // a file, a line
	From, To     string
	File         File
}

// farReport is what came of it.
type farReport struct {
	Took time.Duration
	Heap uint64 // the most that was on the heap meanwhile, garbage included
}

const farVariable = "OVERBRAINER_TEST_FAR"

// A large file, a long way off: several channels have their whole windows under way
// at once, which one channel cannot, and the client holds a part of the file only. A
// larger file is no different: the number of channels and their windows depend on the
// distance alone. The client is a process of its own, so that its memory is.
func TestFarLargeFile(t *testing.T) {
	if errand := os.Getenv(farVariable); errand != "" {
		runErrand(t, errand)
		return
	}
	const delay, size = 150 * time.Millisecond, 64 << 20
	// What all channels may have sent unread, once more as garbage, and all else.
	const mostHeap = 2*maxChannels*window + 4<<20
	for _, up := range []bool{true, false} {
		t.Run(map[bool]string{true: "up", false: "down"}[up], func(t *testing.T) {
			t.Parallel()
			s := remotetest.StartBuiltin(t, remotetest.Options{})
			p := remotetest.StartProxy(t, s, delay)
			from, to := t.TempDir(), t.TempDir()
			data := content(1, size)
			file := put(t, from, "large.bin", data, false)
			got := sendErrand(t, farErrand{
				Up: up, Port: p.Port, User: s.User, Key: s.KeyFile, From: from, To: to, File: file,
				HostKey: string(ssh.MarshalAuthorizedKey(s.HostKey)),
			})
			same(t, to, map[string][]byte{"large.bin": data})
			most, down := p.Most()
			if !up {
				most = down
			}
			t.Logf("%s, %.1f windows under way, %d MiB of heap", got.Took, float64(most)/window, got.Heap>>20)
			// Seven windows fill the way at once; a busy machine sends too slowly for that.
			if most < 2*window {
				t.Errorf("%d bytes were under way at most, two channels can have more", most)
			}
			if got.Heap >= mostHeap {
				t.Errorf("%d bytes were on the heap for a file of %d", got.Heap, size)
			}
		})
	}
}

// sendErrand has this test's program run an errand.
func sendErrand(t *testing.T, e farErrand) (r farReport) {
	t.Helper()
	spec, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	answer := filepath.Join(t.TempDir(), "answer")
	cmd := exec.CommandContext(within(t, time.Minute), program, "-test.run=^TestFarLargeFile$")
	cmd.Env = append(os.Environ(), farVariable+"="+string(spec), farVariable+"_ANSWER="+answer)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(answer)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// runErrand is the client.
func runErrand(t *testing.T, errand string) {
	var e farErrand
	if err := json.Unmarshal([]byte(errand), &e); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(e.Key)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	host, _, _, _, err := ssh.ParseAuthorizedKey([]byte(e.HostKey))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Dial(t.Context(), Config{Host: "127.0.0.1", Port: e.Port, User: e.User, Signer: signer, HostKey: host})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	most := watchHeap()
	start := time.Now()
	if e.Up {
		err = c.Push(t.Context(), Push{Dir: e.To, Staging: e.To + "/.s", Files: []File{e.File}, Open: opener(e.From)})
	} else {
		err = c.Pull(t.Context(), Pull{Dir: e.From, Files: []File{e.File}, Dest: e.To})
	}
	if err != nil {
		t.Fatal(err)
	}
	report, err := json.Marshal(farReport{Took: time.Since(start), Heap: most()})
	if err == nil {
		err = os.WriteFile(os.Getenv(farVariable+"_ANSWER"), report, 0o600)
	}
	if err != nil {
		t.Fatal(fmt.Errorf("the answer: %w", err))
	}
}

// watchHeap looks at the heap again and again; most gives the largest that it was.
func watchHeap() (most func() uint64) {
	var largest uint64
	look := func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		largest = max(largest, sample[0].Value.Uint64())
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			look()
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	return func() uint64 {
		close(stop)
		<-stopped
		look()
		return largest
	}
}
