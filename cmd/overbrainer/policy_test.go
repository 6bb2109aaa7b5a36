package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/overbrainer/overbrainer/examples"
)

// openPolicyAgent gives the opa program: the one that OPA names, the one that is
// installed, or the pinned one, built. Building takes minutes, so tests in their
// short form do not.
func openPolicyAgent(t *testing.T) string {
	t.Helper()
	if name := os.Getenv("OPA"); name != "" {
		return name
	}
	if testing.Short() {
		name, err := exec.LookPath("opa")
		if err != nil {
			t.Skip("opa is not installed, and building it takes minutes: make policy")
		}
		return name
	}
	binary := filepath.Join(t.TempDir(), "opa")
	cmd := exec.Command("go", "build", "-modfile=../../tools/opa/go.mod", "-o", binary, "github.com/open-policy-agent/opa")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("opa cannot be built: %v\n%s", err, out)
	}
	return binary
}

// TestPolicy runs the example's policy with the real engine over plans that the
// built program makes: what is fine passes, what costs too much, what nobody can
// price, a check that fails, and a volume's end are each refused for their own
// reason.
func TestPolicy(t *testing.T) {
	opa := openPolicyAgent(t)
	files, err := examples.Files("ci")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	t.Cleanup(func() { stopSimulators(root) })
	dir, home := filepath.Join(root, "job"), filepath.Join(root, "home")
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	policy := filepath.Join(dir, "policy")
	for _, args := range [][]string{{"check", "--strict", policy}, {"fmt", "--fail", "--diff", policy}} {
		if out, err := exec.Command(opa, args...).CombinedOutput(); err != nil {
			t.Errorf("opa %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}

	binary := build(t)
	run := func(args ...string) string {
		cmd := exec.Command(binary, append([]string{"-chdir=" + dir}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+filepath.Join(home, "state"), "OVERBRAINER_INPUT=0")
		out, err := cmd.Output()
		if _, failed := err.(*exec.ExitError); err != nil && !failed {
			t.Fatal(err)
		}
		return string(out)
	}
	// judge gives what the policy says of a plan.
	judge := func(plan string) (deny []string) {
		t.Helper()
		input := filepath.Join(root, "plan.json")
		if err := os.WriteFile(input, []byte(plan), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(opa, "eval", "--format=json", "--data", policy, "--input", input, "data.main").Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var doc struct {
			Result []struct {
				Expressions []struct {
					Value struct{ Deny []string }
				}
			}
		}
		if err := json.Unmarshal(out, &doc); err != nil || len(doc.Result) != 1 {
			t.Fatalf("%v\n%s", err, out)
		}
		return doc.Result[0].Expressions[0].Value.Deny
	}
	config := filepath.Join(dir, "overbrainer.hcl")
	original := string(files["overbrainer.hcl"])
	rewrite := func(pairs ...string) {
		t.Helper()
		text := strings.NewReplacer(pairs...).Replace(original)
		if text == original {
			t.Fatalf("nothing to replace: %q", pairs)
		}
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	if deny := judge(run("plan", "-json")); len(deny) > 0 {
		t.Errorf("the example itself is refused: %q", deny)
	}
	dear := []string{"max_cost_usd = 3", "max_cost_usd = 9", "max_hours    = 1", "max_hours    = 100"}
	for _, test := range []struct {
		name   string
		change []string
		want   []string
	}{
		{"dear", append([]string{"plan.max_cost_usd <= 5", "true"}, dear...), []string{"the plan may cost 9 USD, more than 5"}},
		{"a check that fails", dear, []string{"the plan may cost 9 USD, more than 5", "the plan cannot be applied", "check budget (overbrainer.hcl:"}},
		{"no bound", []string{"plan.max_cost_usd <= 5", "true", `outputs = ["output/**"]`, "outputs = [\"output/**\"]\n  keep_pod = \"forever\""},
			[]string{"nobody can say what the plan may cost at most"}},
	} {
		rewrite(test.change...)
		deny := judge(run("plan", "-json"))
		if len(deny) != len(test.want) {
			t.Errorf("%s: %q, want %q", test.name, deny, test.want)
		}
		for _, want := range test.want {
			if !slices.ContainsFunc(deny, func(got string) bool { return strings.HasPrefix(got, want) }) {
				t.Errorf("%s: %q is not in %q", test.name, want, deny)
			}
		}
	}

	rewrite(`check "budget"`, "volume \"data\" {\n  data_center = \"EU-RO-1\"\n  size_gb     = 10\n  retain      = false\n}\n\ncheck \"budget\"")
	run("apply", "-auto-approve", "-target=volume.data")
	if deny := judge(run("plan", "-json")); len(deny) > 0 {
		t.Errorf("a volume that stays: %q", deny)
	}
	// The first event of a destroy is its plan.
	var first struct{ Plan json.RawMessage }
	if err := json.NewDecoder(strings.NewReader(run("destroy", "-auto-approve", "-volumes", "-json"))).Decode(&first); err != nil {
		t.Fatal(err)
	}
	if deny := judge(string(first.Plan)); !slices.Contains(deny, "volume.data would be deleted with everything on it") {
		t.Errorf("a volume's end: %q", deny)
	}
}
