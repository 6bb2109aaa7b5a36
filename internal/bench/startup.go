package main

import (
	"os/exec"
	"time"
)

// startup measures the commands that a shell's prompt or completion waits for.
func startup(b *bench) {
	p := b.project("")
	p.write("overbrainer.hcl", hcl(1, "true"))
	command := func(args ...string) func() usage {
		return func() usage { return b.program(p.command(args...)) }
	}
	complete := func() usage {
		cmd := p.command()
		cmd.Env = append(cmd.Env, "COMP_LINE=overbrainer plan -target=")
		return b.program(cmd)
	}
	nothing := func() usage { return b.program(exec.Command("/bin/true")) }
	m := b.often(4*b.runs, nothing, command("version"), command("validate"), complete)
	rows := [][]string{{"command", "time", "peak memory"}}
	for i, name := range []string{"/bin/true", "version", "validate", "completion"} {
		rows = append(rows, []string{name, show(m[i].wall), mb(m[i].rss)})
	}
	b.table("Start-up", rows...)
	b.goal("startup",
		atMost("more", float64(m[1].wall-m[0].wall)/float64(time.Millisecond), 20, "ms"),
		atMost("rss", float64(m[1].rss)/1e6, 40, "MB"))
}
