package apply

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/providertest"
	"github.com/overbrainer/overbrainer/state"
)

func TestCapTimes(t *testing.T) {
	t0 := time.Unix(1790000000, 0).UTC()
	snapshotAt, capAt := capTimes(20, 1, t0, Production())
	if d := snapshotAt.Sub(t0); d != 68400*time.Second {
		t.Errorf("snapshot after %s", d)
	}
	if d := capAt.Sub(t0); d != 72000*time.Second {
		t.Errorf("cap after %s", d)
	}
	// Of a short time a quarter is left for the snapshot, not all of it.
	if s, c := capTimes(0.05, 0.24, t0, Production()); s.Sub(t0) != 562*time.Second || c.Sub(t0) != 750*time.Second {
		t.Errorf("short cap: %s, %s", s.Sub(t0), c.Sub(t0))
	}
	if s, _ := capTimes(20, 1, t0, Production().Scaled(100)); s.Sub(t0) != 684*time.Second {
		t.Errorf("scaled: %s", s.Sub(t0))
	}
}

func TestWorst(t *testing.T) {
	b := state.Bounds{MaxHours: 2, OverrunHours: 1, RetrieveGrace: 3600}
	if got := worstUSD(b, 0.5); got != 2 {
		t.Errorf("worst %v", got)
	}
	b.KeepPodS = 7200
	if got := worstUSD(b, 0.5); got != 2.5 {
		t.Errorf("kept for two hours: %v", got)
	}
	b.KeepPodS = -1
	if !math.IsInf(worstUSD(b, 0.5), 1) {
		t.Error("kept for ever is bounded")
	}
}

func TestDiskRules(t *testing.T) {
	var got []int
	level := 0
	for _, percent := range []int64{84, 85, 89, 90, 97, 100, 104, 105, 107, 130} {
		n := usage{used: percent, capacity: 100}.warnLevel(level)
		if n > 0 {
			level = n
		}
		got = append(got, n)
	}
	if want := []int{0, 85, 0, 90, 95, 100, 0, 0, 0, 0}; !equalInts(got, want) {
		t.Errorf("warnings %v, want %v", got, want)
	}
	for _, tt := range []struct {
		u    usage
		full bool
	}{
		{usage{91, 100, 0}, false}, {usage{92, 100, 0}, true}, {usage{9199, 10000, 0}, false}, {usage{50, 0, 0}, false},
		{usage{60, 100, 26}, false}, {usage{60, 100, 27}, true},
	} {
		if tt.u.full() != tt.full {
			t.Errorf("%+v: full %v", tt.u, !tt.full)
		}
	}
	for _, tt := range [][3]int{{200, 1000, 300}, {20, 1000, 70}, {200, 250, 250}, {250, 250, 0}, {300, 250, 0}} {
		if got := grownSize(tt[0], tt[1]); got != tt[2] {
			t.Errorf("grownSize(%d, %d) = %d, want %d", tt[0], tt[1], got, tt[2])
		}
	}
}

func equalInts(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestVolumeIsGrownWhileTheJobRuns(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.mem.AddVolume(providers.Volume{ID: "vol1", Name: "v", SizeGB: 200, DataCenter: "EU-RO-1"})
		s := spec()
		s.Target.VolumeID, s.Target.VolumeGB, s.Cap.MaxVolumeGB = "vol1", 200, 400
		if _, err := w.store.Update(t.Context(), func(st *state.State) error {
			st.Resources["volume.v"] = &state.Resource{Type: "volume", Provider: "memory", Volume: &state.Volume{ID: "vol1", Name: "v", SizeGB: 200, Type: "standard", MonthlyUSD: 14}}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		s.Snapshot = &plan.SnapshotSpec{Path: "output/checkpoint-{step}", GraceS: 1800}
		w.job = fakeJob{hang: true, length: time.Hour, snapshot: 7, files: map[string]string{"output/checkpoint-7/w": "w"}}
		w.boot = func(_ int, p *fakePod) {
			full := func(gb int64) { p.mu.Lock(); p.disk = Disk{VolumeUsed: gb * 1e9, Checkpoint: -1}; p.mu.Unlock() }
			full(10)
			go func() {
				time.Sleep(5 * time.Minute)
				full(180) // 300 GB from here
				time.Sleep(10 * time.Minute)
				full(270) // 400
				time.Sleep(10 * time.Minute)
				full(370) // nothing left: it has to stop
			}()
		}
		w.apply(oneRun(s), Options{})
		run := w.run("run.train")
		st, _ := w.store.Read(t.Context())
		if have := st.Resources["volume.v"].Volume; have.SizeGB != 400 || math.Round(have.MonthlyUSD) != 28 {
			t.Errorf("the state has %d GB for $%g a month", have.SizeGB, have.MonthlyUSD)
		}
		if !w.said(EventWarning, "the network volume vol1 is ") || w.said(EventWarning, "the container disk of its pod") {
			t.Error("the volume is not named")
		}
		v, _ := w.mem.GetVolume(t.Context(), "vol1")
		if v.SizeGB != 400 || run.Phase != state.Stopped || run.Reason != state.DiskFull || w.pod(1).volumeGB != 400 {
			t.Errorf("volume %d GB, told %d, run %s %s", v.SizeGB, w.pod(1).volumeGB, run.Phase, run.Reason)
		}
		w.clean()
	})
}

func TestLease(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		s := spec()
		s.Cap.OverrunHours = 2
		w.job.length, w.job.log = 7*time.Hour, strings.Repeat("epoch\n", 200)
		out := w.apply(oneRun(s), Options{})
		if run := w.run("run.train"); out.Class != OK || run.Phase != state.Succeeded || w.pod(1).marks["lease"] < 80 {
			t.Errorf("class %d, %s %s, %d leases", out.Class, run.Phase, run.Reason, w.pod(1).marks["lease"])
		}
	})
}

func TestOverrunIsWarnedOf(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.job.hang, w.job.length = true, 20*time.Hour
		w.job.metrics = strings.Repeat("{\"step\":1,\"max_steps\":100}\n", 50) + strings.Repeat("{\"step\":2,\"max_steps\":100}\n", 50)
		w.apply(oneRun(spec()), Options{})
		if !w.said(EventWarning, "at this pace") || !w.said(EventWarning, "what the job has written so far") {
			t.Error("not warned")
		}
		if run := w.run("run.train"); run.Reason != state.TimeLimit {
			t.Errorf("%s", run.Reason)
		}
	})
}

// The pace is that of the steps which were seen, against the bound that comes
// first, and nothing is told of a job that nobody can see.
func TestPace(t *testing.T) {
	steps := func(from, to int) string {
		var b strings.Builder
		for n := from; n <= to; n++ {
			fmt.Fprintf(&b, "{\"step\":%d,\"max_steps\":%d}\n", n, to)
		}
		return b.String()
	}
	for _, tt := range []struct {
		name   string
		job    fakeJob
		change func(*plan.RunSpec)
		away   time.Duration // from the half of the job on
		says   string        // "": no warning
	}{
		{"in time", fakeJob{length: 5 * time.Hour, metrics: steps(1, 100)}, nil, 0, ""},
		{"the money ends first", fakeJob{length: 50 * time.Minute, metrics: steps(1, 100)},
			func(s *plan.RunSpec) { s.Cap.MaxCostUSD = 0.25 }, 0, "when its $0.25 are spent (overbrainer.hcl:10)"},
		{"the time ends first", fakeJob{length: 50 * time.Minute, metrics: steps(1, 100)},
			func(s *plan.RunSpec) { s.Cap.MaxCostUSD, s.Cap.MaxHours = 0.45, 0.5 }, 0, "at its deadline"},
		{"went on from a snapshot, too slow", fakeJob{length: 20 * time.Hour, metrics: steps(901, 1000)}, nil, 0, "at its deadline"},
		{"went on from a snapshot, in time", fakeJob{length: 5 * time.Hour, metrics: steps(901, 1000)}, nil, 0, ""},
		{"the machine slept", fakeJob{length: time.Hour, metrics: steps(1, 100)}, nil, 5 * time.Hour, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.job = tt.job
				w.job.files = map[string]string{"output/x": "x"}
				s := spec()
				if tt.change != nil {
					tt.change(s)
				}
				if tt.away > 0 {
					w.boot = func(_ int, p *fakePod) {
						go func() {
							set := func(offline bool) { p.mu.Lock(); p.offline = offline; p.mu.Unlock() }
							time.Sleep(tt.job.length / 2)
							set(true)
							time.Sleep(tt.away)
							set(false)
						}()
					}
				}
				w.apply(oneRun(s), Options{})
				if w.said(EventWarning, "at this pace") != (tt.says != "") || !w.said(EventWarning, tt.says) && tt.says != "" {
					t.Errorf("%q is not what is warned of: %+v", tt.says, w.run("run.train").Message)
				}
			})
		})
	}
}

// TestPodRm holds what pod rm deletes.
func TestPodRm(t *testing.T) {
	stray := func(w *world) string {
		return w.mem.AddPod(providers.Pod{Name: "other", RatePerHour: 1, Marker: providers.Marker{RunID: w.run("run.train").ID, Lineage: "lineage-1"}})
	}
	t.Run("running", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			w.job.hang = true
			w.apply(oneRun(spec()), Options{Detach: true})
			id := w.run("run.train").ID
			stray(w)
			out, err := w.engine().RemovePods(t.Context(), id, false, Options{})
			if err != nil || out.Class != Failure || CodeOf(out.Errors[0]) != "run_still_running" || len(w.mem.Pods()) != 1 || len(w.secrets()) != 1 {
				t.Errorf("%v %+v %v", err, out, w.mem.Pods())
			}
			out, err = w.engine().RemovePods(t.Context(), id, true, Options{})
			if run := w.run("run.train"); err != nil || out.Class != OK || run.Phase != state.Failed || run.Pod.DeletedBy != "pod_rm" {
				t.Errorf("%v %+v %+v", err, out, run)
			}
			w.clean()
		})
	})
	t.Run("unknown", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			w.mem.AddPod(providers.Pod{Marker: providers.Marker{RunID: "elsewhere-1", Lineage: "other"}})
			out, _ := w.engine().RemovePods(t.Context(), "elsewhere-1", false, Options{})
			if CodeOf(out.Errors[0]) != "not_in_runs" || len(w.mem.Pods()) != 1 {
				t.Errorf("%+v", out)
			}
			out, err := w.engine().RemovePods(t.Context(), "elsewhere-1", true, Options{})
			if err != nil || out.Class != OK {
				t.Errorf("%v %+v", err, out)
			}
			w.clean()
		})
	})
	t.Run("another project's pods are left alone", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			w.mem.AddPod(providers.Pod{ID: "theirs", Marker: providers.Marker{RunID: "x-1", Lineage: "other"}})
			w.apply(oneRun(spec()), Options{})
			_, _ = w.engine().Destroy(t.Context(), nil, DestroyOptions{})
			_, _ = w.engine().Sweep(t.Context(), Options{})
			if pods := w.mem.Pods(); len(pods) != 1 || pods[0].ID != "theirs" {
				t.Errorf("%v", pods)
			}
		})
	})
	t.Run("a stray is found by the next apply", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			w.job.hang = true
			w.apply(oneRun(spec()), Options{Detach: true})
			id := stray(w)
			go func() {
				time.Sleep(time.Minute)
				w.interrupts <- struct{}{}
			}()
			w.apply(w.replan(oneSpec()), Options{})
			if w.mem.Count("DeletePod") != 1 || w.mem.Pods()[0].ID == id {
				t.Errorf("%v", w.mem.Calls())
			}
		})
	})
}

func TestNotOurKey(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.job.hang = true
		w.apply(oneRun(spec()), Options{Detach: true})
		if err := os.RemoveAll(w.dir + "/" + w.run("run.train").Dir + "/ssh"); err != nil {
			t.Fatal(err)
		}
		out := w.apply(w.replan(oneSpec()), Options{})
		if out.Class != Failure || CodeOf(out.Runs[0].Err) != "not_our_key" || len(w.mem.Pods()) != 1 {
			t.Errorf("%+v", out)
		}
		dout, _ := w.engine().Destroy(t.Context(), nil, DestroyOptions{})
		if dout.Class != Failure || len(w.mem.Pods()) != 1 {
			t.Errorf("%+v", dout)
		}
		dout, err := w.engine().Destroy(t.Context(), nil, DestroyOptions{DiscardResults: true})
		if err != nil || dout.Class != OK {
			t.Errorf("%v %+v", err, dout)
		}
		w.clean()
	})
}

func TestDerivedKeys(t *testing.T) {
	d, err := NewDerivedKeys("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
	if err != nil {
		t.Fatal(err)
	}
	a, _ := d.Make("", "l", "r")
	b, _ := d.ClientKey("", "l", "r")
	c, _ := d.ClientKey("", "l", "other")
	if !bytes.Equal(a.PublicKey().Marshal(), b.PublicKey().Marshal()) || bytes.Equal(a.PublicKey().Marshal(), c.PublicKey().Marshal()) {
		t.Error("client keys")
	}
	h1, p1, _ := d.HostKey("l", "r")
	h2, p2, _ := d.HostKey("l", "r")
	if !bytes.Equal(h1.Marshal(), h2.Marshal()) || len(p1) == 0 || len(p2) == 0 || bytes.Equal(h1.Marshal(), a.PublicKey().Marshal()) {
		t.Error("host keys")
	}
	for source, words := range map[string]string{"derived": "OVERBRAINER_KEY is not the one", "file": "a file on the machine of ann@there"} {
		run := &state.Run{ID: "r", ClientKey: ssh.FingerprintSHA256(a.PublicKey()), KeySource: source, Holder: "ann@there"}
		if err := KeyFits(run, b); err != nil {
			t.Errorf("the run's own key: %v", err)
		}
		if err := KeyFits(run, c); !errors.Is(err, ErrOtherKey) || !strings.Contains(err.Error(), words) {
			t.Errorf("another key: %v", err)
		}
	}
	if _, err := NewDerivedKeys("c2hvcnQ="); err == nil {
		t.Error("a short secret is accepted")
	}
}

func TestRunIDs(t *testing.T) {
	at := time.Date(2026, 11, 29, 23, 12, 0, 0, time.UTC)
	for _, address := range []string{"run.iris", `run.sft["low rate"]`, "run.x[3]", "run." + strings.Repeat("long", 40), "run.ünï"} {
		id, err := newRunID(address, at)
		if err != nil || !ValidRunID(id) {
			t.Errorf("%s: %q %v", address, id, err)
		}
	}
}

func TestVolumes(t *testing.T) {
	step := func(action plan.Action, gb int) *plan.Plan {
		return &plan.Plan{Steps: []*plan.Step{{Address: "volume.data", Type: "volume", Action: action, Volume: &plan.VolumeSpec{
			Name: "p-data", SizeGB: gb, DataCenter: "EU-RO-1", Managed: true, Provider: "memory",
		}}}}
	}
	in(t, func(t *testing.T, w *world) {
		w.mem.Fail(providertest.Fault{Op: "CreateVolume", After: true, Err: providertest.Error(providers.Ambiguous, "create volume", "no answer")})
		if out := w.apply(step(plan.Create, 20), Options{}); out.Class != OK || w.mem.Count("CreateVolume") != 1 {
			t.Fatalf("create: %+v", out)
		}
		if out := w.apply(step(plan.Grow, 40), Options{}); out.Class != OK {
			t.Fatalf("grow: %+v", out)
		}
		st, _ := w.store.Read(t.Context())
		if v := st.Resources["volume.data"].Volume; v.SizeGB != 40 || v.ID == "" || v.Pending != "" {
			t.Errorf("%+v", v)
		}
		out, err := w.engine().Destroy(t.Context(), nil, DestroyOptions{})
		if list, _ := w.mem.ListVolumes(t.Context()); err != nil || out.Class != OK || len(list) != 1 || len(out.Messages) != 1 {
			t.Errorf("destroy keeps volumes: %v %+v", err, out)
		}
		w.mem.Fail(providertest.Fault{Op: "DeleteVolume", Err: providertest.Error(providers.Transient, "delete volume", "no answer")})
		if out, _ = w.engine().Destroy(t.Context(), nil, DestroyOptions{Volumes: true}); out.Class != Failure || len(out.Left) != 1 {
			t.Errorf("%+v", out)
		}
		if out, _ = w.engine().Destroy(t.Context(), nil, DestroyOptions{Volumes: true}); out.Class != OK {
			t.Errorf("%+v", out)
		}
		if st, _ := w.store.Read(t.Context()); len(st.Resources) != 0 {
			t.Errorf("%v", st.Resources)
		}
	})
}

func TestDependants(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		specs := map[string]*plan.RunSpec{"run.a": spec(), "run.b": spec(), "run.c": spec()}
		p := planOf(plan.Run, specs)
		p.Steps[1].DependsOn = []string{"run.a"}
		w.boot = func(_ int, fp *fakePod) {
			if strings.HasPrefix(fp.request.Marker.RunID, "a-") {
				fp.job.exit = 1
			}
		}
		out := w.apply(p, Options{})
		if out.Class != JobFailed || len(out.Skipped) != 1 || out.Skipped[0] != (Skipped{"run.b", "run.a"}) || w.run("run.c").Phase != state.Succeeded || w.run("run.b") != nil {
			t.Errorf("%+v", out)
		}
	})
}

// What depends on a run that an interrupt kept from being begun, or that was given up
// at it, was not begun before it either: nothing failed.
func TestDependantsOfWhatWasInterrupted(t *testing.T) {
	for name, at := range map[string]time.Duration{"while a pod boots": 12 * time.Second, "while a job runs": 3 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.job.hang = true
				w.parallel = 1 // of a and b one is begun
				p := planOf(plan.Run, map[string]*plan.RunSpec{"run.a": spec(), "run.a2": spec(), "run.b": spec(), "run.b2": spec()})
				p.Steps[1].DependsOn, p.Steps[3].DependsOn = []string{"run.a"}, []string{"run.b"}
				time.AfterFunc(at, func() { w.interrupts <- struct{}{} })
				out := w.apply(p, Options{})
				if out.Class != Interrupt || len(out.Skipped)+len(out.Waiting) != 3 || len(out.Skipped) < 2 {
					t.Fatalf("%+v", out)
				}
				for _, s := range out.Skipped {
					if s.Because != TheInterrupt {
						t.Errorf("%+v", s)
					}
				}
				if w.said(EventSkipped, "failed") {
					t.Error("something is said to have failed")
				}
			})
		})
	}
}

// A cap that is used up keeps nobody from following what goes on; what would have to
// begin waits for that, and there is no run of it that could only fail.
func TestAnEmptyCapHoldsOnlyWhatBegins(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.job.length = 40 * time.Minute
		shared := func() *plan.RunSpec {
			s := spec()
			s.Cap.MaxCostUSD, s.Cap.MaxTotalUSD = 0.4, 0.4
			return s
		}
		w.apply(planOf(plan.Run, map[string]*plan.RunSpec{"run.a": shared()}), Options{Detach: true})
		p := planOf(plan.Attach, map[string]*plan.RunSpec{"run.a": shared(), "run.b": shared()})
		p.Steps[1].Action = plan.Run
		out := w.apply(p, Options{})
		if a := w.run("run.a"); a.Phase != state.Succeeded || !a.Retrieved {
			t.Errorf("%s %s", a.Phase, a.Message)
		}
		if out.Class != Failure || len(out.Runs) != 2 || CodeOf(out.Runs[1].Err) != "budget" || w.run("run.b") != nil {
			t.Fatalf("class %d, %+v, %+v", out.Class, out.Runs, w.run("run.b"))
		}
		if text := out.Runs[1].Err.Error(); !strings.Contains(text, "$0.31 is spent and $0.00 reserved for other runs, which leaves $0.09. That buys ") || !strings.Contains(text, "here $0.40, does not start for less than 30 min") {
			t.Error(text)
		}
		w.clean()
	})
}

func TestWaitForStock(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.mem.Fail(providertest.Fault{Op: "CreatePod", Times: 12, Err: providertest.Error(providers.Capacity, "create pod", "none")})
		s := spec()
		s.Target.WaitForStockS = 7200
		if out := w.apply(oneRun(s), Options{}); out.Class != OK {
			t.Errorf("%+v", out)
		}
		w.clean()
	})
}

// A wait for stock that was in vain names each offer once, however often it was
// asked for, and does not advise what is set; meanwhile a look that shows what
// the last one did is one short line.
func TestWaitForStockInVain(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.mem.Fail(providertest.Fault{Op: "CreatePod", Times: 1000, Err: providertest.Error(providers.Capacity, "create pod", "none")})
		s := spec()
		s.Target.WaitForStockS = 7200
		p := oneRun(s)
		out := w.apply(p, Options{})
		if out.Class != NothingRentable || len(out.Runs) != 1 {
			t.Fatalf("%+v", out)
		}
		looks := len(w.run("run.train").Attempts) / len(p.Offers["run.train"])
		if looks < 3 {
			t.Fatalf("%d looks", looks)
		}
		text := out.Runs[0].Err.Error()
		for _, o := range p.Offers["run.train"] {
			if n := strings.Count(text, o.GPUType); n != 1 {
				t.Errorf("%s is named %d times: %s", o.GPUType, n, text)
			}
		}
		if strings.Contains(text, "set wait_for_stock") || !strings.Contains(text, "raise wait_for_stock, which is 2h") {
			t.Error(text)
		}
		var asked, still int
		for _, e := range w.events {
			switch {
			case e.Kind == EventCreating, e.Kind == EventUnavailable:
				asked++
			case e.Kind == EventWaiting && strings.HasPrefix(e.Message, "still nothing to rent; trying again in "):
				still++
			}
			if strings.Contains(e.Message, "AM") || strings.Contains(e.Message, "PM") {
				t.Errorf("a clock of twelve hours: %s", e.Message)
			}
		}
		if most := 2 * len(p.Offers["run.train"]); asked != most || still < looks-2 {
			t.Errorf("%d lines about offers, want %d; %d of %d looks told shortly", asked, most, still, looks)
		}
	})
}

func TestDearerNow(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		p := oneRun(spec())
		p.Offers["run.train"][0].PriceUSD = price(0.30)
		if out := w.apply(p, Options{}); out.Class != OK || w.mem.Creates()[0].GPUType != "NVIDIA L40S" {
			t.Errorf("%+v", out)
		}
		p = oneRun(spec())
		for i := range p.Offers["run.train"] {
			p.Offers["run.train"][i].PriceUSD = price(0.1)
		}
		p.Steps[0].Action = plan.Rerun
		out := w.apply(p, Options{})
		if out.Class != Failure || len(w.mem.Creates()) != 1 {
			t.Errorf("class %d: %v", out.Class, out.Runs[0].Err)
		}
	})
}

// TestAShortCapIsToldToTheSecond: whoever sets it plans with what it says.
func TestAShortCapIsToldToTheSecond(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		s := spec()
		rate := *offersFor(s)[0].PriceUSD + s.Target.DiskHourly()
		s.Cap.MaxCostUSD = rate * (7*time.Minute + 50*time.Second).Hours()
		w.apply(oneRun(s), Options{})
		if !w.said(EventWarning, "the money buys only 7 min 50 s of this pod; ") || !w.said(EventWarning, " would buy 30 min") {
			t.Errorf("%+v", w.events)
		}
		w.clean()
	})
}
