//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// holdCommand is the argument that turns this program into a pod's holder.
const holdCommand = "pod"

// aliveFD is the locked file that a holder is started with.
const aliveFD = 3

// hold is the program around one pod: it starts the pod's main process, takes
// in what that leaves behind, writes its log, and ends when it ends, taking
// every process of the pod along. Asked to by SIGTERM, from the provider or
// from the pod's own watchdog, it ends the pod and removes it.
func hold(dir string) int {
	// The main process asks to die with the thread that started it.
	runtime.LockOSThread()
	syscall.CloseOnExec(aliveFD)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP)
	alive := os.NewFile(aliveFD, aliveFile)
	if _, err := alive.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return complain(err)
	}
	var ending sync.Mutex
	go func() {
		<-ended
		ending.Lock()
		killAll(descendants)
		if err := discard(dir); err != nil {
			os.Exit(complain(err))
		}
		os.Exit(0)
	}()
	code, err := run(dir)
	ending.Lock()
	killAll(descendants)
	if err != nil {
		return complain(err)
	}
	fmt.Fprintf(os.Stderr, "the main process exited with %d\n", code)
	return 0
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// run starts the main process and waits for it and everybody's orphans.
func run(dir string) (int, error) {
	// Orphans of the pod come to us instead of to the machine's init.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	var r record
	if err := readJSON(filepath.Join(dir, recordFile), &r); err != nil {
		return 0, err
	}
	root := filepath.Join(dir, rootDir)
	if err := layOut(r, root); err != nil {
		return 0, err
	}
	env, err := environment(r, root)
	if err != nil {
		return 0, err
	}
	path, err := exec.LookPath(r.Command[0])
	if err != nil {
		return 0, err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	main, err := os.StartProcess(path, r.Command, &os.ProcAttr{
		Dir: root, Env: env, Files: []*os.File{null, in, in},
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	_ = in.Close()
	if err != nil {
		return 0, err
	}
	go stamp(out, os.Stdout)
	return reap(main.Pid)
}

// reap waits for every process that has no other parent, until main ends.
func reap(main int) (int, error) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 0, err
		case pid == main && status.Signaled():
			return 128 + int(status.Signal()), nil
		case pid == main:
			return status.ExitStatus(), nil
		}
	}
}

// stamp copies lines with the time in front.
func stamp(from io.Reader, to io.Writer) {
	in := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := in.ReadSlice('\n')
		if len(line) > 0 {
			text := append([]byte(time.Now().UTC().Format(time.RFC3339Nano)+" "), line...)
			if text[len(text)-1] != '\n' {
				text = append(text, '\n') // longer than the buffer, or the last
			}
			_, _ = to.Write(text)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}
