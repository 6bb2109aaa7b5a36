package job

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestScriptSize(t *testing.T) {
	script, err := Script(guardFunctions)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", len(script))
	if len(script) > MaxScript-12<<10 {
		t.Errorf("the script has %d bytes, which leaves too little room for a provider's functions", len(script))
	}
}

func TestScriptRefuses(t *testing.T) {
	for name, functions := range map[string]string{
		"no functions": "",
		"one missing":  "provider_probe() { :; }",
		"end mark":     guardFunctions + "\n" + endMark + "\n",
		"too long":     guardFunctions + strings.Repeat("# x\n", MaxScript),
		"NUL":          guardFunctions + "\x00",
	} {
		if _, err := Script(functions); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestShellcheck(t *testing.T) {
	shellcheck := need(t, "shellcheck")
	script, err := Script(guardFunctions)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	watchdog := libText + guardFunctions + watchdogText
	files := map[string]string{
		"script":   script,
		"watchdog": watchdog,
		"launch":   libText + launchText,
		"wrapper":  libText + wrapperText,
		"serve":    libText + statusText + pollText + serveText,
		"cancel":   libText + statusText + procsText + cancelText,
		"left":     libText + procsText + leftText,
		"files":    libText + filesText,
		"links":    libText + linksText,
		"below":    belowText,
		"changed":  changedText,
		"hash":     libText + hashText,
		"request":  libText + requestText,
		"disk":     libText + diskText,
		"programs": programsText,
	}
	// Joined texts have no directives left in their places: variables that come
	// from the caller, what every shell here knows or only bash is given, and style
	// that each file allows itself.
	const allowed = "SC3013,SC3044,SC3045,SC2154,SC2034,SC1091,SC2016,SC2086,SC2017,SC1128,SC2317,SC2329,SC2119,SC2120"
	for name, text := range files {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name+".sh")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(shellcheck, "-s", "sh", "-e", allowed, path).CombinedOutput()
			if err != nil {
				t.Errorf("%s", out)
			}
		})
	}
}

// Every script must be readable by every shell.
func TestScriptsParse(t *testing.T) {
	script, err := Script(guardFunctions)
	if err != nil {
		t.Fatal(err)
	}
	everyShell(t, func(t *testing.T, m machine) {
		for _, text := range []string{
			script, compact(libText) + guardFunctions + compact(watchdogText),
			compact(libText) + compact(launchText), compact(libText) + compact(wrapperText),
			compact(libText) + compact(statusText) + compact(pollText) + compact(serveText),
			compact(libText) + compact(statusText) + compact(procsText) + compact(cancelText),
			compact(libText) + compact(procsText) + compact(leftText),
			compact(filesText), compact(linksText), compact(belowText), compact(changedText), compact(libText) + compact(hashText), compact(libText) + compact(requestText),
			compact(libText) + compact(diskText), compact(programsText),
		} {
			cmd := exec.Command(m.sh, "-n")
			cmd.Stdin = strings.NewReader(text)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s\n%s", err, out, text)
			}
		}
	})
}

func TestCompactKeepsMeaning(t *testing.T) {
	for _, text := range []string{bootstrapText, watchdogText, launchText, pollText, serveText} {
		if got := compact(compact(text)); got != compact(text) {
			t.Error("compacting twice changes the text")
		}
	}
}
