package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/overbrainer/overbrainer/providers/runpod/sim"
)

// project is a directory with a configuration, and a home in which its
// simulator lives.
type project struct {
	b       *bench
	dir     string
	home    string // of the simulator
	environ []string
	sim     *sim.Client
}

// project makes one.
func (b *bench) project(name string) *project {
	root, err := filepath.EvalSymlinks(b.TempDir())
	b.must(err)
	home := filepath.Join(root, "home")
	p := &project{b: b, dir: filepath.Join(root, "project"+name)}
	for _, dir := range []string{p.dir, home} {
		b.must(os.MkdirAll(dir, 0o700))
	}
	variables := map[string]string{"HOME": home, "XDG_STATE_HOME": filepath.Join(home, "state")}
	p.environ = []string{
		"PATH=" + os.Getenv("PATH") + ":/usr/sbin:/sbin", "HOME=" + home, "XDG_STATE_HOME=" + variables["XDG_STATE_HOME"],
		"OVERBRAINER_INPUT=0", "TMPDIR=" + os.TempDir(),
	}
	p.home = sim.Home(func(name string) string { return variables[name] }, p.dir)
	return p
}

// write makes a file of the project.
func (p *project) write(name, text string) {
	path := filepath.Join(p.dir, filepath.FromSlash(name))
	p.b.must(os.MkdirAll(filepath.Dir(path), 0o700))
	p.b.must(os.WriteFile(path, []byte(text), 0o600))
}

// command is overbrainer in the project.
func (p *project) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.b.ctx, p.b.binary, args...)
	cmd.Dir, cmd.Env = p.dir, append([]string{}, p.environ...)
	return cmd
}

// simulate starts the project's simulator. It ends with the topic.
func (p *project) simulate() {
	server := exec.Command(p.b.binary, "sim", "serve", "-home="+p.home, "-idle=24h")
	server.Env, server.Dir = p.environ, "/"
	server.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p.b.must(server.Start())
	ended := make(chan struct{})
	go func() { _ = server.Wait(); close(ended) }()
	p.b.Cleanup(func() {
		// An interrupted measurement leaves no pod behind either.
		if p.sim == nil || p.sim.Stop(context.WithoutCancel(p.b.ctx)) != nil {
			_ = server.Process.Kill()
		}
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			_ = server.Process.Kill()
			<-ended
		}
	})
	for limit := time.Now().Add(time.Minute); ; {
		var err error
		if p.sim, err = sim.Find(p.b.ctx, p.home); err == nil {
			return
		}
		if p.b.ctx.Err() != nil || time.Now().After(limit) {
			p.b.Fatalf("the simulator does not answer: %v", err)
		}
		select {
		case <-ended:
			p.b.Fatal("the simulator has ended")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// hcl is a configuration with so many runs (up to 10, or tens) by for_each, whose job is a line of
// shell that sees its key in $KEY.
func hcl(runs int, job string) string {
	return fmt.Sprintf(`provider "runpod" {
  simulator = true
}

target "gpu" {
  gpu_types         = "auto"
  min_vram_gb       = 16
  image             = "registry.example/train:1.0"
  container_disk_gb = 20
}

cap "day" {
  max_hours    = 1
  max_cost_usd = 5
}

locals {
  keys = flatten([for i in range(%d) : [for j in range(%d) : format("k%%04d%%d", i, j)]])
  runs = { for k in local.keys : k => "rate of ${k}" }
}

run "sweep" {
  for_each = local.runs
  target   = target.gpu
  cap      = cap.day
  command  = ["sh", "-c", %q]
  env      = { KEY = each.key, RATE = upper(each.value) }
  outputs  = ["output/**"]
}
`, (runs+9)/10, min(runs, 10), job)
}
