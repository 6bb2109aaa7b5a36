package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// TestMatrix lives a few lives of each kind; make crash, make crash-faults and
// make chaos live all of them.
func TestMatrix(t *testing.T) {
	for _, tool := range []string{"bash", "curl", "tar"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("%s is needed in CI: %v", tool, err)
			}
			t.Skipf("%s is missing", tool)
		}
	}
	binary := filepath.Join(t.TempDir(), "overbrainer")
	if err := build(t.Context(), binary); err != nil {
		t.Fatal(err)
	}
	most := 3
	if testing.Short() {
		most = 1
	}
	for kind, o := range map[string]options{
		"kills":  {most: most},
		"faults": {most: most, only: regexp.MustCompile(`^(500|reset|429)`)},
		"chaos":  {times: most, seed: uint64(time.Now().UnixNano())},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			o.binary, o.workers, o.speed = binary, 1, 20
			o.log = &progress{w: lines{t}, start: time.Now()}
			sum, err := o.matrix(t.Context(), kind)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(sum)
			if !sum.clean() || sum.n != most {
				t.Errorf("not everything is well: %s", sum)
			}
		})
	}
}

// lines writes to a test's log.
type lines struct{ t *testing.T }

func (l lines) Write(p []byte) (int, error) {
	l.t.Logf("%s", p)
	return len(p), nil
}

func TestPick(t *testing.T) {
	all := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for _, c := range []struct {
		o    options
		want string
	}{
		{options{}, "abcdefgh"},
		{options{every: 3, skip: 1}, "beh"},
		{options{most: 2}, "cg"},
		{options{only: regexp.MustCompile("[bd]")}, "bd"},
	} {
		got := ""
		for _, s := range c.o.pick(all) {
			got += s
		}
		if got != c.want {
			t.Errorf("%+v: %s, not %s", c.o, got, c.want)
		}
	}
}
