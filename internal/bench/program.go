package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// starterWord lets this program start another one and tell what it took. Linux
// counts the memory of whoever starts a program as the program's own, and a
// process that has just begun has little.
const starterWord = "start-program"

// usage is what a program took.
type usage struct {
	wall time.Duration
	rss  int64 // peak, bytes
}

// program runs a command to its end, its output going nowhere.
func (b *bench) program(cmd *exec.Cmd) usage {
	self, err := os.Executable()
	b.must(err)
	starter := exec.CommandContext(b.ctx, self, append([]string{starterWord, cmd.Path}, cmd.Args[1:]...)...)
	starter.Dir, starter.Env = cmd.Dir, cmd.Env
	var out, said bytes.Buffer
	starter.Stdout, starter.Stderr = &out, &said
	if err := starter.Run(); err != nil {
		b.Fatalf("%s: %v\n%s", filepath.Base(cmd.Path), err, said.String())
	}
	var took [2]int64
	b.must(json.Unmarshal(out.Bytes(), &took))
	return usage{time.Duration(took[0]), took[1]}
}

// start runs a program and writes its time in nanoseconds and its peak of
// memory in bytes.
func start(args []string, out, errs io.Writer) int {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = errs
	began := time.Now()
	err := cmd.Run()
	wall := time.Since(began)
	if err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	var rss int64
	if used, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		rss = int64(used.Maxrss) * 1024
	}
	_ = json.NewEncoder(out).Encode([2]int64{int64(wall), rss})
	return 0
}
