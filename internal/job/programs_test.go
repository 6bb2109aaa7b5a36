package job

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// programsOf is a PATH with busybox's programs only, less some.
func programsOf(t *testing.T, without ...string) string {
	t.Helper()
	busybox := need(t, "busybox")
	list, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for _, name := range strings.Fields(string(list)) {
		if !slices.Contains(without, name) {
			if err := os.Symlink(busybox, filepath.Join(bin, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return bin
}

// TestReserveNamesMissingPrograms: what the end of a run takes is looked for at
// its start, while nothing was paid for yet but the boot.
func TestReserveNamesMissingPrograms(t *testing.T) {
	sh := need(t, "dash") // busybox's own finds its programs without a PATH
	for _, c := range []struct {
		without, want []string
	}{
		{nil, nil},
		{[]string{"tar"}, []string{"tar"}},
		{[]string{"find", "tail"}, []string{"find", "tail"}},
		{[]string{"head"}, []string{"head"}}, // which the shell that answers takes itself
		{[]string{"mkdir", "wc"}, []string{"mkdir", "wc"}},
		{[]string{"sha256sum", "openssl", "python3"}, []string{"openssl, python3 or sha256sum"}},
		{[]string{"base64", "openssl"}, []string{"base64, openssl or python3"}},
		{[]string{"setsid", "perl"}, []string{"setsid, python3 or perl"}},
	} {
		t.Run(strings.Join(c.without, " "), func(t *testing.T) {
			t.Parallel()
			p := newPod(t, machine{name: "dash", sh: sh, path: programsOf(t, c.without...)})
			err := p.Reserve(t.Context(), testClaim)
			var lacks *LackError
			switch {
			case c.want == nil:
				if err != nil {
					t.Error(err)
				}
			case !errors.As(err, &lacks) || !slices.Equal(lacks.Programs, c.want):
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}

// TestVerdictNamesMissingPrograms: the guard's word is read before anything else
// is asked of a pod, with programs that an image may lack.
func TestVerdictNamesMissingPrograms(t *testing.T) {
	sh := need(t, "dash")
	p := newPod(t, machine{name: "dash", sh: sh, path: programsOf(t, "head", "grep")})
	p.put(".pod/watchdog", "ready gpus=1\n")
	_, err := p.Verdict(t.Context())
	var lacks *LackError
	if !errors.As(err, &lacks) || !slices.Equal(lacks.Programs, []string{"grep", "head"}) {
		t.Errorf("%v", err)
	}
}

// TestBootstrapNamesMissingPrograms: a start that failed for want of a program
// says which.
func TestBootstrapNamesMissingPrograms(t *testing.T) {
	sh := need(t, "dash")
	for _, c := range []struct {
		without []string
		want    string
	}{
		{[]string{"mkdir"}, "the watchdog cannot be written; the image has no mkdir"},
		{[]string{"mv", "cat"}, "the watchdog cannot be written; the image has no cat; the image has no mv"},
		{[]string{"base64", "openssl", "python3"}, "the host key cannot be installed; the image has no base64, openssl or python3"},
	} {
		t.Run(strings.Join(c.without, " "), func(t *testing.T) {
			t.Parallel()
			p := newPod(t, machine{name: "dash", sh: sh, path: programsOf(t, c.without...)})
			p.start()
			p.ready()
			v, ok := LogVerdict(lineWith(p.out.String(), verdictWord))
			if !ok || !v.Bootstrap || v.Reason != c.want {
				t.Errorf("verdict %+v", v)
			}
		})
	}
}

// TestProgramsAreAllThatScriptsTake: a program that one of the scripts calls
// once the job runs is one that was looked for, or that the script looks for itself.
func TestProgramsAreAllThatScriptsTake(t *testing.T) {
	_, list, _ := strings.Cut(programsText, "for ob_name in ")
	list, _, _ = strings.Cut(list, ";")
	looked := strings.Fields(list)
	for _, name := range []string{"awk", "basename", "cat", "cp", "cut", "date", "dd", "df", "dirname", "expr", "find", "grep", "head", "ls", "mkdir", "mv", "rm", "sed", "sleep", "sort", "tail", "tar", "tr", "uniq", "wc", "xargs"} {
		for file, text := range map[string]string{
			"status": statusText, "poll": pollText, "cancel": procsText + cancelText, "request": requestText, "files": filesText,
			"hash": hashText, "wrapper": wrapperText, "serve": serveText,
		} {
			for line := range strings.Lines(text) {
				line, _, _ = strings.Cut(strings.TrimSpace(line), "# ")
				if slices.ContainsFunc(strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n;|(){}`\"'$", r) }), func(word string) bool { return word == name }) && !slices.Contains(looked, name) && !strings.Contains(text, "command -v "+name+" ") {
					t.Errorf("%s.sh calls %s", file, name)
				}
			}
		}
	}
}

// A directory of PATH that a mounted volume hides is named in the job's log,
// where its program is then not found.
func TestHiddenPathIsNamed(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		p.spec.VolumeDir, p.spec.VolumeGB = "/workspace/data", 10
		hidden := p.root + "/workspace/data/venv/bin"
		if err := os.MkdirAll(p.root+"/workspace/data/there", 0o700); err != nil {
			t.Fatal(err)
		}
		p.env["PATH"] = hidden + ":" + p.root + "/workspace/data/there:" + m.path
		p.start()
		p.ready()
		p.launch(Launch{Command: []string{"no-such-program"}})
		if s := p.ended(); s.Exit != 127 {
			t.Error(s)
		}
		log := p.get("job.log")
		if want := "overbrainer: PATH names " + hidden + ", which is not there: the volume mounted at "; !strings.Contains(log, want) || strings.Count(log, "PATH names") != 1 {
			t.Errorf("log %q", log)
		}
	})
}
