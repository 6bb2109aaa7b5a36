package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/overbrainer/overbrainer/internal/remote"
	"github.com/overbrainer/overbrainer/internal/remote/remotetest"
)

// clientWord lets this program be a client that does one transfer and tells
// what memory it took: the order is in a file.
const clientWord = "transfer-client"

// order is what such a client does.
type order struct {
	Push             bool
	Host, User       string
	Port             int
	KeyFile, HostKey string
	Dir, Target      string
	Files            []remote.File
}

// told is what it says, in bytes.
type told struct{ Idle, Peak int64 }

func client(ctx context.Context, file string, out, errs io.Writer) int {
	t, err := transfer(ctx, file)
	if err == nil {
		err = json.NewEncoder(out).Encode(t)
	}
	if err != nil {
		fmt.Fprintln(errs, "Error:", err)
		return 1
	}
	return 0
}

func transfer(ctx context.Context, file string) (told, error) {
	var t told
	var o order
	data, err := os.ReadFile(file)
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return t, err
	}
	if data, err = os.ReadFile(o.KeyFile); err != nil {
		return t, err
	}
	signer, err := ssh.ParsePrivateKey(data)
	if err != nil {
		return t, err
	}
	hostKey, _, _, _, err := ssh.ParseAuthorizedKey([]byte(o.HostKey))
	if err != nil {
		return t, err
	}
	c, err := remote.Dial(ctx, remote.Config{Host: o.Host, Port: o.Port, User: o.User, Signer: signer, HostKey: hostKey})
	if err != nil {
		return t, err
	}
	defer c.Close()
	runtime.GC()
	if t.Idle, err = memoryOf("self", "VmRSS"); err != nil {
		return t, err
	}
	s := &site{dir: o.Dir, files: o.Files}
	if o.Push {
		err = push(ctx, c, s, o.Target)
	} else {
		err = pull(ctx, c, s, o.Target)
	}
	if err == nil {
		t.Peak, err = memoryOf("self", "VmHWM")
	}
	return t, err
}

// memoryOf reads a line of a process's memory, in bytes.
func memoryOf(pid, line string) (int64, error) {
	data, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0, err
	}
	for text := range strings.Lines(string(data)) {
		var kb int64
		if _, err := fmt.Sscanf(text, line+": %d kB", &kb); err == nil {
			return kb * 1024, nil
		}
	}
	return 0, fmt.Errorf("process %s does not tell its %s", pid, line)
}

// memory measures a client's peak above what it has when it is connected and
// idle, for 2 GiB in each direction.
func memory(b *bench) {
	var big remotetest.Load
	for _, l := range remotetest.Loads() {
		if l.Name == "big" {
			big = l
		}
	}
	s := b.site(big, false)
	rows := [][]string{{"2 GiB", "idle", "peak", "above"}}
	var most int64
	for _, up := range []bool{true, false} {
		var above, idle []int64
		for range b.bigRuns {
			t := b.client(s, up)
			above, idle = append(above, t.Peak-t.Idle), append(idle, t.Idle)
		}
		name := map[bool]string{true: "up", false: "down"}[up]
		rows = append(rows, []string{name, mb(median(idle)), mb(median(idle) + median(above)), mb(median(above))})
		most = max(most, median(above))
	}
	b.table(fmt.Sprintf("Memory of a client (median of %d)", b.bigRuns), rows...)
	b.goal("memory", atMost("above", float64(most)/1e6, 64, "MB"))
}

// client has another process do one transfer.
func (b *bench) client(s *site, up bool) told {
	dir := b.TempDir()
	text, err := json.Marshal(order{
		Push: up, Host: s.server.Host, User: s.server.User, Port: s.port(), KeyFile: s.server.KeyFile,
		HostKey: string(ssh.MarshalAuthorizedKey(s.server.HostKey)), Dir: s.dir, Target: dir + "/target", Files: s.files,
	})
	b.must(err)
	b.must(os.WriteFile(dir+"/order", text, 0o600))
	self, err := os.Executable()
	b.must(err)
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(b.ctx, self, clientWord, dir+"/order")
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		b.Fatalf("client: %v\n%s", err, errs.String())
	}
	var t told
	b.must(json.Unmarshal(out.Bytes(), &t))
	b.must(os.RemoveAll(dir + "/target"))
	return t
}
