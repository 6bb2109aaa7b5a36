package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

var (
	exitsWith = regexp.MustCompile(`# exits with (\d+)$`)
	// changing is what differs from one time to the next: a run's ID, how long
	// it took and what it cost.
	changing = regexp.MustCompile(`[0-9]{8}-[0-9]{6}-[a-z0-9]{8}|\b[0-9]+s\b|\$0\.00[0-9]*`)
)

// play FILE [SPEED] does what a document, named from the top of the source, tells its
// reader to do, in order: lines of sh blocks are typed into a shell and have to
// end with 0, or with the code that a comment at the line's end tells; a block
// with the name of a file behind its fence is written there; the lines of a text
// block have to be among what the commands before it said. What is marked
// by-hand is left out. With SPEED, projects get a simulator that is so much
// faster than the one a reader has.
func play(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: play FILE [SPEED]")
	}
	data, err := os.ReadFile(filepath.Join(sourceRoot, filepath.FromSlash(args[0])))
	ts.Check(err)
	said, typed, fast := "", 0, map[string]bool{}
	for _, b := range blocks(string(data)) {
		switch {
		case b.mark == "by-hand" || b.mark == "fragment":
		case b.lang == "sh":
			for _, line := range strings.Split(strings.TrimSpace(b.text), "\n") {
				if dir := ts.MkAbs("."); len(args) == 2 && strings.HasPrefix(line, "overbrainer plan") && !fast[dir] {
					ts.Check(ts.Exec("overbrainer", "sim", "start", "-speed="+args[1]))
					fast[dir] = true
				}
				said += typeLine(ts, line)
				typed++
			}
		case b.lang == "text":
			for _, line := range strings.Split(strings.TrimSpace(b.text), "\n") {
				if !strings.Contains(steady(said), steady(line)) {
					ts.Fatalf("%s:%d: nothing said %q:\n%s", args[0], b.line, line, said)
				}
			}
		case b.mark != "":
			path := ts.MkAbs(filepath.FromSlash(b.mark))
			ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
			ts.Check(os.WriteFile(path, []byte(b.text), 0o644))
		}
	}
	if typed == 0 {
		ts.Fatalf("%s tells nothing to type", args[0])
	}
}

// typeLine does one line and gives what it said.
func typeLine(ts *testscript.TestScript, line string) string {
	want := 0
	if m := exitsWith.FindStringSubmatch(line); m != nil {
		want, _ = strconv.Atoi(m[1])
	}
	if dir, is := strings.CutPrefix(line, "cd "); is {
		ts.Check(ts.Chdir(dir))
		return ""
	}
	err := ts.Exec("sh", "-c", "{ "+line+"\n} 2>&1")
	said := ts.ReadFile("stdout")
	got := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%s: it ends with %d, not %d", line, got, want)
	}
	return said
}

// steady is a text without what changes, and without its layout.
func steady(s string) string {
	return strings.Join(strings.Fields(changing.ReplaceAllString(s, "~")), " ")
}
