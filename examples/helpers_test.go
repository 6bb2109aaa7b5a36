package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestHelperNeverEndsTheJob: values that JSON does not know, and lines that cannot
// be written, cost a report its line and the job nothing.
func TestHelperNeverEndsTheJob(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("python3 is missing")
		}
		t.Skip("python3 is missing")
	}
	const job = `
import datetime, json, math, os, pathlib, sys
sys.path.insert(0, sys.argv[1])
os.chdir(sys.argv[2])
import overbrainer_job as job

class Odd:
    def __float__(self): raise RuntimeError("no")
    def __str__(self): raise RuntimeError("nor that")

job.begin(max_steps=3)
job.log(step=1, tag=pathlib.Path("a/b"), when=datetime.date(2026, 1, 2), deep={"at": pathlib.Path("c")}, norm=math.inf)
job.log(step=2, odd=Odd())
os.environ["OVERBRAINER_METRICS"] = "/dev/full"
job.log(step=2)
os.environ["OVERBRAINER_METRICS"] = "no/such/directory"
job.log(step=2)
del os.environ["OVERBRAINER_METRICS"]
job.end(step=3)
os.environ["OVERBRAINER_SNAPSHOT_REQUEST"] = "x" * 5000
assert job.asked() is False
lines = [json.loads(l) for l in open("metrics.jsonl") if l.strip()]
assert [l["event"] for l in lines] == ["begin", "log", "end"], lines
assert lines[1]["tag"] == "a/b" and lines[1]["when"] == "2026-01-02" and lines[1]["deep"] == {"at": "c"} and "norm" not in lines[1], lines
os.makedirs("snapshot.json/in/the/way")
try:
    job.saved("checkpoint-1", 1)
except OSError:
    print("good")
`
	helpers, err := filepath.Abs("helpers")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-c", job, helpers, t.TempDir())
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || string(out) != "good\n" {
		t.Fatalf("%s %v\n%s", out, err, errs.String())
	}
	if n := strings.Count(errs.String(), "overbrainer: the job's progress is not told: "); n != 1 {
		t.Errorf("warned %d times:\n%s", n, errs.String())
	}
}
