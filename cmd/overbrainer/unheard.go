package main

// onlyTell are the commands whose whole effect is what they print: without a
// standard output they have failed before they began. The others go on: what
// they do counts, and the standard error tells what they did.
var onlyTell = map[string]bool{
	"plan": true, "show": true, "output": true, "graph": true, "providers schema": true,
	"run list": true, "run logs": true, "run report": true,
	"pod gpus": true, "pod datacenters": true, "pod volumes": true, "pod templates": true, "pod ls": true,
	"state list": true, "state show": true, "state pull": true,
}

// elsewhere are flags with which such a command answers by something else: its
// exit code or a file.
var elsewhere = []string{"detailed-exitcode", "out", "markdown"}

// unheard is the error of a command that nobody can hear.
func unheard(c *command, f *flags) error {
	if !onlyTell[c.name] || !outputClosed() {
		return nil
	}
	for _, name := range elsewhere {
		if f.given(name) {
			return nil
		}
	}
	return &problem{code: "output", message: "the standard output is closed, so overbrainer " + c.name + " has nowhere to write its answer to",
		hint: "let it write to a terminal, a file or a pipe; >/dev/null throws the answer away"}
}
