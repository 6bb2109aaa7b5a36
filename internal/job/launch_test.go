package job

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ended waits for the job's end and gives its status.
func (p *testPod) ended() Status {
	p.t.Helper()
	var poll Poll
	p.eventually("the job's end", func() bool {
		var err error
		if poll, err = p.Poll(p.t.Context(), Offsets{}, Limits{}); err != nil {
			p.t.Fatal(err)
		}
		return poll.Status.Ended()
	})
	return poll.Status
}

func TestExitCodes(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		for name, c := range map[string]struct {
			command []string
			setup   string
			want    Status
			log     string
		}{
			"good":           {command: []string{"true"}, want: Status{State: StateExited}},
			"seven":          {command: []string{"sh", "-c", "exit 7"}, want: Status{State: StateExited, Exit: 7}},
			"comment at end": {command: []string{"sh", "-c", "exit 4 # done"}, want: Status{State: StateExited, Exit: 4}},
			"not found":      {command: []string{"no-such-program"}, want: Status{State: StateExited, Exit: 127}, log: "no-such-program"},
			"killed":         {command: []string{"sh", "-c", "echo x; kill -9 $$"}, want: Status{State: StateExited, Exit: 137, Signal: "KILL"}},
			"own group":      {command: []string{"sh", "-c", "kill 0; sleep 9"}, want: Status{State: StateExited, Exit: 143, Signal: "TERM"}},
			"setup first":    {command: []string{"cat", "made"}, setup: "echo from setup >made", want: Status{State: StateExited}, log: "from setup\n"},
			"setup fails":    {command: []string{"echo", "never"}, setup: "echo to log; false; true", want: Status{State: StateExited, Exit: 1}, log: "to log\noverbrainer: setup ended with exit code 1, the command was not started\n"},
			"both streams":   {command: []string{"sh", "-c", "echo a; echo b >&2"}, want: Status{State: StateExited}, log: "a\nb\n"},
			"no input":       {command: []string{"sh", "-c", "cat; echo $# \"$1\"", "x", "two  words"}, want: Status{State: StateExited}, log: "1 two  words\n"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := newPod(t, m)
				p.reserve()
				p.put("exit_code", "9\n") // left by something earlier
				p.put("cancelled", "")
				p.launch(Launch{Command: c.command, Setup: c.setup})
				if got := p.ended(); got != c.want {
					t.Errorf("status %v, want %v", got, c.want)
				}
				if log := p.get("job.log"); !strings.Contains(log, c.log) {
					t.Errorf("log %q", log)
				}
			})
		}
	})
}

func TestJobEnvironment(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		every := make([]byte, 0, 255)
		for b := 1; b < 256; b++ {
			every = append(every, byte(b))
		}
		p.env["IMAGE_VALUE"] = string(every) + "\n\n"
		p.env["OVERRIDDEN"] = "image"
		p.env["CUDA_HOME"] = "/usr/local/cuda"
		p.spec.VolumeDir, p.spec.VolumeGB = "/workspace", 10
		p.start()
		p.ready()
		env := map[string]string{
			"PLAIN": "a", "QUOTES": "it's \"so\" $HOME `id` \\", "LINES": "one\ntwo\n", "EMPTY": "",
			"UNICODE": "grün 模型", "OVERRIDDEN": "run", "EVERY": string(every),
		}
		p.launch(Launch{
			Command: []string{"cat", "/proc/self/environ"}, Env: env, GPUType: "NVIDIA A40",
			Secrets: map[string][]byte{"HF_TOKEN": []byte("CANARY-9abc\n")}, ResumeDir: "resume",
		})
		if s := p.ended(); s.Exit != 0 {
			t.Fatalf("%v: %s", s, p.get("job.log"))
		}
		got := map[string]string{}
		for entry := range strings.SplitSeq(p.get("job.log"), "\x00") {
			name, value, _ := strings.Cut(entry, "=")
			got[name] = value
		}
		env["IMAGE_VALUE"] = p.env["IMAGE_VALUE"]
		env["CUDA_HOME"] = "/usr/local/cuda"
		env["HF_TOKEN"] = "CANARY-9abc\n"
		env["HF_HOME"] = p.root + "/workspace/.cache/huggingface"
		env["OVERBRAINER_VOLUME_DIR"] = p.root + "/workspace"
		env["OVERBRAINER_RUN_ID"] = "run-1"
		env["OVERBRAINER_GPU_TYPE"] = "NVIDIA A40"
		env["OVERBRAINER_METRICS"] = p.dir + "/metrics.jsonl"
		env["OVERBRAINER_SNAPSHOT_REQUEST"] = p.dir + "/snapshot.request"
		env["OVERBRAINER_OUTPUT_DIR"] = p.dir + "/output"
		env["OVERBRAINER_RESUME_DIR"] = p.dir + "/resume"
		env["PATH"] = m.path
		for name, want := range env {
			if value, ok := got[name]; !ok || value != want {
				t.Errorf("%s is %q (there: %t), want %q", name, value, ok, want)
			}
		}
		for name := range got {
			ours := name == "OVERBRAINER_JOB" || env[name] != ""
			if !ours && (strings.HasPrefix(name, "OVERBRAINER_") || strings.HasPrefix(name, "ob_") || name == "SSH_CONNECTION") {
				t.Errorf("the job sees %s", name)
			}
		}
	})
}

// TestImageVariablesNamedAsOurs: whatever word of the pod's script a variable of the
// image has for a name, the job gets what the image gave. Names that begin with ob_ are
// the scripts' own, and reach no job.
func TestImageVariablesNamedAsOurs(t *testing.T) {
	script, err := Script(guardFunctions)
	if err != nil {
		t.Fatal(err)
	}
	words := regexp.MustCompile(`\b[a-z][a-z0-9_]*\b`).FindAllString(script, -1)
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		for _, word := range words {
			p.env[word] = "the image's " + word
		}
		p.start()
		p.ready()
		if !p.has(".pod/watchdog.log") {
			t.Fatal("the watchdog looks elsewhere")
		}
		p.launch(Launch{Command: []string{"cat", "/proc/self/environ"}})
		if s := p.ended(); s.Exit != 0 {
			t.Fatalf("%v: %s", s, p.get("job.log"))
		}
		entries := strings.Split(p.get("job.log"), "\x00")
		for name, value := range p.env {
			if there := slices.Contains(entries, name+"="+value); there == strings.HasPrefix(name, "ob_") {
				t.Errorf("%s, there: %t", name, there)
			}
		}
		for _, entry := range entries {
			if strings.HasPrefix(entry, "ob_") {
				t.Errorf("the job sees %s", entry)
			}
		}
	})
}

func TestSecretLeavesNoTrace(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		p.start()
		p.ready()
		const secret = "CANARY-9abc"
		p.launch(Launch{
			Command: []string{"sh", "-c", `test "$HF_TOKEN" = CANARY-"9abc" && echo same; sleep 2`},
			Secrets: map[string][]byte{"HF_TOKEN": []byte(secret)},
		})
		p.eventually("the job", func() bool { return strings.Contains(p.get("job.log"), "same") })
		if strings.Contains(tree(t, p.root), secret) {
			t.Error("a file of the pod holds the secret")
		}
		lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, path := range lines {
			if text, _ := os.ReadFile(path); bytes.Contains(text, []byte(secret)) {
				t.Errorf("an argument list holds the secret: %q", text)
			}
		}
	})
}

func TestLaunchRefuses(t *testing.T) {
	p := At(&localConn{}, "", "/workspace/r")
	for name, l := range map[string]Launch{
		"no command":     {},
		"NUL":            {Command: []string{"true"}, Secrets: map[string][]byte{"A": []byte("CANARY\x00")}},
		"name":           {Command: []string{"true"}, Env: map[string]string{"A-B": "CANARY"}},
		"our own name":   {Command: []string{"true"}, Env: map[string]string{"ob_run": "CANARY"}},
		"too long":       {Command: []string{"true"}, Env: map[string]string{"A": strings.Repeat("CANARY", 30000)}},
		"all too long":   {Command: append([]string{"true"}, strings.Fields(strings.Repeat(strings.Repeat("x", 100000)+" ", 12))...)},
		"unknown signal": {Command: []string{"true"}, Signal: "KILL"},
	} {
		_, err := p.launchInput(l)
		if err == nil {
			t.Errorf("%s: no error", name)
		} else if strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s: the error holds the value: %v", name, err)
		}
	}
}

func TestLaunchCutOff(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		p.reserve()
		input, err := p.launchInput(Launch{Command: []string{"touch", "ran"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, cut := range []int{0, 10, len(input) / 2, len(input) - 4} {
			_, err := p.do(t.Context(), p.looks, call{
				what: "starting", vars: []string{"ob_job", input[:cut]}, script: compact(launchText),
			})
			var failed *ScriptError
			if !errors.As(err, &failed) || failed.Exit == 75 {
				t.Errorf("cut at %d: %v", cut, err)
			}
		}
		script := "touch ran\n#mark\n"
		for _, text := range []string{"script %d mark\n" + script[:10], "script %d mark\n" + script[:14]} {
			serve := m.command(t.Context(), p.script(nil, compact(libText)+compact(statusText)+compact(pollText)+compact(serveText)), nil)
			serve.Dir = p.dir
			serve.Stdin = strings.NewReader(fmt.Sprintf(text, len(script)))
			if out, err := serve.CombinedOutput(); err == nil {
				t.Errorf("%q was answered with %q", text, out)
			}
		}
		if poll, err := p.Poll(t.Context(), Offsets{}, Limits{}); err != nil || poll.Status.State != StateNone || p.has("ran") {
			t.Errorf("%v %v, ran: %t", poll.Status, err, p.has("ran"))
		}
		p.launch(Launch{Command: []string{"touch", "ran"}})
		p.ended()
		if !p.has("ran") {
			t.Error("did not run afterwards")
		}
	})
}

func TestTwoStartsAtOnce(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		p.reserve()
		results := make(chan error, 4)
		for range cap(results) {
			own := At(p.conn, p.root, p.spec.RunDir) // each from a shell of its own
			defer func() { own.looks.shell.close() }()
			go func() {
				_, err := own.Launch(t.Context(), Launch{Command: []string{"sh", "-c", "echo x >>ran"}})
				results <- err
			}()
		}
		started := 0
		for range cap(results) {
			switch err := <-results; {
			case err == nil:
				started++
			case err != ErrStarted:
				t.Error(err)
			}
		}
		p.ended()
		if started != 1 || p.get("ran") != "x\n" {
			t.Errorf("%d starts, ran %q", started, p.get("ran"))
		}
	})
}

// ignored is the set of signals in the SigIgn line of a process's status.
func ignored(t *testing.T, status string) uint64 {
	t.Helper()
	_, rest, _ := strings.Cut(status, "SigIgn:")
	set, err := strconv.ParseUint(strings.Fields(rest + " none")[0], 16, 64)
	if err != nil {
		t.Fatalf("no SigIgn in %q", status)
	}
	return set
}

// A job started in the background of a shell would ignore interrupts.
func TestJobTakesSignals(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		p.reserve()
		pid := p.launch(Launch{Command: []string{"grep", "-E", "^Sig(Ign|Cgt)", "/proc/self/status"}})
		p.ended()
		// Of the standard signals only SIGHUP is ignored, and what this test was
		// itself started with.
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		const standard, hup = 1<<31 - 1, 1
		got := ignored(t, p.get("job.log"))
		if own := ignored(t, string(status)); got&standard&^own|hup != hup || got&hup == 0 {
			t.Errorf("pid %d ignores %#x, its parent %#x", pid, got, own)
		}
	})
}

func TestExitCodeOnFullDisk(t *testing.T) {
	// The exit code's bytes are there before the job starts.
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		p.reserve()
		p.launch(Launch{Command: []string{"sh", "-c", "cat exit_code.tmp >seen; exit 5"}})
		if s := p.ended(); s.Exit != 5 {
			t.Error(s)
		}
		if got := p.get("seen"); len(got) != len(p.get("exit_code")) {
			t.Errorf("room %q, code %q", got, p.get("exit_code"))
		}
	})
}

func TestKilledJobIsLost(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		p.reserve()
		pid := p.launch(Launch{Command: []string{"sleep", "1000"}})
		p.eventually("its command", func() bool {
			poll, err := p.Poll(t.Context(), Offsets{}, Limits{})
			if err != nil || poll.Status.State != StateRunning || poll.PID != pid {
				t.Fatalf("%+v %v", poll, err)
			}
			return poll.Stage == "command"
		})
		_ = syscall.Kill(-pid, syscall.SIGKILL)
		if s := p.ended(); s.State != StateLost {
			t.Error(s)
		}
	})
}

// Another process with the job's number is not the job.
func TestRecycledNumber(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		other := m.command(t.Context(), "exec sleep 1000", nil)
		other.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := other.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
		p.reserve()
		p.put("job.pid", strconv.Itoa(other.Process.Pid)+" 5\n")
		if s := p.ended(); s.State != StateLost {
			t.Error(s)
		}
		if s, err := p.Cancel(t.Context(), "run-1"); err != nil || s.State != StateLost {
			t.Errorf("cancel: %v %v", s, err)
		}
		p.put("cancelled", "")
		if s := p.ended(); s.State != StateCancelled {
			t.Error(s)
		}
		time.Sleep(50 * time.Millisecond)
		if err := other.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("the other process: %v", err)
		}
	})
}

// A job has nothing open but its log: what else it held of the shell that started
// it would keep that shell's login.
func TestJobHoldsNothing(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		p.reserve()
		const list = "for f in /proc/$$/fd/*; do readlink $f || :; done"
		plain := m.command(t.Context(), list, nil) // what any process here has
		plain.Stdout = &bytes.Buffer{}
		if err := plain.Run(); err != nil {
			t.Fatal(err)
		}
		p.launch(Launch{Command: []string{"sh", "-c", list}})
		p.ended()
		for line := range strings.Lines(p.get("job.log")) {
			if strings.HasPrefix(line, "pipe:") && !strings.Contains(fmt.Sprint(plain.Stdout), line) {
				t.Errorf("it holds %q", line)
			}
		}
	})
}

// Each of the programs that can begin a session starts the job.
func TestLaunchBySession(t *testing.T) {
	sh := need(t, "dash")
	for _, tool := range []string{"setsid", "python3", "perl"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			bin := programsOf(t, "setsid", "sh")
			path := need(t, tool)
			if tool == "python3" { // what is found may be a script that looks for it
				real, err := exec.Command(path, "-c", "import sys; print(sys.executable)").Output()
				if err != nil {
					t.Fatal(err)
				}
				path = strings.TrimSpace(string(real))
			}
			for name, at := range map[string]string{tool: path, "sh": sh} {
				if err := os.Symlink(at, filepath.Join(bin, name)); err != nil {
					t.Fatal(err)
				}
			}
			p := newPod(t, machine{name: "dash", sh: filepath.Join(bin, "sh"), path: bin})
			p.reserve()
			pid := p.launch(Launch{Command: []string{"sh", "-c", `cut -d " " -f 6 /proc/$$/stat >session`}, Env: map[string]string{"PATH": bin + ":/none"}})
			if s := p.ended(); s.State != StateExited || s.Exit != 0 {
				t.Errorf("%v: %s", s, p.get("job.log"))
			}
			if got := strings.TrimSpace(p.get("session")); got != strconv.Itoa(pid) {
				t.Errorf("the job's session is %s, its first process %d", got, pid)
			}
		})
	}
}
