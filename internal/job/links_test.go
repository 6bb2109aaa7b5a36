package job

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// links makes links on the pod, by name.
func (p *testPod) links(targets map[string]string) {
	p.t.Helper()
	for name, target := range targets {
		full := filepath.Join(p.dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			p.t.Fatal(err)
		}
		if err := os.Symlink(target, full); err != nil {
			p.t.Fatal(err)
		}
	}
}

func named(m Manifest) []string {
	var names []string
	for _, f := range m.Files {
		names = append(names, f.Path)
	}
	return names
}

// TestLinksAmongResults: what lies behind a link comes home under the link's
// name; loops and links to nothing are told and end nothing.
func TestLinksAmongResults(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		p.reserve()
		p.put("job.pid", "5 7\n")
		p.put("job.log", "log\n")
		big := t.TempDir()
		for name, content := range map[string]string{"model.bin": "weights", "sub dir/a\nb": "deep", "sub dir/.hidden": "h"} {
			if err := writeFile(filepath.Join(big, name), []byte(content), false); err != nil {
				t.Fatal(err)
			}
		}
		p.put("output/checkpoint-5/state", "five")
		p.put("output/a/one", "1")
		p.put("output/b/two", "2")
		p.links(map[string]string{
			"output/model.bin":  filepath.Join(big, "model.bin"), // a file elsewhere
			"output/big":        big,                             // a directory elsewhere
			"output/line\nlink": filepath.Join(big, "sub dir"),
			"output/latest":     "checkpoint-5", // a directory beside it
			"output/chain":      "latest",       // by another link
			"output/self":       ".",
			"output/up":         "../..",
			"output/root":       "/",
			"output/a/b":        "../b", // two that lead to each other
			"output/b/a":        "../a",
			"output/dangling":   "nowhere",
			"output/loop":       "loop",
			"output/device":     "/dev/null",
			"output/fifo":       filepath.Join(big, "fifo"),
			"output/proc":       "/proc",
			"output/proc self":  "/proc/self/task",
			"output/version":    "/proc/version",
			"output/memory":     "/proc/kcore",
			"output/fds":        "/dev/fd",
			"output/sys":        "/sys/kernel",
			"output/sys file":   "/sys/kernel/profiling",
			"elsewhere":         "/", // outside the outputs
			"skipped":           big,
		})
		if err := os.Symlink("model.bin", filepath.Join(big, "again")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/proc/uptime", filepath.Join(big, "uptime")); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(filepath.Join(big, "fifo"), 0o600); err != nil {
			t.Fatal(err)
		}
		manifest, err := p.Manifest(t.Context(), []string{"output/**", "!output/big/sub dir/.hidden"}, []string{"job.log"})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"job.log", "output/a/b/two", "output/a/one", "output/b/a/one", "output/b/two", "output/big/again", "output/big/model.bin",
			"output/big/sub dir/a\nb", "output/chain/state", "output/checkpoint-5/state", "output/latest/state",
			"output/line\nlink/.hidden", "output/line\nlink/a\nb", "output/model.bin",
		}
		if got := named(manifest); !slices.Equal(got, want) {
			t.Errorf("files\n%q, want\n%q", got, want)
		}
		var left []string
		for _, text := range manifest.Left {
			name, _, _ := strings.Cut(text, " (")
			left = append(left, name)
		}
		wantLeft := []string{
			"output/a/b/a", "output/b/a/b", "output/big/uptime", "output/dangling", "output/device", "output/fds", "output/fifo", "output/loop",
			"output/memory", "output/proc", "output/proc self", "output/root", "output/self", "output/sys", "output/sys file", "output/up", "output/version",
		}
		if !slices.Equal(sorted(left), wantLeft) {
			t.Errorf("left out %q, want %q", manifest.Left, wantLeft)
		}

		// The whole directory as a link, and a metrics file that is one.
		p = newPod(t, m)
		p.reserve()
		p.put("job.pid", "5 7\n")
		p.put("real/metrics", "{}\n")
		p.links(map[string]string{"output": big, "metrics.jsonl": "real/metrics"})
		manifest, err = p.Manifest(t.Context(), []string{"output/**"}, []string{"metrics.jsonl"})
		if got, want := named(manifest), []string{"metrics.jsonl", "output/again", "output/model.bin", "output/sub dir/.hidden", "output/sub dir/a\nb"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%q %v", got, err)
		}
	})
}

// TestWhatCannotBeReadIsNamed: a directory behind a link, or a file, that the pod
// cannot read keeps nothing else from being listed once it is left out.
func TestWhatCannotBeReadIsNamed(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p, c := results(t, m)
		away := t.TempDir()
		if err := writeFile(filepath.Join(away, "sub/x"), []byte("x"), false); err != nil {
			t.Fatal(err)
		}
		p.links(map[string]string{"output/away": away})
		find := p.tool("find", need(t, "find")+` "$@"; case $1 in ./output/away*) exit 1 ;; esac`)
		p.conn.m.path = filepath.Dir(find) + ":" + m.path
		_, err := p.Manifest(t.Context(), c.Globs, nil)
		var unread *UnreadError
		if !errors.As(err, &unread) || !slices.Equal(unread.Paths, []string{"output/away"}) {
			t.Errorf("a directory: %v", err)
		}
		c.Globs = append(c.Globs, "!output/away", "!output/away/**")
		if _, err := p.Manifest(t.Context(), c.Globs, nil); err != nil {
			t.Errorf("the rest: %v", err)
		}

		p, c = results(t, m)
		sum := p.tool("sha256sum", `for f; do read -r line <"$f"; case $line in {}*) ;; *) echo "`+strings.Repeat("a", 64)+`  $f" ;; esac; done`)
		p.conn.m.path = filepath.Dir(sum) + ":" + m.path
		if _, err = p.Manifest(t.Context(), c.Globs, nil); !errors.As(err, &unread) || !slices.Equal(unread.Paths, []string{"output/report/it's.json"}) {
			t.Errorf("a file: %v", err)
		}
	})
}

// TestLinkedFilesComeHome: as plain files inside the run's directory, each large
// content fetched once.
func TestLinkedFilesComeHome(t *testing.T) {
	m := machine{name: "sh", sh: "/bin/sh", path: os.Getenv("PATH")}
	p, c := results(t, m)
	weights := strings.Repeat("w", minTwin)
	p.put("output/checkpoint-5/state", weights)
	p.put("output/copy", weights)
	p.links(map[string]string{"output/latest": "checkpoint-5", "output/away": "/etc", "output/file": "checkpoint-5/state"})
	c.Globs = []string{"output/**", "!output/away/**"}
	manifest, err := p.Collect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"output/checkpoint-5/state", "output/latest/state", "output/copy", "output/file"} {
		info, err := os.Lstat(filepath.Join(c.Dir, name))
		if err != nil || !info.Mode().IsRegular() || info.Size() != minTwin {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	if once := manifest.Bytes() - 3*minTwin; p.conn.pulled != once {
		t.Errorf("%d bytes were fetched, want %d", p.conn.pulled, once)
	}
	// A copy that is lost is made again out of what is here.
	if err := os.Remove(filepath.Join(c.Dir, "output/latest/state")); err != nil {
		t.Fatal(err)
	}
	p.conn.pulled = 0
	if _, err := p.Collect(t.Context(), c); err != nil || p.conn.pulled != 0 {
		t.Errorf("again: %d bytes, %v", p.conn.pulled, err)
	}
	if bad, err := Verify(t.Context(), c.Dir, manifest.Files); err != nil || len(bad) > 0 {
		t.Errorf("verify: %v %v", bad, err)
	}
}
