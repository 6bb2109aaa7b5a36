package sim

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// killRest kills every process of the container and returns when none is left.
// In the root form the kernel does that when this process, the first of its
// namespace, ends.
func (h *holder) killRest() {
	if h.spec.Form == FormRoot {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	// What is killed may have forked a moment before: its children come to us
	// and are found in the next round.
	for {
		left := descendants(os.Getpid())
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if err != nil || pid <= 0 {
				break
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// descendants lists the living processes below root.
func descendants(root int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if parent, dead, ok := statOf(pid); ok {
			children[parent] = append(children[parent], pid)
			if dead {
				children[pid] = append(children[pid], 0) // marks a zombie
			}
		}
	}
	var out []int
	todo := []int{root}
	for len(todo) > 0 {
		pid := todo[0]
		todo = todo[1:]
		zombie := false
		for _, c := range children[pid] {
			if c == 0 {
				zombie = true
			} else {
				todo = append(todo, c)
			}
		}
		if pid != root && !zombie {
			out = append(out, pid)
		}
	}
	return out
}

// statOf reads a process's parent and whether it is dead and not yet waited
// for. The name in the line may hold anything, so it is read from its end.
func statOf(pid int) (parent int, dead, ok bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false, false
	}
	i := bytes.LastIndexByte(data, ')')
	fields := bytes.Fields(data[i+1:])
	if i < 0 || len(fields) < 2 {
		return 0, false, false
	}
	parent, err = strconv.Atoi(string(fields[1]))
	return parent, fields[0][0] == 'Z' || fields[0][0] == 'X', err == nil
}
