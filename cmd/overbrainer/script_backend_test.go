package main

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/overbrainer/overbrainer/providers/runpod/sim"
	"github.com/overbrainer/overbrainer/state/statetest"
)

// backendServer TYPE DIR… starts a real server that keeps states, gives
// credentials to the script's environment, and writes backend.ob.hcl into each
// directory. Its address is in $BACKEND.
func backendServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: backend TYPE DIR…")
	}
	var block string
	switch args[0] {
	case "http":
		s := &statetest.HTTPServer{User: "ann", Password: "the-word-of-ann"}
		front := httptest.NewServer(s)
		ts.Defer(front.Close)
		ts.Setenv("BACKEND", front.URL)
		setAll(ts, []string{"OVERBRAINER_HTTP_USERNAME=ann", "OVERBRAINER_HTTP_PASSWORD=the-word-of-ann"})
		block = fmt.Sprintf("    address        = %q\n    lock_address   = %[1]q\n    retry_wait_min = 0\n", front.URL+"/state")
	case "pg":
		pg, err := statetest.StartPostgres()
		ts.Check(err)
		ts.Defer(pg.Stop)
		ts.Setenv("BACKEND", pg.Addr)
		setAll(ts, pg.Env())
		block = fmt.Sprintf("    conn_str    = %q\n    schema_name = \"iris\"\n", pg.ConnStr(pg.Addr))
	case "s3":
		s3, err := statetest.StartS3()
		ts.Check(err)
		ts.Defer(s3.Stop)
		ts.Setenv("BACKEND", s3.Addr)
		setAll(ts, s3.Env())
		block = fmt.Sprintf("    bucket         = %q\n    key            = \"iris/state.json\"\n    endpoint       = %q\n    use_path_style = true\n", s3.Bucket, "http://"+s3.Addr)
	default:
		ts.Fatalf("no backend %s", args[0])
	}
	text := fmt.Sprintf("overbrainer {\n  backend %q {\n%s  }\n}\n", args[0], block)
	for _, dir := range args[1:] {
		ts.Check(os.MkdirAll(ts.MkAbs(dir), 0o755))
		ts.Check(os.WriteFile(filepath.Join(ts.MkAbs(dir), "backend.ob.hcl"), []byte(text), 0o644))
	}
}

func setAll(ts *testscript.TestScript, pairs []string) {
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		ts.Setenv(name, value)
	}
}

// machine NAME goes to a machine: a directory with a home of its own.
func machine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: machine NAME")
	}
	home := filepath.Join(ts.Getenv("WORK"), "home-"+args[0])
	ts.Check(os.MkdirAll(home, 0o755))
	ts.Setenv("HOME", home)
	ts.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	ts.Check(ts.Chdir(filepath.Join(ts.Getenv("WORK"), args[0])))
}

// sameCloud ONE OTHER lets two machines rent from the simulator of the first,
// as they would from the same account.
func sameCloud(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: samecloud ONE OTHER")
	}
	home := func(name string) string {
		environ := func(v string) string {
			if v == "XDG_STATE_HOME" {
				return filepath.Join(ts.Getenv("WORK"), "home-"+name, "state")
			}
			return ""
		}
		return sim.Home(environ, filepath.Join(ts.Getenv("WORK"), name))
	}
	from := home(args[1])
	ts.Check(os.MkdirAll(filepath.Dir(from), 0o700))
	ts.Check(os.Symlink(home(args[0]), from))
}

// environment is what a command of the script gets.
func environment(ts *testscript.TestScript) []string {
	env := os.Environ()
	for _, name := range []string{
		"HOME", "XDG_STATE_HOME", "PGPASSWORD", "OVERBRAINER_HTTP_USERNAME", "OVERBRAINER_HTTP_PASSWORD",
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_EC2_METADATA_DISABLED",
	} {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}
