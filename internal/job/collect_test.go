package job

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/internal/remote"
)

func TestManifest(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		p.reserve()
		files := map[string]string{
			"output/model.bin":              "weights",
			"output/line\nbreak":            "a",
			"output/back\\slash":            "b",
			"output/it's \"quoted\"":        "c",
			"output/two  spaces ":           "d",
			"output/-n":                     "e",
			"output/\xff\xfe":               "not UTF-8",
			"output/empty":                  "",
			"output/checkpoint-9/deep/file": "f",
			"output/skip/me":                "g",
			"job.log":                       "log",
			"metrics.jsonl":                 "{}",
			"other/x":                       "h",
			"train.py":                      "i",
			"exit_code":                     "0",
			"job.pid":                       "5",
		}
		for name, content := range files {
			p.put(name, content)
		}
		if err := os.Chmod(filepath.Join(p.dir, "output/model.bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		for link, target := range map[string]string{"output/link": "model.bin", "output/skip/link": "../model.bin", "linked": "other"} {
			if err := os.Symlink(target, filepath.Join(p.dir, link)); err != nil {
				t.Fatal(err)
			}
		}
		manifest, err := p.Manifest(t.Context(), []string{"output/**", "!output/skip/**"}, []string{"job.log", "metrics.jsonl"})
		if err != nil {
			t.Fatal(err)
		}
		files["output/link"] = files["output/model.bin"]
		var want []string
		for name := range files {
			if strings.HasPrefix(name, "output/") && name != "output/skip/me" || name == "job.log" || name == "metrics.jsonl" {
				want = append(want, name)
			}
		}
		var got []string
		for _, f := range manifest.Files {
			got = append(got, f.Path)
			sum := sha256.Sum256([]byte(files[f.Path]))
			if f.SHA256 != hex.EncodeToString(sum[:]) || f.Size != int64(len(files[f.Path])) || f.Exec != (files[f.Path] == "weights") {
				t.Errorf("%+v", f)
			}
		}
		if !slices.Equal(got, sorted(want)) {
			t.Errorf("files %q, want %q", got, want)
		}
		if others := []string{"other/x", "output/skip/me", "train.py"}; !slices.Equal(manifest.Others, others) {
			t.Errorf("others %q", manifest.Others)
		}
		if manifest.Matched != len(want)-2 {
			t.Errorf("matched %d", manifest.Matched)
		}
	})
}

func TestHashTools(t *testing.T) {
	for _, tool := range []string{"sha256sum", "openssl", "python3"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			bin := t.TempDir()
			for _, name := range []string{"sh", "wc", "tr", "head", tool} {
				path := need(t, name)
				if name == "python3" { // it may be a script that finds the real one
					out, err := exec.Command(path, "-c", "import sys; print(sys.executable)").Output()
					if err != nil {
						t.Skip(err)
					}
					path = strings.TrimSpace(string(out))
				}
				if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
					t.Fatal(err)
				}
			}
			p := newPod(t, machine{name: "sh", sh: filepath.Join(bin, "sh"), path: os.Getenv("PATH")})
			names := []string{"a file", "and\\another", "metrics.jsonl", "third\xff"}
			for _, name := range names {
				p.put(name, "hello\n")
			}
			p.conn.m.path = bin
			files, err := p.hashes(t.Context(), names, nil, nil)
			if err != nil || len(files) != len(names) {
				t.Fatalf("%v %v", files, err)
			}
			for i, name := range names {
				want := remote.File{Path: name, Size: 6, SHA256: "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"}
				if files[i] != want {
					t.Errorf("%+v", files[i])
				}
			}
		})
	}
}

// TestSizesOfResults: stat tells them, and that of the log at a look, without reading a
// file to count it, and wc where there is no stat that takes a format.
func TestSizesOfResults(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		for name, stat := range map[string]string{"by stat": "", "by wc": "exit 1"} {
			t.Run(name, func(t *testing.T) {
				counting, calls := counted(t, m, "wc")
				p := newPod(t, m)
				p.conn.m = counting
				if stat != "" {
					p.conn.m.path = filepath.Dir(p.tool("stat", stat)) + ":" + counting.path
				}
				sizes := map[string]int64{"a file": 6, "and\\another": 0, "job.log": 70000, "large": 64 << 20, "two\nlines": 12}
				for name, size := range sizes {
					p.put(name, "")
					if err := os.Truncate(filepath.Join(p.dir, name), size); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.Symlink("large", filepath.Join(p.dir, "link")); err != nil {
					t.Fatal(err)
				}
				sizes["link"] = 64 << 20
				names := slices.Sorted(maps.Keys(sizes))
				files, err := p.hashes(t.Context(), names, nil, nil)
				if err != nil || len(files) != len(names) {
					t.Fatalf("%v %v", files, err)
				}
				for _, f := range files {
					if f.Size != sizes[f.Path] {
						t.Errorf("%s has %d bytes", f.Path, f.Size)
					}
				}
				if poll, err := p.Poll(t.Context(), Offsets{}, Limits{}); err != nil || poll.LogSize != sizes["job.log"] {
					t.Errorf("a look: %d bytes, %v", poll.LogSize, err)
				}
				if n := calls(); (n > 0) != (stat != "") {
					t.Errorf("wc was started %d times", n)
				}
			})
		}
	})
}

// TestLargeResultsAreHashedByOpenSSL: where much is to be read, and by what else
// there is where that fails. Small ones are not worth its start.
func TestLargeResultsAreHashedByOpenSSL(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		openssl := need(t, "openssl")
		for name, exit := range map[string]string{"works": `exec ` + openssl + ` "$@"`, "fails": "exit 1"} {
			t.Run(name, func(t *testing.T) {
				p := newPod(t, m)
				bin := t.TempDir()
				if err := writeFile(filepath.Join(bin, "openssl"), []byte("#!/bin/sh\necho >>"+bin+"/used\n"+exit+"\n"), true); err != nil {
					t.Fatal(err)
				}
				p.conn.m.path = bin + ":" + p.conn.m.path
				p.put("large", "")
				p.put("small", "x")
				if err := os.Truncate(filepath.Join(p.dir, "large"), 64<<20); err != nil {
					t.Fatal(err)
				}
				used := func() bool { _, err := os.Stat(filepath.Join(bin, "used")); return err == nil }
				if _, err := p.hashes(t.Context(), []string{"small"}, nil, nil); err != nil || used() {
					t.Errorf("a small file: %v, used %v", err, used())
				}
				files, err := p.hashes(t.Context(), []string{"large", "small"}, nil, nil)
				zeros := sha256.Sum256(make([]byte, 64<<20))
				if err != nil || len(files) != 2 || files[0].SHA256 != hex.EncodeToString(zeros[:]) || files[0].Size != 64<<20 || files[1].Size != 1 || !used() {
					t.Errorf("%v %v, used %v", files, err, used())
				}
			})
		}
	})
}

func TestParseHashes(t *testing.T) {
	digest := strings.Repeat("ab", 32)
	const single = "\x00\x00"
	for name, good := range map[string]string{
		"single":    single + digest + " 3 x ./a b\x00",
		"sha256sum": digest + "  ./a b\n\x003 ./a b\n\x00= = x ./a b\x00",
		"openssl":   digest + " *./a b\n\x00   3 ./a b\n   3 total\n\x00= = x ./a b\x00",
	} {
		want := []remote.File{{Path: "a b", Size: 3, SHA256: digest, Exec: true}}
		if files, unread, err := parseHashes([]byte(good)); err != nil || len(unread) > 0 || !slices.Equal(files, want) {
			t.Errorf("%s: %v %v %v", name, files, unread, err)
		}
	}
	for name, none := range map[string]string{
		"unread":   single + "- - - ./a b\x00",
		"no hash":  "\x003 ./a b\n\x00= = x ./a b\x00",
		"no size":  digest + "  ./a b\n\x00\x00= = x ./a b\x00",
		"no lines": "\x00\x00= = x ./a b\x00",
	} {
		if files, unread, err := parseHashes([]byte(none)); err != nil || len(files) > 0 || !slices.Equal(unread, []string{"a b"}) {
			t.Errorf("%s: %v %v %v", name, files, unread, err)
		}
	}
	for name, bad := range map[string]string{
		"cut off":      digest + "  ./a b\n\x003 ./a b\n",
		"63 digits":    single + digest[1:] + " 3 - ./a b\x00",
		"no space":     single + digest + "3 - ./a b\x00",
		"no mode":      single + digest + " 3 ./a b\x00",
		"negative":     single + digest + " -3 - ./a b\x00",
		"no dot":       single + digest + " 3 - a b\x00",
		"another file": single + digest + " 3 - ./a c\x00",
		"one more":     single + digest + " 3 - ./a b\x00" + digest + " 3 - ./z\x00",
	} {
		files, _, err := parseHashes([]byte(bad))
		if err == nil {
			_, err = missingOf(files, []string{"a b"})
		}
		if err == nil {
			t.Errorf("%s: %v", name, files)
		}
	}
	if gone, err := missingOf([]remote.File{{Path: "b"}}, []string{"a", "b", "c"}); err != nil || !slices.Equal(gone, []string{"a", "c"}) {
		t.Errorf("gone %q %v", gone, err)
	}
}

// TestWhatGoesAwayIsAChange: a file that was listed and is not there when its digest
// is to be computed.
func TestWhatGoesAwayIsAChange(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p, c := results(t, m)
		p.conn.m.path = filepath.Dir(p.tool("sha256sum", "rm -f output/model.bin; exec "+need(t, "sha256sum")+` "$@"`)) + ":" + m.path
		_, err := p.Manifest(t.Context(), c.Globs, nil)
		var changed *ChangedError
		if !errors.As(err, &changed) || !slices.Equal(changed.Paths, []string{"output/model.bin"}) {
			t.Errorf("%v", err)
		}
	})
}

// counted is a machine some of whose programs note each start of theirs in calls.
func counted(t *testing.T, m machine, names ...string) (counting machine, calls func() int) {
	bin, list := t.TempDir(), filepath.Join(t.TempDir(), "calls")
	for _, name := range names {
		path, err := exec.Command(m.sh, "-c", "PATH="+remote.Quote(m.path)+"; command -v "+name).Output()
		if err != nil {
			t.Fatal(err)
		}
		script := "#!/bin/sh\necho >>" + list + "\nexec " + strings.TrimSpace(string(path)) + " \"$@\"\n"
		if err := writeFile(filepath.Join(bin, name), []byte(script), true); err != nil {
			t.Fatal(err)
		}
	}
	m.path = bin + ":" + m.path
	return m, func() int {
		text, _ := os.ReadFile(list)
		return strings.Count(string(text), "\n")
	}
}

// TestManyFilesTakeFewPrograms: the digests of many files, whose names are more
// than one program takes, do not take programs for each, and how far they are is
// told.
func TestManyFilesTakeFewPrograms(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		m, calls := counted(t, m, "sha256sum", "stat", "wc", "head", "find")
		p, c := results(t, m)
		p.conn.m = m
		const many = 2000
		for i := range many {
			p.put(fmt.Sprintf("output/%s/%d", strings.Repeat("long", 20), i), fmt.Sprint(i))
		}
		var told []int
		c.Digests = func(done, total int) {
			if total < many || len(told) > 0 && done < told[len(told)-1] {
				t.Errorf("%d of %d", done, total)
			}
			told = append(told, done)
		}
		manifest, err := p.Collect(t.Context(), c)
		if err != nil || len(manifest.Files) != many+4 {
			t.Fatalf("%d files, %v", len(manifest.Files), err)
		}
		if n := calls(); n > many/4 {
			t.Errorf("%d programs for %d files", n, many)
		}
		if len(told) < 3 || told[0] != 0 || told[len(told)-1] != many+4 {
			t.Errorf("told %d", told)
		}
		if bad, err := Verify(t.Context(), c.Dir, manifest.Files); err != nil || len(bad) > 0 {
			t.Errorf("%q %v", bad, err)
		}
	})
}

// TestLeaseIsHeldWhileCollecting: also while the pod only computes.
func TestLeaseIsHeldWhileCollecting(t *testing.T) {
	m := machine{name: "sh", sh: "/bin/sh", path: os.Getenv("PATH")}
	p, c := results(t, m)
	p.LeaseEvery = time.Millisecond
	waits := "rm -f .pod/lease; n=0; while [ ! -e .pod/lease ]; do [ $n -lt 500 ] || exit 1; n=$((n+1)); sleep 0.02; done; exec " + need(t, "sha256sum") + ` "$@"`
	p.conn.m.path = filepath.Dir(p.tool("sha256sum", waits)) + ":" + m.path
	var renewed atomic.Int64
	c.Renewed = func() { renewed.Add(1) }
	if _, err := p.Collect(t.Context(), c); err != nil || renewed.Load() < 3 {
		t.Errorf("renewed %d times, %v", renewed.Load(), err)
	}
	p.hangUp()
	p.conn.running.Wait() // a renewal that was cut off may still write
}

// results is a pod with an ended job that left something.
func results(t *testing.T, m machine) (*testPod, Collect) {
	p := newPod(t, m)
	p.LeaseEvery = 0
	p.reserve()
	p.put("output/model.bin", strings.Repeat("weights", 1000))
	p.put("output/report/it's.json", "{}")
	p.put("job.log", "log\n")
	p.put("metrics.jsonl", "{}\n")
	p.put("job.pid", "5 7\n")
	return p, Collect{Dir: filepath.Join(t.TempDir(), "runs", "run-1"), Globs: []string{"output/**"}}
}

func TestCollect(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p, c := results(t, m)
		manifest, err := p.Collect(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"output/model.bin", "output/report/it's.json", "job.log", "metrics.jsonl"} {
			got, err := os.ReadFile(filepath.Join(c.Dir, name))
			if err != nil || string(got) != p.get(name) {
				t.Errorf("%s: %v", name, err)
			}
		}
		err = filepath.WalkDir(c.Dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s is %s", path, info.Mode())
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(c.Dir, partial)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("staging: %v", err)
		}
		if manifest.Matched != 2 || len(manifest.Digest()) != 64 || manifest.Bytes() != 7000+2+4+3 {
			t.Errorf("%+v", manifest)
		}
		if bad, err := Verify(t.Context(), c.Dir, manifest.Files); err != nil || len(bad) > 0 {
			t.Errorf("verify: %v %v", bad, err)
		}
		// What is here and right is not copied again; what was changed is.
		if err := os.WriteFile(filepath.Join(c.Dir, "output/model.bin"), []byte("changed"), 0o600); err != nil {
			t.Fatal(err)
		}
		if bad, err := Verify(t.Context(), c.Dir, manifest.Files); err != nil || !slices.Equal(bad, []string{"output/model.bin"}) {
			t.Errorf("verify: %v %v", bad, err)
		}
		p.conn.pulled = 0
		if _, err := p.Collect(t.Context(), c); err != nil || p.conn.pulled != 7000 {
			t.Errorf("again: %d bytes, %v", p.conn.pulled, err)
		}
	})
}

// Whatever goes wrong, nothing gets its final name.
func TestCollectRefuses(t *testing.T) {
	m := machine{name: "sh", sh: "/bin/sh", path: os.Getenv("PATH")}
	stage := func(c Collect, name string) string { return filepath.Join(c.Dir, partial, name) }
	for name, arrange := range map[string]struct {
		arrange func(p *testPod, c *Collect)
		check   func(err error) bool
	}{
		"flipped byte": {
			func(p *testPod, c *Collect) { p.conn.flip = true },
			func(err error) bool { var d *DiffError; return errors.As(err, &d) && len(d.Changed) > 0 },
		},
		"changed on the pod after the manifest": {
			func(p *testPod, c *Collect) {
				p.conn.before = func(remote.Pull) { p.put("output/model.bin", strings.Repeat("Weights", 1000)) }
			},
			func(err error) bool { var d *ChangedError; return errors.As(err, &d) && len(d.Paths) == 1 },
		},
		"missing": {
			func(p *testPod, c *Collect) {
				p.conn.after = func(remote.Pull) { _ = os.Remove(stage(*c, "output/model.bin")) }
			},
			func(err error) bool { var d *DiffError; return errors.As(err, &d) && len(d.Missing) == 1 },
		},
		"extra": {
			func(p *testPod, c *Collect) {
				p.conn.after = func(remote.Pull) { _ = writeFile(stage(*c, "output/extra"), nil, false) }
			},
			func(err error) bool { var d *DiffError; return errors.As(err, &d) && len(d.Extra) == 1 },
		},
		"a link in place of a file": {
			func(p *testPod, c *Collect) {
				p.conn.after = func(remote.Pull) {
					_ = os.Rename(stage(*c, "output/model.bin"), filepath.Join(c.Dir, "elsewhere"))
					_ = os.Symlink("../../elsewhere", stage(*c, "output/model.bin"))
				}
			},
			func(err error) bool { var d *DiffError; return errors.As(err, &d) && len(d.Changed) == 1 },
		},
		"no space": {
			func(p *testPod, c *Collect) { c.Free = func(string) (int64, error) { return 100, nil } },
			func(err error) bool {
				var s *SpaceError
				return errors.As(err, &s) && s.Need == 7009 && s.Free == 100
			},
		},
		"a directory in the way": {
			func(p *testPod, c *Collect) { _ = os.MkdirAll(filepath.Join(c.Dir, "output/model.bin"), 0o700) },
			func(err error) bool { return err != nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, c := results(t, m)
			arrange.arrange(p, &c)
			_, err := p.Collect(t.Context(), c)
			if err == nil || !arrange.check(err) {
				t.Errorf("error %v", err)
			}
			for _, name := range []string{"output/model.bin", "output/report/it's.json", "job.log"} {
				if info, err := os.Lstat(filepath.Join(c.Dir, name)); err == nil && !info.IsDir() {
					t.Errorf("%s is there", name)
				}
			}
			// Once nothing is in the way, the same call completes.
			p.conn.flip, p.conn.before, p.conn.after, c.Free = false, nil, nil, nil
			_ = os.Remove(filepath.Join(c.Dir, "output/model.bin"))
			_ = os.Remove(filepath.Join(c.Dir, "elsewhere"))
			if _, err := p.Collect(t.Context(), c); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestCollectFollowsNoLink(t *testing.T) {
	m := machine{name: "sh", sh: "/bin/sh", path: os.Getenv("PATH")}
	p, c := results(t, m)
	outside := t.TempDir()
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(c.Dir, "output")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Collect(t.Context(), c); err == nil {
		t.Error("no error")
	}
	if got := tree(t, outside); strings.Contains(got, "=") {
		t.Errorf("written outside: %s", got)
	}
}

func TestCollectNothing(t *testing.T) {
	m := machine{name: "sh", sh: "/bin/sh", path: os.Getenv("PATH")}
	p, c := results(t, m)
	c.Globs = []string{"result/**"}
	manifest, err := p.Collect(t.Context(), c)
	if !errors.Is(err, ErrNoOutputs) || !slices.Contains(manifest.Others, "output/model.bin") {
		t.Errorf("%v %v", manifest.Others, err)
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "job.log")); err != nil {
		t.Error(err)
	}
	c.AllowEmpty = true
	if _, err := p.Collect(t.Context(), c); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(p.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Collect(t.Context(), c); err == nil || !strings.Contains(err.Error(), p.dir) {
		t.Errorf("without the directory: %v", err)
	}
}

func TestSaveLogs(t *testing.T) {
	m := machine{name: "sh", sh: "/bin/sh", path: os.Getenv("PATH")}
	p := newPod(t, m)
	p.reserve()
	p.put(".pod/watchdog.log", strings.Repeat("secret\n", 10))
	dir := filepath.Join(t.TempDir(), "run", ".pod")
	redact := func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "secret", "***")) }
	for range 2 {
		if err := p.SaveLogs(t.Context(), dir, redact); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(filepath.Join(dir, "watchdog.log"))
	if err != nil || string(got) != strings.Repeat("***\n", 10) {
		t.Errorf("%q %v", got, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), dir); err != nil {
		t.Fatal(err)
	}
	if err := p.SaveLogs(t.Context(), dir, nil); err == nil {
		t.Error("followed a link")
	}
}

// A disk on which no job was started is another one than the job's: nothing on
// it counts as results, and no list of before is replaced by its own.
func TestCollectFromNewDisk(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p, c := results(t, m)
		for _, marks := range [][]string{{"job.pid"}, {".pod/launch"}, {"job.pid", ".pod/launch"}} {
			_ = os.Remove(filepath.Join(p.dir, "job.pid"))
			for _, mark := range marks {
				p.put(mark, "5 7\n")
			}
			if _, err := p.Manifest(t.Context(), c.Globs, nil); err != nil {
				t.Errorf("with %q: %v", marks, err)
			}
			for _, mark := range marks {
				_ = os.Remove(filepath.Join(p.dir, mark))
			}
		}
		if _, err := p.Collect(t.Context(), c); !errors.Is(err, ErrNoJob) {
			t.Errorf("results of no job: %v", err)
		}
		if _, err := os.Stat(filepath.Join(c.Dir, "output")); err == nil {
			t.Error("results of no job got their names")
		}
	})
}

// TestCollectWhatIsStillWritten: a result that grows or is replaced while it is
// fetched is not taken for whole; the log may grow; a time in the future is no
// change.
func TestCollectWhatIsStillWritten(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		for name, write := range map[string]func(p *testPod){
			"grows":    func(p *testPod) { p.put("output/model.bin", p.get("output/model.bin")+"more") },
			"replaced": func(p *testPod) { p.put("output/model.bin", "other") },
			"linked":   func(p *testPod) { p.put("elsewhere", "other") },
		} {
			t.Run(name, func(t *testing.T) {
				p, c := results(t, m)
				p.put("elsewhere", "one")
				p.links(map[string]string{"output/link": "../elsewhere"})
				// It was listed in the past: not every shell sees parts of a second.
				p.conn.after = func(remote.Pull) {
					was := time.Now().Add(-time.Minute)
					if err := os.Chtimes(filepath.Join(p.dir, ".pod/listed"), was, was); err != nil {
						t.Fatal(err)
					}
					write(p)
				}
				_, err := p.Collect(t.Context(), c)
				var changed *ChangedError
				if !errors.As(err, &changed) || len(changed.Paths) != 1 {
					t.Errorf("%v", err)
				}
				if _, err := os.Stat(filepath.Join(c.Dir, "job.log")); err == nil {
					t.Error("results have their names")
				}
			})
		}
		t.Run("only the log", func(t *testing.T) {
			p, c := results(t, m)
			future := time.Now().Add(time.Hour)
			if err := os.Chtimes(filepath.Join(p.dir, "output/model.bin"), future, future); err != nil {
				t.Fatal(err)
			}
			p.conn.after = func(remote.Pull) { p.put("job.log", "log\nmore\n") }
			if _, err := p.Collect(t.Context(), c); err != nil {
				t.Error(err)
			}
		})
	})
}

// TestCollectSeesEveryWrite: a write after the list is noticed however coarse the
// clock is, whatever time it leaves behind, and in files that were here before.
func TestCollectSeesEveryWrite(t *testing.T) {
	const model = "output/model.bin"
	everyShell(t, func(t *testing.T, m machine) {
		listed := func(p *testPod) time.Time {
			info, err := os.Stat(filepath.Join(p.dir, ".pod/listed"))
			if err != nil {
				t.Fatal(err)
			}
			return info.ModTime()
		}
		dated := func(p *testPod, name string, at time.Time) {
			if err := os.Chtimes(filepath.Join(p.dir, name), at, at); err != nil {
				t.Fatal(err)
			}
		}
		for name, write := range map[string]func(p *testPod){
			"in the moment of the list": func(p *testPod) {
				p.put(model, p.get(model)+"more")
				dated(p, model, listed(p))
			},
			"without a mark of the list": func(p *testPod) {
				p.put(model, p.get(model)+"more")
				_ = os.Remove(filepath.Join(p.dir, ".pod/listed"))
			},
			"by a rename of an older file": func(p *testPod) {
				if m.name == "busybox" {
					// Its find knows no -cnewer: only the time of the content tells.
					p.put(model, "other")
					return
				}
				p.put("older", "other")
				dated(p, "older", time.Now().Add(-time.Hour))
				if err := os.Rename(filepath.Join(p.dir, "older"), filepath.Join(p.dir, model)); err != nil {
					t.Fatal(err)
				}
			},
		} {
			for _, here := range []string{"fetched now", "here before"} {
				t.Run(name+", "+here, func(t *testing.T) {
					p, c := results(t, m)
					if here == "here before" {
						if _, err := p.Collect(t.Context(), c); err != nil {
							t.Fatal(err)
						}
						p.put("output/new", "one more")
					}
					p.conn.after = func(remote.Pull) { write(p) }
					_, err := p.Collect(t.Context(), c)
					var changed *ChangedError
					if !errors.As(err, &changed) || !slices.Equal(changed.Paths, []string{model}) {
						t.Errorf("%v", err)
					}
					if _, err := os.Stat(filepath.Join(c.Dir, "output/new")); err == nil {
						t.Error("results have their names")
					}
				})
			}
		}
		t.Run("nothing is written", func(t *testing.T) {
			p, c := results(t, m)
			p.conn.after = func(remote.Pull) {
				dated(p, model, listed(p))
				_ = os.Remove(filepath.Join(p.dir, "output/report/it's.json"))
			}
			if _, err := p.Collect(t.Context(), c); err != nil {
				t.Error(err)
			}
		})
	})
}

// TestCollectMany: more files than are made durable one by one; one that is wrong
// keeps all from having their names, and the next try only fetches that.
func TestCollectMany(t *testing.T) {
	m := machine{name: "dash", sh: need(t, "dash"), path: os.Getenv("PATH")}
	p, c := results(t, m)
	for i := range 3 * syncEach {
		p.put(fmt.Sprintf("output/many/%03d", i), strconv.Itoa(i))
	}
	bad := filepath.Join(c.Dir, partial, "output/many/100")
	p.conn.after = func(remote.Pull) {
		if err := os.WriteFile(bad, []byte("1O0"), 0o600); err != nil {
			t.Error(err)
		}
	}
	var diff *DiffError
	if _, err := p.Collect(t.Context(), c); !errors.As(err, &diff) || !slices.Equal(diff.Changed, []string{"output/many/100"}) {
		t.Fatalf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "output")); err == nil {
		t.Error("results have their names")
	}
	p.conn.after = nil
	if _, err := p.Collect(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for i := range 3 * syncEach {
		name := filepath.Join(c.Dir, fmt.Sprintf("output/many/%03d", i))
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("%v %v", info, err)
		}
		if got, _ := os.ReadFile(name); string(got) != strconv.Itoa(i) {
			t.Errorf("%s: %q", name, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := each(ctx, 1000, func(int) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestTakenNamesComeHomeElsewhere: a result that is named like one of our own
// files in the run's directory takes no other result with it, and replaces none.
func TestTakenNamesComeHomeElsewhere(t *testing.T) {
	m := machine{name: "sh", sh: "/bin/sh", path: os.Getenv("PATH")}
	p, c := results(t, m)
	c.Globs = []string{"**"}
	weights := strings.Repeat("w", minTwin)
	for name, content := range map[string]string{"run.json": "theirs", "inputs.json": weights, "ssh/config": "c", ".partial/x": "p", ".overbrainer-parts/x": "x", "renamed/run.json": "too", "output/copy": weights} {
		p.put(name, content)
	}
	for name, content := range map[string]string{"run.json": "ours", "ssh/id_ed25519": "key"} {
		if err := writeFile(filepath.Join(c.Dir, name), []byte(content), false); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time everything is here
		manifest, err := p.Collect(t.Context(), c)
		if err != nil || manifest.Moved != "renamed_" {
			t.Fatalf("%q %v", manifest.Moved, err)
		}
		for name, want := range map[string]string{
			"renamed_/run.json": "theirs", "renamed_/inputs.json": weights, "renamed_/ssh/config": "c", "renamed_/.partial/x": "p", "renamed_/.overbrainer-parts/x": "x",
			"renamed/run.json": "too", "run.json": "ours", "ssh/id_ed25519": "key", "output/model.bin": strings.Repeat("weights", 1000),
		} {
			if got, err := os.ReadFile(filepath.Join(c.Dir, name)); err != nil || string(got) != want {
				t.Errorf("%s: %.20q %v", name, got, err)
			}
		}
		if bad, err := Verify(t.Context(), c.Dir, manifest.Files); err != nil || len(bad) > 0 {
			t.Errorf("%q %v", bad, err)
		}
		if got, err := p.Collect(t.Context(), Collect{Dir: c.Dir, Known: &manifest}); err != nil || got.Digest() != manifest.Digest() {
			t.Errorf("by a known list: %v", err)
		}
	}
}

// TestWhyAFileIsWrong: one that changed on the pod is told from one that did not
// arrive as it lies there.
func TestWhyAFileIsWrong(t *testing.T) {
	m := machine{name: "sh", sh: "/bin/sh", path: os.Getenv("PATH")}
	for name, tt := range map[string]struct {
		during  func(p *testPod)
		changed bool
	}{
		"did not arrive": {func(*testPod) {}, false},
		"changed":        {func(p *testPod) { p.put("output/model.bin", "other") }, true},
		"went away":      {func(p *testPod) { _ = os.Remove(filepath.Join(p.dir, "output/model.bin")) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			p, c := results(t, m)
			p.conn.wrong = "output/model.bin"
			p.conn.after = func(remote.Pull) { tt.during(p) }
			_, err := p.Collect(t.Context(), c)
			var changed *ChangedError
			var wrong *remote.VerifyError
			if errors.As(err, &changed) != tt.changed || errors.As(err, &wrong) == tt.changed {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestLogThatGrowsWhileItIsHashed: its digest is that of the size that is told.
func TestLogThatGrowsWhileItIsHashed(t *testing.T) {
	m := machine{name: "sh", sh: "/bin/sh", path: os.Getenv("PATH")}
	p, c := results(t, m)
	p.conn.m.path = filepath.Dir(p.tool("stat", need(t, "stat")+" \"$@\"\necho more >>job.log")) + ":" + m.path
	manifest, err := p.Manifest(t.Context(), c.Globs, []string{"job.log"})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range manifest.Files {
		text := p.get(f.Path)
		sum := sha256.Sum256([]byte(text[:f.Size]))
		if f.SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: the digest is not that of its first %d bytes of %d", f.Path, f.Size, len(text))
		}
		if f.Path == "job.log" && int64(len(text)) == f.Size {
			t.Error("the log did not grow")
		}
	}
}
