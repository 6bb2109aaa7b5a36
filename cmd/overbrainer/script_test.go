package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/overbrainer/overbrainer/examples"
	"github.com/overbrainer/overbrainer/providers/runpod/sim"
	"github.com/overbrainer/overbrainer/state/statetest"
)

// TestScripts runs the built program through testdata/*.txtar, each in a
// directory, a home and a simulator of its own.
func TestScripts(t *testing.T) {
	binary := build(t)
	testscript.Run(t, testscript.Params{
		Dir:             "testdata",
		ContinueOnError: false,
		Setup:           func(env *testscript.Env) error { return setup(env, binary) },
		Condition:       condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"example":    example,
			"waitstate":  waitState,
			"json":       jsonValueIs,
			"alone":      alone,
			"backend":    backendServer,
			"documented": documented,
			"machine":    machine,
			"play":       play,
			"outage":     outage,
			"samecloud":  sameCloud,
			"schema":     schema,
			"provider":   buildProvider,
		},
	})
}

// build compiles the program once, as users get it.
func build(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ob-bin")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	// Other users run it, too.
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "overbrainer")
	cmd := exec.Command("go", "build", "-ldflags", "-X main.version=0.1.0-test", "-o", binary, ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

func setup(env *testscript.Env, binary string) error {
	home := filepath.Join(env.WorkDir, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	env.Setenv("HOME", home)
	env.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	env.Setenv("PATH", filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH")+":/usr/sbin:/sbin")
	env.Setenv("BIN", binary)
	// The first secret is one that no output may hold.
	env.Setenv("RUNPOD_API_KEY", "")
	env.Setenv("OVERBRAINER_INPUT", "0")
	env.Defer(func() { stopSimulators(env.WorkDir) })
	return nil
}

// stopSimulators ends every simulator that a script started.
func stopSimulators(work string) {
	homes, err := filepath.Glob(filepath.Join(work, "*", "state", "overbrainer", "sim", "*"))
	if err != nil {
		return
	}
	for _, home := range homes {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		if s, err := sim.Find(ctx, home); err == nil {
			_ = s.Stop(ctx)
			for ctx.Err() == nil {
				if _, err := sim.ReadAddress(home); err != nil {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
		}
		cancel()
	}
}

// condition knows [root], and [postgres], [s3server] and [have:PROGRAM], which
// must hold in CI.
func condition(cond string) (bool, error) {
	if cond == "root" {
		return os.Getuid() == 0, nil
	}
	for name, server := range map[string]struct {
		have func() bool
		err  error
	}{
		"postgres": {statetest.HavePostgres, statetest.ErrNoPostgres},
		"s3server": {statetest.HaveS3, statetest.ErrNoS3},
	} {
		if cond == name {
			have := server.have()
			if !have && os.Getenv("CI") == "true" {
				return false, server.err
			}
			return have, nil
		}
	}
	if name, ok := strings.CutPrefix(cond, "have:"); ok {
		_, err := exec.LookPath(name)
		if err != nil && os.Getenv("CI") == "true" {
			return false, fmt.Errorf("%s is needed in CI: %w", name, err)
		}
		return err == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}

// example NAME [DIR] lays out an example's files.
func example(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: example NAME [DIR]")
	}
	files, err := examples.Files(args[0])
	ts.Check(err)
	dir := ts.MkAbs(".")
	if len(args) > 1 {
		dir = ts.MkAbs(args[1])
	}
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
		ts.Check(os.WriteFile(path, data, 0o644))
	}
}

// waitState ADDRESS STATE [SECONDS] waits until `run list` shows it.
func waitState(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: waitstate ADDRESS STATE [SECONDS]")
	}
	limit := 5 * time.Minute
	if len(args) > 2 {
		n, err := strconv.Atoi(args[2])
		ts.Check(err)
		limit = time.Duration(n) * time.Second
	}
	last := ""
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		cmd := exec.Command(ts.Getenv("BIN"), "run", "list", "-json")
		cmd.Dir, cmd.Env = ts.MkAbs("."), environment(ts)
		out, err := cmd.Output()
		if err != nil {
			continue
		}
		var rows []runRow
		ts.Check(json.Unmarshal(out, &rows))
		for _, r := range rows {
			if r.Address != args[0] {
				continue
			}
			if last = r.State; last == args[1] {
				return
			}
		}
	}
	ts.Fatalf("%s is %q after %s, not %q", args[0], last, limit, args[1])
}

// jsonValueIs FILE PATH [VALUE] compares one value of a JSON document: a path
// is keys and indexes with dots between them. Without a value it must be there.
func jsonValueIs(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: json FILE PATH [VALUE]")
	}
	var doc any
	if err := json.Unmarshal([]byte(ts.ReadFile(args[0])), &doc); err != nil {
		ts.Fatalf("%s: %v\n%s", args[0], err, ts.ReadFile(args[0]))
	}
	found, ok := walk(doc, strings.Split(args[1], "."))
	text, err := json.Marshal(found)
	ts.Check(err)
	got := strings.Trim(string(text), `"`)
	same := ok && (len(args) == 2 || got == args[2])
	if same == neg {
		ts.Fatalf("%s in %s is %s", args[1], args[0], text)
	}
}

func walk(doc any, path []string) (any, bool) {
	for _, key := range path {
		switch x := doc.(type) {
		case map[string]any:
			v, ok := x[key]
			if !ok {
				return nil, false
			}
			doc = v
		case []any:
			if key == "length" {
				return len(x), true
			}
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(x) {
				return nil, false
			}
			doc = x[i]
		default:
			return nil, false
		}
	}
	return doc, true
}

// alone checks that the simulator holds nothing: no pod and no secret.
func alone(ts *testscript.TestScript, neg bool, _ []string) {
	cmd := exec.Command(ts.Getenv("BIN"), "sim", "status", "-json")
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = environment(ts)
	out, err := cmd.Output()
	ts.Check(err)
	var st sim.Status
	ts.Check(json.Unmarshal(out, &st))
	if (len(st.Pods) == 0 && len(st.Secrets) == 0) == neg {
		ts.Fatalf("the simulator holds %s", out)
	}
}
