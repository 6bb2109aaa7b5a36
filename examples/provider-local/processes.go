//go:build linux

package main

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// killAll kills what find lists until it lists nothing. What is killed may have
// forked a moment before, so it looks again.
func killAll(find func() []int) {
	for left := find(); len(left) > 0; left = find() {
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// marked lists the living processes that carry a pod's variable: what is left
// of a pod whose holder was killed.
func marked(id string) []int {
	var found []int
	want := []byte("\x00" + podVariable + "=" + id + "\x00")
	for pid, p := range processes() {
		env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err == nil && !p.dead && bytes.Contains(append([]byte{0}, env...), want) {
			found = append(found, pid)
		}
	}
	return found
}

// descendants lists the living processes below this one.
func descendants() []int {
	all := processes()
	var found []int
	for pid, p := range all {
		if p.dead {
			continue
		}
		for up, steps := p.parent, 0; up > 1 && steps < len(all); up, steps = all[up].parent, steps+1 {
			if up == os.Getpid() {
				found = append(found, pid)
				break
			}
		}
	}
	return found
}

type process struct {
	parent int
	dead   bool // and not yet waited for
}

// processes reads the machine's processes.
func processes() map[int]process {
	all := map[int]process{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return all
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		data, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		// The name in parentheses may hold anything: what counts stands after it.
		fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
		if err != nil || len(fields) < 2 {
			continue
		}
		parent, _ := strconv.Atoi(string(fields[1]))
		all[pid] = process{parent: parent, dead: fields[0][0] == 'Z' || fields[0][0] == 'X'}
	}
	return all
}
