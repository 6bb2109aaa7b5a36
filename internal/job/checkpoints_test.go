package job

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestCheckpoints: what lies at the pattern is listed by step, with what the two
// newest hold, and their stamps change with that, whatever stat or ls can tell.
func TestCheckpoints(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		p.reserve()
		ask := func(pattern string) []Checkpoint {
			t.Helper()
			list, err := p.Checkpoints(t.Context(), pattern)
			if err != nil {
				t.Fatal(err)
			}
			return list
		}
		if list := ask("output/ck {step}"); len(list) != 0 {
			t.Errorf("nothing there: %v", list)
		}
		for name, text := range map[string]string{
			"output/ck 9/a": "12", "output/ck 0010/a": "123", "output/ck 0010/deep/b c": "4567", "output/ck 8/a": "1",
			"output/ck 11.tmp/a": "x", "output/ck x/a": "x", "single-3.bin": "abc",
		} {
			p.put(name, text)
		}
		if err := os.MkdirAll(filepath.Join(p.dir, "output/ck 12"), 0o755); err != nil {
			t.Fatal(err)
		}
		list := ask("output/ck {step}")
		var told string
		for _, c := range list {
			told += fmt.Sprintf("%d %s %d %d %t;", c.Step, c.Path, c.Files, c.Bytes, c.Stamp != "")
		}
		if want := "8 output/ck 8 0 0 false;9 output/ck 9 0 0 false;10 output/ck 0010 2 7 true;12 output/ck 12 0 0 true;"; told != want {
			t.Errorf("%s\nwant %s", told, want)
		}
		again := ask("output/ck {step}")
		if again[2] != list[2] || again[3] != list[3] {
			t.Errorf("nothing changed: %+v, %+v", again, list)
		}
		p.put("output/ck 12/a", "1")
		if now := ask("output/ck {step}"); now[3].Stamp == list[3].Stamp || now[3].Files != 1 || now[2] != list[2] {
			t.Errorf("one file more: %+v", now)
		}
		if one := ask("single-{step}.bin"); len(one) != 1 || one[0].Path != "single-3.bin" || one[0].Files != 1 || one[0].Bytes != 3 {
			t.Errorf("a file: %+v", one)
		}
		if none := ask("single"); none != nil {
			t.Errorf("no step: %+v", none)
		}
	})
}

// Where there is no stat, ls tells.
func TestParseCheckpoints(t *testing.T) {
	list, err := parseCheckpoints("overbrainer-checkpoints 1\n7\n\x007\n-rw-r--r-- 1 0 0 12 Jan  1 10:00 ./c/7/a\n-rw-r--r-- 1 0 0 3 Jan  1 10:00 ./c/7/b\n\x00", "c/", "")
	if err != nil || len(list) != 1 || list[0].Files != 2 || list[0].Bytes != 15 || list[0].Path != "c/7" {
		t.Errorf("%+v %v", list, err)
	}
	for _, bad := range []string{"", "x", "overbrainer-checkpoints 1\n", "overbrainer-checkpoints 1\n7\n", "overbrainer-checkpoints 1\nx\n\x00", "overbrainer-checkpoints 1\n7\n\x008\n\x00", "overbrainer-checkpoints 1\n7\n\x007\n12"} {
		if list, err := parseCheckpoints(bad, "c/", ""); err == nil {
			t.Errorf("%q: %v", bad, list)
		}
	}
}
