package apply

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/providertest"
	"github.com/overbrainer/overbrainer/state"
)

// TestReadiness holds what becomes of pods that are made and how they get
// ready.
func TestReadiness(t *testing.T) {
	first := func(change func(*fakePod)) func(int, *fakePod) {
		return func(n int, p *fakePod) {
			if n == 1 {
				change(p)
			}
		}
	}
	shape := func(change func(*providers.Pod)) func(int, providers.Pod) providers.Pod {
		return func(n int, p providers.Pod) providers.Pod {
			if n == 1 {
				change(&p)
			}
			return p
		}
	}
	both := []state.AttemptResult{state.AttemptNotReady, state.AttemptCreated}
	tests := []struct {
		name    string
		boot    func(int, *fakePod)
		shape   func(int, providers.Pod) providers.Pod
		results []state.AttemptResult
		phase   state.Phase
		reason  state.Reason
		message string
		dear    bool          // there is a third, dearer type
		quick   time.Duration // the failed pod is given up before this
	}{
		{name: "dies", shape: shape(func(p *providers.Pod) { p.Status = providers.Errored }), results: both, phase: state.Succeeded, quick: time.Minute},
		{name: "never has an address", shape: shape(func(p *providers.Pod) { p.SSH = nil }), results: both, phase: state.Succeeded},
		{name: "never answers", boot: first(func(p *fakePod) { p.bootTime = 24 * time.Hour }), results: both, phase: state.Succeeded},
		{name: "refuses the key", boot: first(func(p *fakePod) { p.refuseKey = true }), results: []state.AttemptResult{state.AttemptRefused}, phase: state.Failed, reason: state.NotReady, message: "SHA256:", quick: 3 * time.Minute},
		{name: "guard cannot act", boot: first(func(p *fakePod) { p.verdict = Verdict{State: "failed", Reason: "http_403"} }), results: []state.AttemptResult{state.AttemptRefused}, phase: state.Failed, reason: state.WatchdogRefused, message: "refuses the key that the pod was given (http_403)"},
		{name: "guard may only look", boot: first(func(p *fakePod) { p.verdict = Verdict{State: "failed", Reason: "read_only_key"} }), results: []state.AttemptResult{state.AttemptRefused}, phase: state.Failed, reason: state.WatchdogRefused, message: "may look at the pod and not delete it"},
		{name: "guard knows no certificates", boot: first(func(p *fakePod) { p.verdict = Verdict{State: "failed", Reason: "no_certificates"} }), results: []state.AttemptResult{state.AttemptRefused}, phase: state.Failed, reason: state.WatchdogRefused, message: "the image has no CA certificates"},
		{name: "guard has no curl", boot: first(func(p *fakePod) { p.verdict = Verdict{State: "failed", Reason: "no_curl"} }), results: []state.AttemptResult{state.AttemptRefused}, phase: state.Failed, reason: state.WatchdogRefused, message: "curl is missing in the image"},
		{name: "image lacks programs", boot: first(func(p *fakePod) {
			p.answer = func(string) error { return fmt.Errorf("%w: no find", ErrLacks) }
		}), results: []state.AttemptResult{state.AttemptCreated}, phase: state.Failed, reason: state.LaunchFailed, message: "no job was started from image: the image lacks what a run takes: no find"},
		{name: "image lacks what the guard's word is read with", boot: func(_ int, p *fakePod) {
			p.unread = fmt.Errorf("%w: no head", ErrLacks)
		}, results: []state.AttemptResult{state.AttemptRefused}, phase: state.Failed, reason: state.LaunchFailed, message: "no job was started from image: the image lacks what a run takes: no head"},
		{name: "no guard's word can be read", boot: func(_ int, p *fakePod) {
			p.unread = errors.New("it is garbled")
		}, results: []state.AttemptResult{state.AttemptRefused, state.AttemptRefused}, phase: state.Failed, reason: state.NotReady, message: "its guard was not heard within 3m0s: the guard's word cannot be read: it is garbled"},
		{name: "bootstrap failed", boot: first(func(p *fakePod) {
			p.verdict = Verdict{State: "failed", Reason: "sshd is missing", Bootstrap: true}
		}), results: []state.AttemptResult{state.AttemptRefused}, phase: state.Failed, reason: state.Bootstrap, message: "sshd is missing"},
		{name: "guard has no way out", boot: first(func(p *fakePod) { p.verdict = Verdict{State: "failed", Reason: "unreachable"} }), results: []state.AttemptResult{state.AttemptRefused, state.AttemptCreated}, phase: state.Succeeded},
		{name: "no guard has a way out", boot: func(_ int, p *fakePod) { p.verdict = Verdict{State: "failed", Reason: "unreachable"} }, dear: true, results: []state.AttemptResult{state.AttemptRefused, state.AttemptRefused}, phase: state.Failed, reason: state.WatchdogRefused, message: "no fault of a GPU type"},
		{name: "guard says nothing", boot: first(func(p *fakePod) { p.verdict = Verdict{State: "none"} }), results: []state.AttemptResult{state.AttemptRefused, state.AttemptCreated}, phase: state.Succeeded},
		{name: "no guard says anything", boot: func(_ int, p *fakePod) { p.verdict = Verdict{State: "none"} }, results: []state.AttemptResult{state.AttemptRefused, state.AttemptRefused}, phase: state.Failed, reason: state.NotReady, message: "3m0s"},
		{name: "has no GPU", boot: first(func(p *fakePod) { p.verdict.GPUCount = 0 }), results: []state.AttemptResult{state.AttemptRefused}, phase: state.Failed, reason: state.PlacementMismatch, message: "0 of 1 GPU"},
		{name: "is dearer than shown", shape: shape(func(p *providers.Pod) { p.RatePerHour = 0.79 }), results: []state.AttemptResult{state.AttemptRefused, state.AttemptCreated}, phase: state.Succeeded},
		{name: "is of another type", shape: shape(func(p *providers.Pod) { p.GPUType = "NVIDIA T4" }), results: []state.AttemptResult{state.AttemptRefused, state.AttemptCreated}, phase: state.Succeeded},
		{name: "a cent is no difference", shape: shape(func(p *providers.Pod) { p.RatePerHour = 0.445 }), results: []state.AttemptResult{state.AttemptCreated}, phase: state.Succeeded},
		{name: "takes ten minutes", boot: first(func(p *fakePod) { p.bootTime = 10 * time.Minute }), results: []state.AttemptResult{state.AttemptCreated}, phase: state.Succeeded},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.boot, w.shape = tt.boot, tt.shape
				began := time.Now()
				p := oneRun(spec())
				if tt.dear {
					p.Offers["run.train"] = append(p.Offers["run.train"], plan.Offer{GPUType: "NVIDIA L40", GPUCount: 1, Cloud: "secure", PriceUSD: price(1.2), Stock: "low"})
				}
				w.apply(p, Options{})
				run := w.run("run.train")
				if !equalResults(results(run), tt.results) || run.Phase != tt.phase || run.Reason != tt.reason {
					t.Errorf("%v %s %s: %s", results(run), run.Phase, run.Reason, run.Message)
				}
				if !strings.Contains(run.Message, tt.message) {
					t.Errorf("message %q lacks %q", run.Message, tt.message)
				}
				if tt.quick > 0 && run.Attempts[0].EndedAt.Sub(began) > tt.quick {
					t.Errorf("given up after %s", run.Attempts[0].EndedAt.Sub(began))
				}
				if len(results(run)) > 1 && (run.Attempts[0].CostUSD <= 0 && tt.name != "is dearer than shown" && tt.name != "dies" || run.CostUSD < run.Attempts[0].CostUSD) {
					t.Errorf("cost of the attempt %v, of the run %v", run.Attempts[0].CostUSD, run.CostUSD)
				}
				w.clean()
			})
		})
	}
}

// TestForeignHostKey: what goes on answering at a pod's address with another host
// key than the run's ends the wait long before its time, and the walk where the
// next pod is no better. An answer before the pod's own sshd has started does not.
func TestForeignHostKey(t *testing.T) {
	const always = 24 * time.Hour
	both := []state.AttemptResult{state.AttemptNotReady, state.AttemptCreated}
	tests := []struct {
		name    string
		other   []time.Duration // of each pod
		guard   time.Duration   // when the log says that the guard is ready; 0: never
		results []state.AttemptResult
		within  time.Duration // the first pod's life
	}{
		{"one pod", []time.Duration{always, 0}, 25 * time.Second, both, 100 * time.Second},
		{"one pod whose guard is not heard", []time.Duration{always, 0}, 0, both, 6 * time.Minute},
		{"every pod", []time.Duration{always, always, 0}, 25 * time.Second, []state.AttemptResult{state.AttemptNotReady, state.AttemptNotReady}, 100 * time.Second},
		{"the image's own, before ours", []time.Duration{4 * time.Minute}, 0, both[1:], always},
		{"an address that is late", []time.Duration{50 * time.Second}, 25 * time.Second, both[1:], always},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.boot = func(n int, p *fakePod) {
					p.otherKey = tt.other[n-1]
					if tt.guard > 0 {
						time.AfterFunc(tt.guard, func() { w.mem.Log(p.id, "overbrainer-verdict ready gpus=1") })
					}
				}
				p := oneRun(spec())
				p.Offers["run.train"] = append(p.Offers["run.train"], plan.Offer{GPUType: "NVIDIA L40", GPUCount: 1, Cloud: "secure", PriceUSD: price(1.2), Stock: "low"})
				w.apply(p, Options{})
				run := w.run("run.train")
				if !equalResults(results(run), tt.results) {
					t.Fatalf("%v: %s", results(run), run.Message)
				}
				first := run.Attempts[0]
				if first.Result == state.AttemptNotReady {
					key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(run.HostKey))
					if err != nil {
						t.Fatal(err)
					}
					for _, want := range []string{"SHA256:other", ssh.FingerprintSHA256(key), "nothing was sent"} {
						if !strings.Contains(first.Detail, want) {
							t.Errorf("%q lacks %q", first.Detail, want)
						}
					}
					if took := first.EndedAt.Sub(first.SentAt); took > tt.within {
						t.Errorf("given up after %s", took)
					}
				}
				if last := tt.results[len(tt.results)-1]; last == state.AttemptCreated {
					if run.Phase != state.Succeeded {
						t.Errorf("%s %s: %s", run.Phase, run.Reason, run.Message)
					}
				} else if run.Reason != state.NotReady || !strings.Contains(run.Message, "no fault of a GPU type, so no other was tried") {
					t.Errorf("%s %s: %s", run.Phase, run.Reason, run.Message)
				}
				w.clean()
			})
		})
	}
}

// TestGuardsWordIsHeard: a pod whose guard says in its log that it is ready is
// used at once, however long the wait between two looks has become.
func TestGuardsWordIsHeard(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const boot = 61 * time.Second
		w.boot = func(_ int, p *fakePod) {
			p.bootTime = boot
			time.AfterFunc(boot, func() { w.mem.Log(p.id, "overbrainer-verdict ready gpus=1") })
		}
		w.apply(oneRun(spec()), Options{})
		run := w.run("run.train")
		if late := run.Pod.ReadyAt.Sub(run.Attempts[0].SentAt) - boot; late < 0 || late > 500*time.Millisecond {
			t.Errorf("seen %s after it was ready", late)
		}
		w.clean()
	})
}

func TestWaitingIsSaid(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.boot = func(_ int, p *fakePod) { p.bootTime = 10 * time.Minute }
		w.apply(oneRun(spec()), Options{})
		n := 0
		for _, e := range w.events {
			if e.Kind == EventWaiting {
				n++
			}
		}
		if n < 20 || n > 45 {
			t.Errorf("%d heartbeats in ten minutes", n)
		}
	})
}

func TestContainerLogExplainsAWait(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		s := spec()
		s.Target.GPUTypes = []string{"NVIDIA A40"}
		s.Target.ReadyTimeoutS = 120
		w.boot = func(_ int, p *fakePod) {
			p.bootTime = 24 * time.Hour
			go func() {
				time.Sleep(3 * time.Second)
				w.mem.Log(p.id, "error creating container: no space left on device")
			}()
		}
		p := oneRun(s)
		p.Offers["run.train"] = p.Offers["run.train"][:1]
		out := w.apply(p, Options{})
		run := w.run("run.train")
		if out.Class != Failure || !strings.Contains(run.Message, "no space left") || !strings.Contains(run.Message, "its disk has 50 GB, container_disk_gb") || !w.said(EventWaiting, "no space left") {
			t.Errorf("class %d: %s", out.Class, run.Message)
		}
		w.clean()
	})
}

// TestContainerNeverStarts: a container that cannot be started three times ends
// the wait long before its time, with the host's words.
func TestContainerNeverStarts(t *testing.T) {
	for name, say := range map[string]func(w *world, id string){
		"refused": func(w *world, id string) {
			w.mem.LogSystem(id, "error starting container: exec: \"bash\": not found")
		},
		"ends at once": func(w *world, id string) {
			w.mem.Log(id, "/usr/local/bin/bash: exec: /no-shell: not found")
			w.mem.LogSystem(id, "container exited with code 127")
		},
	} {
		t.Run(name, func(t *testing.T) { neverStarts(t, say) })
	}
}

func neverStarts(t *testing.T, say func(w *world, id string)) {
	in(t, func(t *testing.T, w *world) {
		w.boot = func(n int, p *fakePod) {
			if n > 1 {
				return
			}
			p.bootTime = 24 * time.Hour
			go func() {
				for range 3 {
					time.Sleep(10 * time.Second)
					say(w, p.id)
				}
			}()
		}
		w.apply(oneRun(spec()), Options{})
		first := w.run("run.train").Attempts[0]
		if took := first.EndedAt.Sub(first.SentAt); took > time.Minute || !strings.Contains(first.Detail, "not found") {
			t.Errorf("given up after %s: %s", took, first.Detail)
		}
		w.clean()
	})
}

// TestMountHidesStart: an image that starts by a file of which a mount hides the
// directory can start on no pod with that volume, and is told why at once.
func TestMountHidesStart(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.mem.AddVolume(providers.Volume{ID: "vol1", Name: "v", SizeGB: 200, DataCenter: "EU-RO-1"})
		w.boot = func(_ int, p *fakePod) {
			p.bootTime = 24 * time.Hour
			go func() {
				for range 3 {
					time.Sleep(10 * time.Second)
					w.mem.LogSystem(p.id, `error starting container: exec: "/workspace/data/start.sh": no such file or directory`)
				}
			}()
		}
		s := spec()
		s.Target.VolumeID, s.Target.VolumeGB = "vol1", 200
		began := time.Now()
		out := w.apply(oneRun(s), Options{})
		run := w.run("run.train")
		for _, want := range []string{"/workspace/data/start.sh", "no such file", "the volume is mounted at /workspace/data, which hides"} {
			if !strings.Contains(run.Message, want) {
				t.Errorf("%q lacks %q", run.Message, want)
			}
		}
		if out.Class != Failure || run.Reason != state.NotReady || len(w.mem.Creates()) != 1 || time.Since(began) > 2*time.Minute {
			t.Errorf("class %d, %s, %d pods, after %s", out.Class, run.Reason, len(w.mem.Creates()), time.Since(began))
		}
		w.clean()
	})
}

// A pod that is not proven gone says why it was to go.
func TestGivenUpIsNotLost(t *testing.T) {
	err := givenUp("it never got ready", failf("not_deleted", "pod p could not be deleted").at("run.a"))
	if want := "run.a: pod p could not be deleted; it was given up because it never got ready"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}

// TestPodLogGoesOn: a log stream that ends is opened again where it was.
func TestPodLogGoesOn(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.mem.Fail(providertest.Fault{Op: "PodLogs", Times: 3, Err: providertest.Error(providers.Transient, "read pod log", "bad gateway")})
		w.boot = func(_ int, p *fakePod) {
			time.AfterFunc(time.Minute, func() { w.mem.Log(p.id, "one line of the image") })
		}
		w.apply(oneRun(spec()), Options{})
		kept, err := os.ReadFile(filepath.Join(w.dir, w.run("run.train").Dir, podLogDir, podLogName))
		if err != nil || strings.Count(string(kept), "one line of the image") != 1 {
			t.Errorf("%s %v", kept, err)
		}
	})
}

// TestPodLogWhileResultsCome: the log's end is looked for while results are on their
// way, and what is written then is kept, once.
func TestPodLogWhileResultsCome(t *testing.T) {
	for _, took := range []time.Duration{10 * time.Millisecond, time.Hour} {
		in(t, func(t *testing.T, w *world) {
			w.boot = func(_ int, p *fakePod) {
				time.AfterFunc(time.Second, func() { w.mem.Log(p.id, "line one", "line two") })
				p.copying = func(CollectRequest) error {
					w.mem.Log(p.id, "line three")
					time.Sleep(took)
					w.mem.Log(p.id, "line four")
					return nil
				}
			}
			w.apply(oneRun(spec()), Options{})
			kept, err := os.ReadFile(filepath.Join(w.dir, w.run("run.train").Dir, podLogDir, podLogName))
			for _, line := range []string{"line one", "line two", "line three", "line four"} {
				if n := strings.Count(string(kept), line); err != nil || n != 1 {
					t.Errorf("results took %s: %q was kept %d times: %v", took, line, n, err)
				}
			}
		})
	}
}

// TestPodLogIsReadToItsEnd: before a pod is deleted its log is read to the end,
// beginning one line back, and no line is kept twice.
func TestPodLogIsReadToItsEnd(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.boot = func(_ int, p *fakePod) {
			time.AfterFunc(time.Second, func() { w.mem.Log(p.id, "line one", "line two", "line three") })
		}
		w.apply(oneRun(spec()), Options{})
		kept, err := os.ReadFile(filepath.Join(w.dir, w.run("run.train").Dir, podLogDir, podLogName))
		for _, line := range []string{"line one", "line two", "line three"} {
			if n := strings.Count(string(kept), line); err != nil || n != 1 {
				t.Errorf("%q was kept %d times: %v", line, n, err)
			}
		}
	})
}

func TestVerdictFromTheLog(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.boot = func(_ int, p *fakePod) {
			p.bootTime = 24 * time.Hour
			go func() {
				time.Sleep(8 * time.Second)
				w.mem.Log(p.id, "overbrainer-verdict failed bootstrap: no sshd in the image")
			}()
		}
		began := time.Now()
		w.apply(oneRun(spec()), Options{})
		if run := w.run("run.train"); run.Reason != state.Bootstrap || time.Since(began) > time.Minute {
			t.Errorf("%s after %s", run.Reason, time.Since(began))
		}
		w.clean()
	})
}

func TestFreshPodIsNotGone(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.mem.Fail(providertest.Fault{Op: "GetPod", Times: 8, Err: providertest.Error(providers.NotFound, "read pod", "no such pod")})
		out := w.apply(oneRun(spec()), Options{})
		if out.Class != OK || len(w.mem.Creates()) != 1 {
			t.Errorf("%+v", out)
		}
	})
}

func TestDeletedElsewhereWhileBooting(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.boot = func(_ int, p *fakePod) {
			p.bootTime = 24 * time.Hour
			go func() {
				time.Sleep(16 * time.Second)
				w.mem.Take(p.id)
			}()
		}
		began := time.Now()
		out := w.apply(oneRun(spec()), Options{})
		run := w.run("run.train")
		if out.Class != Failure || run.Reason != state.Lost || time.Since(began) > 3*time.Minute || len(w.mem.Creates()) != 1 {
			t.Errorf("class %d, %s after %s: %s", out.Class, run.Reason, time.Since(began), run.Message)
		}
		w.clean()
	})
}

func TestDeadPodThatStays(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.shape = func(_ int, p providers.Pod) providers.Pod { p.Status = providers.Exited; return p }
		w.mem.Fail(providertest.Fault{Op: "DeletePod", Times: -1, Err: providertest.Error(providers.Transient, "delete pod", "no answer")})
		out := w.apply(oneRun(spec()), Options{})
		run := w.run("run.train")
		if out.Class != Failure || len(w.mem.Creates()) != 1 || run.Pod.State != state.PodDeleting || len(run.Secrets) != 1 {
			t.Errorf("class %d, run %+v", out.Class, run)
		}
		if len(out.Left) != 1 || out.Left[0].ID != run.Pod.ID {
			t.Errorf("left: %+v", out.Left)
		}
	})
}

func TestSecretRefused(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.mem.Fail(providertest.Fault{Op: "PutSecret", Err: providertest.Error(providers.Forbidden, "write secret", "permission denied")})
		out := w.apply(oneRun(spec()), Options{})
		if out.Class != Failure || w.mem.Count("CreatePod") != 0 || !strings.Contains(out.Runs[0].Err.Error(), "read and write access") {
			t.Errorf("%+v", out)
		}
		w.clean()
	})
}

func TestUnwritableState(t *testing.T) {
	t.Run("before anything", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			w.store.fail = func(*state.State) error { return os.ErrPermission }
			if _, err := w.engine().Apply(t.Context(), oneRun(spec()), Options{}); err == nil || w.mem.Count("CreatePod") != 0 {
				t.Errorf("err %v, %d creates", err, w.mem.Count("CreatePod"))
			}
		})
	})
	t.Run("right after the create", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			w.store.fail = func(st *state.State) error {
				if run := currentRun(st, "run.train"); run != nil && run.Pod != nil {
					return os.ErrPermission
				}
				return nil
			}
			out, _ := w.engine().Apply(t.Context(), oneRun(spec()), Options{})
			if out.Class != Failure || len(w.mem.Pods()) != 0 || w.mem.Count("CreatePod") != 1 {
				t.Errorf("class %d, pods %v, %d creates", out.Class, w.mem.Pods(), w.mem.Count("CreatePod"))
			}
			if run := w.store.failed.Resources["run.train"].Run.CurrentRun(); !w.said(EventWarning, "pod "+run.Pod.ID+" is there, at $") || !w.said(EventWarning, "overbrainer pod rm "+run.ID) {
				t.Error("it was not said which pod bills, how much, and what ends it")
			}
			w.store.fail, w.store.failed = nil, nil // another process
			w.dead[w.pid] = true
			out = w.apply(w.replan(oneSpec()), Options{})
			if out.Class != OK {
				t.Errorf("afterwards: %+v", out)
			}
			w.clean()
		})
	})
}
