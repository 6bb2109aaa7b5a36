// Package job is both ends of what overbrainer and a pod say to each other: the
// scripts that run on the pod (bootstrap, watchdog, the job's wrapper), the
// files they keep in the run's directory there, and the code here that starts,
// follows, ends and collects a job through them.
//
// The scripts are POSIX sh and run under bash, dash and busybox. They need
// nothing of the image but ordinary tools; what a provider adds are two shell
// functions that stand in front of the watchdog.
package job

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/internal/remote"
)

// Conn is what is needed of a connection to a pod. A *remote.Client is one.
type Conn interface {
	Run(ctx context.Context, cmd remote.Command) (remote.Result, error)
	Push(ctx context.Context, push remote.Push) error
	Pull(ctx context.Context, pull remote.Pull) error
}

// EnvFile holds the image's environment on a pod, below the pod's root, as
// export commands for sh.
const EnvFile = "/etc/overbrainer/job.env"

// Pod is a run's directory on a pod, reached over a connection. Its methods may
// be called concurrently.
type Pod struct {
	// Metrics is the job's progress file, relative to the run's directory; empty
	// for none. At gives DefaultMetrics.
	Metrics string
	// CancelPatience is how long the job has to end after TERM, and again after
	// KILL. At gives 10 s.
	CancelPatience time.Duration
	// LeaseEvery is how often Upload and Collect renew the lease while bytes
	// move. 0: never. At gives 1 minute.
	LeaseEvery time.Duration
	// Stall ends a transfer in which no byte moved for so long. 0: never.
	Stall time.Duration

	conn    Conn
	root    string // what stands before every path on the pod
	unknown bool   // root is what the pod's environment says
	dir     string // the run's directory, root included

	looks *line // what is answered at once
	work  *line // what may take long, so that looks do not wait for it
}

// At is the run's directory on the pod that conn reaches. root stands before
// every path on the pod and is empty on a real one.
func At(conn Conn, root, runDir string) *Pod {
	return &Pod{
		Metrics:        DefaultMetrics,
		CancelPatience: 10 * time.Second,
		LeaseEvery:     time.Minute,
		conn:           conn,
		root:           root,
		dir:            root + runDir,
		looks:          newLine(looksScript),
		work:           newLine(workScript),
	}
}

// Open is At for a pod that tells its root by itself, with the job's progress file.
func Open(ctx context.Context, conn Conn, runDir, metrics string) (*Pod, error) {
	p := At(conn, "", runDir)
	p.Metrics, p.unknown = metrics, true
	var root string
	err := p.ask(ctx, p.looks, "asking the pod for its root", func(*shell) string { return "root" }, func(r *bufio.Reader) (err error) {
		f := frames{r: r}
		root, err = f.line()
		return err
	})
	if err != nil {
		return nil, err
	}
	p.root, p.unknown = strings.TrimRight(root, "/"), false
	p.dir = p.root + runDir
	return p, nil
}

// Dir is the run's directory on the pod, the root included.
func (p *Pod) Dir() string { return p.dir }

// ScriptError is a script that ran on the pod and failed. It says nothing about
// the connection.
type ScriptError struct {
	What string // what was being done
	Exit int    // exit status, -1 when a signal ended it
	Text string // what it said, at most 20 lines
}

func (e *ScriptError) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("%s: the pod's shell ended with %d", e.What, e.Exit)
	}
	return fmt.Sprintf("%s: %s", e.What, e.Text)
}

// inTime words the end of a context.
func inTime(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return lateError{err}
	}
	return err
}

// lateError words a limit that passed while the pod had not answered.
type lateError struct{ err error }

func (lateError) Error() string   { return "the pod did not answer in time" }
func (e lateError) Unwrap() error { return e.err }

// ProtocolError is an answer from the pod that cannot be read.
type ProtocolError struct {
	What   string
	Detail string
}

func (e *ProtocolError) Error() string {
	return fmt.Sprintf("%s: the pod's answer cannot be read: %s", e.What, e.Detail)
}

// call is a script with what it needs.
type call struct {
	what   string
	vars   []string // name, value, name, value, …
	names  []string // of files below the run's directory, the script's arguments
	script string
	max    int64 // bytes of output; 0: 64 KiB
}

// run runs a script in a shell of its own.
func (p *Pod) run(ctx context.Context, c call) ([]byte, error) {
	if c.max == 0 {
		c.max = 64 << 10
	}
	res, err := p.conn.Run(ctx, remote.Command{Script: p.script(c.vars, c.script), MaxOutput: c.max})
	if err != nil {
		res.Stdout = nil
	}
	return res.Stdout, outcome(c.what, res, err)
}

// script puts variables before a script: name, value, name, value, …
func (p *Pod) script(vars []string, script string) string {
	var b strings.Builder
	if p.unknown {
		b.WriteString("ob_root=${OVERBRAINER_POD_ROOT-}\nob_run=$ob_root" + remote.Quote(p.dir) + "\n")
	} else {
		vars = append([]string{"ob_root", p.root, "ob_run", p.dir}, vars...)
	}
	for i := 0; i+1 < len(vars); i += 2 {
		b.WriteString(vars[i] + "=" + remote.Quote(vars[i+1]) + "\n")
	}
	b.WriteString(script)
	return b.String()
}

// outcome is nil for a script that ended well.
func outcome(what string, res remote.Result, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, inTime(err))
	}
	if res.Exit == 0 {
		return nil
	}
	text := shorten(res.Stderr)
	if res.Signal != "" {
		text = strings.TrimSpace("ended by signal " + res.Signal + " " + text)
	}
	return &ScriptError{What: what, Exit: res.Exit, Text: text}
}

// shorten keeps the first 20 lines and 4096 bytes of a program's error text.
func shorten(text []byte) string {
	text = bytes.TrimSpace(text)
	if len(text) > 4096 {
		text = text[:4096]
	}
	lines := strings.Split(strings.ToValidUTF8(string(text), "�"), "\n")
	if len(lines) > 20 {
		lines = lines[:20]
	}
	return strings.Join(lines, "\n")
}
