package runpod_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/runpod"
	"github.com/overbrainer/overbrainer/providers/runpod/sim"
)

// TestMain makes the test binary a stand-in for the simulator when it is called
// like one.
func TestMain(m *testing.M) {
	sim.Reexec()
	if len(os.Args) == 4 && os.Args[1] == "sim" && os.Args[2] == "serve" {
		os.Exit(standIn(strings.TrimPrefix(os.Args[3], "-home=")))
	}
	os.Exit(m.Run())
}

// standIn answers every request with an empty list until its home is gone. The
// file "plan" in its home says how it is to behave.
func standIn(home string) int {
	plan, _ := os.ReadFile(filepath.Join(home, "plan"))
	if string(plan) == "fail" {
		fmt.Fprintln(os.Stderr, "cannot serve:\x1b[31m the port range is used up")
		return 1
	}
	appendTo(filepath.Join(home, "started"), fmt.Sprintf("%d secret=%q home=%q\n", os.Getpid(), os.Getenv("AWS_SECRET"), os.Getenv("HOME")))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1
	}
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		appendTo(filepath.Join(home, "requests"), r.Header.Get("Authorization")+" "+r.URL.Path+"\n")
		_, _ = fmt.Fprint(w, "{}")
	})}
	go func() { _ = server.Serve(l) }()
	address, _ := json.Marshal(map[string]any{"url": "http://" + l.Addr().String(), "pid": os.Getpid(), "build": "1.2.3", "speed": 60})
	_ = os.WriteFile(filepath.Join(home, "address.json.tmp"), address, 0o600)
	_ = os.Rename(filepath.Join(home, "address.json.tmp"), filepath.Join(home, "address.json"))
	for range 600 {
		if _, err := os.Stat(home); err != nil {
			return 0
		}
		time.Sleep(50 * time.Millisecond)
	}
	return 0
}

func appendTo(path, text string) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, _ = f.WriteString(text)
		_ = f.Close()
	}
}

// simulated is a project with a home of its own for its simulator.
type simulated struct {
	env     func(string) string
	project string
	home    string
}

func newSimulated(t *testing.T) *simulated {
	t.Helper()
	state := t.TempDir()
	s := &simulated{
		env:     environ(map[string]string{"XDG_STATE_HOME": state, "HOME": "/home/of/test", "PATH": os.Getenv("PATH"), "AWS_SECRET": "hidden"}),
		project: t.TempDir(),
	}
	s.home = runpod.SimulatorHome(s.env, s.project)
	if !strings.HasPrefix(s.home, state+"/overbrainer/sim/") || len(filepath.Base(s.home)) != 12 {
		t.Fatalf("home %s", s.home)
	}
	if err := os.MkdirAll(s.home, 0o700); err != nil {
		t.Fatal(err)
	}
	// The stand-in ends when its home is gone.
	t.Cleanup(func() { _ = os.RemoveAll(s.home) })
	return s
}

func (s *simulated) configure(t *testing.T, build string) (*runpod.Provider, providers.Configured) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := runpod.New(runpod.Options{Version: "1.2.3", Build: build, Environ: s.env, Exe: exe})
	c, err := p.Configure(ctx, providers.ConfigureRequest{Values: map[string]any{"simulator": true}, Project: s.project})
	if err != nil {
		t.Fatal(err)
	}
	return p, c
}

func (s *simulated) file(name string) string {
	data, _ := os.ReadFile(filepath.Join(s.home, name))
	return string(data)
}

func TestSimulatorIsStartedOnce(t *testing.T) {
	s := newSimulated(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			p, c := s.configure(t, "")
			if len(c.Problems) > 0 || !c.Simulated || c.Speed != 60 {
				t.Errorf("%+v", c)
				return
			}
			if _, err := p.ListPods(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if started := s.file("started"); strings.Count(started, "\n") != 1 || !strings.Contains(started, `secret="" home="/home/of/test"`) {
		t.Errorf("started %q", started)
	}
	if r := s.file("requests"); !strings.Contains(r, "Bearer sim-key /v2/pods\n") || strings.Contains(r, "Bearer sim-key /v2/openapi.json") {
		t.Errorf("requests %q", r)
	}
}

func TestSimulatorOfAnotherBuildIsRefused(t *testing.T) {
	s := newSimulated(t)
	if _, c := s.configure(t, ""); len(c.Problems) > 0 {
		t.Fatalf("%+v", c)
	}
	_, c := s.configure(t, "1.2.4")
	if len(c.Problems) != 1 || !strings.Contains(c.Problems[0].Detail, "overbrainer sim stop") || !strings.Contains(c.Problems[0].Detail, "1.2.3") {
		t.Errorf("%+v", c.Problems)
	}
}

func TestSimulatorThatFails(t *testing.T) {
	s := newSimulated(t)
	if err := os.WriteFile(filepath.Join(s.home, "plan"), []byte("fail"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, c := s.configure(t, "")
	if len(c.Problems) != 1 || c.Problems[0].Attribute != "simulator" || !strings.Contains(c.Problems[0].Detail, "it ended at once: cannot serve: the port range is used up") {
		t.Errorf("%+v", c.Problems)
	}
}

func TestStaleAddressIsPassedOver(t *testing.T) {
	s := newSimulated(t)
	for _, stale := range []string{`{"url":"http://127.0.0.1:1","pid":1,"build":"1.2.3"}`, `{"url":"http://api.example.com","pid":1,"build":"1.2.3"}`, "{"} {
		if err := os.WriteFile(filepath.Join(s.home, "address.json"), []byte(stale), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, c := s.configure(t, ""); len(c.Problems) > 0 {
			t.Errorf("%s: %+v", stale, c.Problems)
		}
	}
}

func TestSimulatorByVariable(t *testing.T) {
	s := newSimulated(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := runpod.New(runpod.Options{Version: "1.2.3", Environ: s.env, Exe: exe})
	c, err := p.Configure(ctx, providers.ConfigureRequest{Project: s.project, Environment: map[string]string{"OVERBRAINER_SIMULATOR": "1"}})
	if err != nil || !c.Simulated || len(c.Problems) != 1 || !c.Problems[0].Warning {
		t.Errorf("%+v, %v", c, err)
	}
}
