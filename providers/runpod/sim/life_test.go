package sim_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers/runpod/sim"
)

// serveArg makes the test binary serve a home until it is killed.
const serveArg = "serve-a-home"

func serveForEver(home string) int {
	if err := sim.Serve(context.Background(), sim.Options{Home: home, Form: os.Args[3], Idle: -1, Build: "b1"}); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	return 0
}

func TestNothingOutlivesAKilledSimulator(t *testing.T) {
	forms(t, func(t *testing.T, form string) {
		home := t.TempDir()
		daemon := exec.Command(os.Args[0], serveArg, home, form)
		daemon.Stderr = t.Output()
		if err := daemon.Start(); err != nil {
			t.Fatal(err)
		}
		defer daemon.Process.Kill()
		w := &world{t: t, home: home, key: "k"}
		w.until("an address", func() bool {
			c, err := sim.Find(t.Context(), home)
			if err == nil {
				w.url, w.ctl = c.URL, c
			}
			return err == nil
		})
		if err := sim.Serve(t.Context(), sim.Options{Home: home}); !errors.Is(err, sim.ErrRunning) {
			t.Errorf("a second one: %v", err)
		}
		span := sleepSpan()
		script := "(setsid sleep " + span + " &); sleep " + span + " & exec sleep 1000"
		w.want(w.call("POST", "pods", podBody(script, nil)), 201)
		w.until("daemons", func() bool { return sleepers(span) == 2 })
		w.want(w.call("POST", "account/secrets", map[string]any{"name": "kept", "value": "v"}), 201)
		spent := 0.0
		w.until("saved spend", func() bool {
			st, err := sim.LastStatus(home)
			spent = st.SpendUSD
			return err == nil && spent > 0 && len(st.Secrets) == 1
		})
		if err := daemon.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = daemon.Wait()
		w.until("end of every process", func() bool { return sleepers(span) == 0 })
		if _, err := sim.Find(t.Context(), home); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("found after its death: %v", err)
		}
		again := serve(t, sim.Options{Home: home, Form: form})
		st, err := again.ctl.Status(t.Context())
		if err != nil || len(st.Pods) != 0 || len(st.Secrets) != 1 || st.SpendUSD < spent || st.Requests == 0 {
			t.Errorf("after a restart: %+v %v", st, err)
		}
	})
}

// sleepSpan gives a number of seconds that no other test sleeps.
func sleepSpan() string { return fmt.Sprintf("9%d", time.Now().UnixNano()%1e9) }

// sleepers counts the processes of this machine that sleep for so long.
func sleepers(span string) int {
	n := 0
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		data, _ := os.ReadFile(f)
		if string(data) == "sleep\x00"+span+"\x00" {
			n++
		}
	}
	return n
}

func TestStopAndIdle(t *testing.T) {
	w := serve(t, sim.Options{Form: sim.FormRelocated, Build: "b2", Speed: 3})
	a, err := sim.ReadAddress(w.home)
	if err != nil || a.Build != "b2" || a.Speed != 3 || a.PID != os.Getpid() {
		t.Errorf("address: %+v %v", a, err)
	}
	if info, err := os.Stat(filepath.Join(w.home, "address.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("address file: %v %v", info, err)
	}
	if err := w.ctl.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.until("the end", func() bool { _, err := sim.ReadAddress(w.home); return errors.Is(err, fs.ErrNotExist) })

	idle := serve(t, sim.Options{Form: sim.FormRelocated, Idle: time.Second})
	idle.until("idleness", func() bool { _, err := sim.ReadAddress(idle.home); return errors.Is(err, fs.ErrNotExist) })
}

func TestContainerRestarts(t *testing.T) {
	forms(t, func(t *testing.T, form string) {
		w := serve(t, sim.Options{Form: form, Speed: 5})
		script := `f=${OVERBRAINER_POD_ROOT-}/root/starts; echo x >> "$f"; echo "start $(wc -l < "$f" | tr -d ' ')"; `
		id := w.want(w.call("POST", "pods", podBody(script+`[ "$(wc -l < "$f")" -ge 3 ] || exit 7; exec sleep 1000`, nil)), 201).body["id"].(string)
		said := w.log(id, "start 3")
		if !strings.Contains(said, "container exited with code 7") {
			t.Errorf("log: %s", said)
		}
		if a := w.want(w.call("GET", "pods/"+id, nil), 200); a.body["status"] != "RUNNING" {
			t.Errorf("status %v", a.body["status"])
		}
		if err := w.ctl.Fault(t.Context(), sim.Fault{Name: "container-restart"}); err != nil {
			t.Fatal(err)
		}
		w.log(id, "start 4")
		before := w.port(id)
		if err := w.ctl.Fault(t.Context(), sim.Fault{Name: "container-restart-wiped"}); err != nil {
			t.Fatal(err)
		}
		w.until("a fresh disk", func() bool { return strings.Count(w.log(id, "start 1"), "start 1") >= 2 })
		if w.port(id) == before {
			t.Error("the port must change")
		}
	})
}

// port waits until a pod's SSH is mapped.
func (w *world) port(id string) int {
	w.t.Helper()
	port := 0
	w.until("port", func() bool {
		direct, _ := w.want(w.call("GET", "pods/"+id, nil), 200).body["ssh"].(map[string]any)["direct"].(map[string]any)
		if direct != nil {
			port = int(direct["port"].(float64))
		}
		return direct != nil
	})
	return port
}

func TestVolumeIsKeptAndStopWipesTheDisk(t *testing.T) {
	forms(t, func(t *testing.T, form string) {
		w := serve(t, sim.Options{Form: form})
		vol := w.want(w.call("POST", "network-volumes", map[string]any{"name": "v", "size": 10, "dataCenter": "EU-RO-1"}), 201).body["id"].(string)
		body := func(script string) map[string]any {
			b := podBody(`r=${OVERBRAINER_POD_ROOT-}; `+script+`; exec sleep 1000`, nil)
			b["mounts"] = map[string]any{"network": []any{map[string]any{"volumeId": vol, "path": "/workspace/data"}}}
			return b
		}
		id := w.want(w.call("POST", "pods", body(`echo kept > "$r/workspace/data/f"; ls "$r/root" | grep -c lost; touch "$r/root/lost"; echo written`)), 201).body["id"].(string)
		w.log(id, "written")
		w.want(w.call("DELETE", "network-volumes/"+vol, nil), 400)
		if stopped := w.want(w.call("POST", "pods/"+id+"/action", map[string]any{"action": "stop"}), 200).body; stopped["status"] != "EXITED" || stopped["runtime"] != nil || stopped["cost"] == 0.0 {
			t.Errorf("stopped: %v", stopped)
		}
		w.want(w.call("POST", "pods/"+id+"/action", map[string]any{"action": "start"}), 200)
		w.until("a second start", func() bool { return strings.Count(w.log(id, "written"), "written") == 2 })
		if strings.Contains(w.log(id, "written"), `"line":"1"`) {
			t.Error("the container's disk outlived a stop")
		}
		w.want(w.call("POST", "pods/"+id+"/action", map[string]any{"action": "terminate"}), 204)
		next := w.want(w.call("POST", "pods", body(`cat "$r/workspace/data/f"`)), 201).body["id"].(string)
		w.log(next, "kept")
	})
}

func TestBillRunsWithSpeed(t *testing.T) {
	w := serve(t, sim.Options{Form: sim.FormRelocated, Speed: 3600})
	begin := time.Now()
	a := w.want(w.call("POST", "pods", podBody("sleep 100", nil)), 201)
	id, rate := a.body["id"].(string), a.body["cost"].(float64)
	<-time.After(1500 * time.Millisecond)
	w.want(w.call("DELETE", "pods/"+id, nil), 204)
	hours := time.Since(begin).Seconds() // a second is an hour
	st, err := w.ctl.Status(t.Context())
	least := (rate + 10*0.10/720) * 1.5
	if err != nil || st.SpendUSD < least || st.SpendUSD > least*hours/1.5*1.05 {
		t.Errorf("spent %v in %v hours at %v: %v", st.SpendUSD, hours, rate, err)
	}
	bill := w.want(w.call("GET", "billing/pods?lastN=1&podId="+id, nil), 200)
	total := bill.body["metadata"].(map[string]any)["totals"].(map[string]any)["totalAmount"].(float64)
	if math.Abs(total-st.SpendUSD) > 1e-4 {
		t.Errorf("billed %v, spent %v", total, st.SpendUSD)
	}

	two := 2 * rate
	if err := w.ctl.Adjust(t.Context(), sim.Settings{BalanceUSD: &two}); err != nil {
		t.Fatal(err)
	}
	id = w.want(w.call("POST", "pods", podBody("sleep 100", nil)), 201).body["id"].(string)
	w.until("an empty balance", func() bool { return w.call("GET", "pods/"+id, nil).status == 404 })
	w.want(w.call("POST", "pods", podBody("sleep 100", nil)), 402)
}

func TestLogStream(t *testing.T) {
	w := serve(t, sim.Options{Form: sim.FormRelocated})
	id := w.want(w.call("POST", "pods", podBody(`for i in 1 2 3 4 5; do echo "line $i"; done; echo err >&2; exec sleep 100`, nil)), 201).body["id"].(string)
	w.log(id, "err")
	stream := func(query, last string, lines int) []string {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var got []string
		resp := w.open(ctx, id, query, last)
		defer resp.Close()
		in := bufio.NewScanner(resp)
		for len(got) < lines && in.Scan() {
			if v, is := strings.CutPrefix(in.Text(), "id: "); is && last == "ids" {
				got = append(got, v)
			} else if v, is := strings.CutPrefix(in.Text(), "data: "); is && last != "ids" {
				got = append(got, v)
			}
		}
		return got
	}
	if got := stream("source=container&tail=2", "", 2); len(got) != 2 || !strings.Contains(got[0], "line 5") || !strings.Contains(got[1], "err") {
		t.Errorf("tail: %v", got)
	}
	ids := stream("source=container&tail=3", "ids", 3)
	if got := stream("source=container", ids[1], 1); len(got) != 1 || !strings.Contains(got[0], "err") {
		t.Errorf("resumed after %s: %v", ids[1], got)
	}
	w.want(w.call("GET", "pods/"+id+"/logs?tail=5001", nil), 422)
	w.want(w.call("GET", "pods/"+id+"/logs?since=x", nil), 422)
	w.want(w.call("DELETE", "pods/"+id, nil), 204)
	w.want(w.call("GET", "pods/"+id+"/logs", nil), 404)
}
