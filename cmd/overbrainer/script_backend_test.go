package main

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/overbrainer/overbrainer/providers/runpod/sim"
	"github.com/overbrainer/overbrainer/state/statetest"
)

// backendServer TYPE DIR… starts a real server that keeps states, gives
// credentials to the script's environment, and writes backend.ob.hcl into each
// directory. Its address is in $BACKEND; `outage SECONDS` takes it away for a
// while.
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
		addr := behindProxy(ts, front.Listener.Addr().String())
		ts.Setenv("BACKEND", "http://"+addr)
		setAll(ts, []string{"OVERBRAINER_HTTP_USERNAME=ann", "OVERBRAINER_HTTP_PASSWORD=the-word-of-ann"})
		block = fmt.Sprintf("    address        = %q\n    lock_address   = %[1]q\n    retry_wait_min = 0\n", "http://"+addr+"/state")
	case "pg":
		pg, err := statetest.StartPostgres()
		ts.Check(err)
		ts.Defer(pg.Stop)
		addr := behindProxy(ts, pg.Addr)
		ts.Setenv("BACKEND", addr)
		setAll(ts, pg.Env())
		block = fmt.Sprintf("    conn_str    = %q\n    schema_name = \"iris\"\n", pg.ConnStr(addr))
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

// proxies are what stands before the servers of scripts, by working directory.
var proxies sync.Map

// behindProxy puts a proxy before a server and gives its address.
func behindProxy(ts *testscript.TestScript, server string) string {
	proxy, stop, err := statetest.StartProxy(server)
	ts.Check(err)
	ts.Defer(stop)
	proxies.Store(ts.Getenv("WORK"), proxy)
	return proxy.Addr()
}

// outage SECONDS takes the server of the last backend away, and brings it back
// after a while; "outage" alone leaves it away, "outage end" brings it back.
func outage(ts *testscript.TestScript, neg bool, args []string) {
	found, ok := proxies.Load(ts.Getenv("WORK"))
	if neg || len(args) > 1 || !ok {
		ts.Fatalf("usage: outage [SECONDS|end], after backend")
	}
	proxy := found.(*statetest.Proxy)
	if len(args) == 1 && args[0] == "end" {
		proxy.Up()
		return
	}
	proxy.Down()
	if len(args) == 1 {
		seconds, err := strconv.ParseFloat(args[0], 64)
		ts.Check(err)
		time.AfterFunc(time.Duration(seconds*float64(time.Second)), proxy.Up)
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
