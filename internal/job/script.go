package job

import (
	_ "embed" // the scripts
	"fmt"
	"strings"
	"sync"
)

var (
	//go:embed scripts/lib.sh
	libText string
	//go:embed scripts/bootstrap.sh
	bootstrapText string
	//go:embed scripts/watchdog.sh
	watchdogText string
	//go:embed scripts/wrapper.sh
	wrapperText string
	//go:embed scripts/status.sh
	statusText string
	//go:embed scripts/launch.sh
	launchText string
	//go:embed scripts/poll.sh
	pollText string
	//go:embed scripts/serve.sh
	serveText string
	//go:embed scripts/cancel.sh
	cancelText string
	//go:embed scripts/procs.sh
	procsText string
	//go:embed scripts/left.sh
	leftText string
	//go:embed scripts/files.sh
	filesText string
	//go:embed scripts/links.sh
	linksText string
	//go:embed scripts/below.sh
	belowText string
	//go:embed scripts/hash.sh
	hashText string
	//go:embed scripts/changed.sh
	changedText string
	//go:embed scripts/request.sh
	requestText string
	//go:embed scripts/disk.sh
	diskText string
	//go:embed scripts/checkpoints.sh
	checkpointsText string
	//go:embed scripts/programs.sh
	programsText string
)

// What the shells run that stay on a pod: see serve.sh. Each connection has two.
var (
	looksScript = sync.OnceValue(func() string {
		return compact(libText) + compact(statusText) + compact(pollText) + compact(serveText)
	})
	workScript = sync.OnceValue(func() string { return compact(libText) + compact(serveText) })
)

const endMark = "OVERBRAINER_WATCHDOG_END"

// MaxScript is how long Script's text may be, in bytes. With its environment it
// has to fit in one call to the provider.
const MaxScript = 40 << 10

// Script is what a pod runs as ["bash", "-c", Script]: the bootstrap, with the
// watchdog inside it. functions is the text of the shell functions
// provider_probe and provider_delete, which the watchdog calls:
//
//	provider_probe    prints ready, missing_key, no_curl, no_certificates,
//	                  read_only_key, unreachable, http_CODE or another word for
//	                  the reason
//	provider_delete N asks for the deletion of its own pod, prints a line for
//	                  each way it tried and returns 0 when one was accepted; N
//	                  tries in a row have failed before
func Script(functions string) (string, error) {
	for _, name := range []string{"provider_probe", "provider_delete"} {
		if !strings.Contains(functions, name) {
			return "", fmt.Errorf("the provider's shell functions lack %s", name)
		}
	}
	if strings.ContainsRune(functions, 0) {
		return "", fmt.Errorf("the provider's shell functions hold a NUL")
	}
	watchdog := compact(libText) + strings.TrimRight(functions, "\n") + "\n" + compact(watchdogText)
	for line := range strings.SplitSeq(watchdog, "\n") {
		if line == endMark {
			return "", fmt.Errorf("the provider's shell functions hold the line %s", endMark)
		}
	}
	script := compact(libText) + compact(bootstrapText) +
		"lacks() (\n" + compact(programsText) + ")\n" +
		"write_watchdog() {\ncat <<'" + endMark + "'\n" + watchdog + endMark + "\n}\nmain\n"
	if len(script) > MaxScript {
		return "", fmt.Errorf("the pod's script has %d bytes, more than %d", len(script), MaxScript)
	}
	return script, nil
}

// compact drops comment lines, blank lines and indentation. Our scripts hold no
// text over several lines in which these would matter.
func compact(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimLeft(line, "\t ")
		if line == "" || line[0] == '#' {
			continue
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.String()
}
