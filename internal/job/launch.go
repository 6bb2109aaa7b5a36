package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/overbrainer/overbrainer/internal/remote"
)

// Launch is a job to be started.
type Launch struct {
	RunID   string
	GPUType string   // what was rented
	Command []string // argument list; a string command is {"sh", "-c", text}
	Setup   string   // sh script that runs before it, ends at its first failure
	Env     map[string]string
	Secrets map[string][]byte // values hold no NUL
	// Metrics is the file with the job's progress, relative to the run's
	// directory.
	Metrics string
	// ResumeDir is where the snapshot to resume from was uploaded, relative to
	// the run's directory; empty without one.
	ResumeDir string
	// Signal is sent to processes of the job that catch it when a snapshot is
	// asked for: HUP, INT, QUIT, USR1, USR2, TERM, or empty. A leading SIG is
	// accepted.
	Signal string
	// Vars are further variables of ours, after everything else.
	Vars map[string]string
}

// ErrStarted is a job that was started on this pod before. It is not started a
// second time, whoever asks.
var ErrStarted = errors.New("the job was started before")

// signals are those a job may ask for, with their numbers on Linux.
var signals = map[string]int{"HUP": 1, "INT": 2, "QUIT": 3, "USR1": 10, "USR2": 12, "TERM": 15}

// SignalName gives the name without SIG, and whether a job may ask for it.
func SignalName(name string) (string, bool) {
	name = strings.TrimPrefix(strings.ToUpper(name), "SIG")
	_, ok := signals[name]
	return name, ok
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// maxEntry is the longest argument or variable Linux takes.
const maxEntry = 128<<10 - 1

// Launch starts the job in a session of its own and gives its process number.
// It was not started when an error comes back, with two exceptions: ErrStarted,
// and an error of the connection, after which Poll tells.
func (p *Pod) Launch(ctx context.Context, l Launch) (pid int, err error) {
	input, err := p.launchInput(l)
	if err != nil {
		return 0, err
	}
	out, err := p.do(ctx, p.looks, call{
		what:   "starting the job",
		vars:   []string{"ob_job", input},
		script: compact(launchText),
	})
	var script *ScriptError
	if errors.As(err, &script) && script.Exit == 75 {
		return 0, ErrStarted
	}
	if err != nil {
		return 0, err
	}
	text, found := strings.CutPrefix(strings.TrimSpace(string(out)), "pid ")
	if pid, err = strconv.Atoi(text); !found || err != nil || pid < 2 {
		return 0, &ProtocolError{What: "starting the job", Detail: strconv.Quote(shorten(out))}
	}
	return pid, nil
}

// launchInput is what the launcher gets: commands of ours, in which every value is
// quoted.
func (p *Pod) launchInput(l Launch) (string, error) {
	if len(l.Command) == 0 {
		return "", errors.New("a job needs a command")
	}
	env := maps.Clone(l.Env)
	if env == nil {
		env = map[string]string{}
	}
	for name, value := range l.Secrets {
		env[name] = string(value)
	}
	maps.Copy(env, p.ownVars(l))
	maps.Copy(env, l.Vars)
	var b strings.Builder
	total := 0
	entry := func(what, command, name, value string) error {
		total += len(name) + len(value) + 16
		switch {
		case strings.ContainsRune(value, 0):
			return fmt.Errorf("%s holds a NUL, which no program can be given", what)
		case len(name)+len(value)+1 > maxEntry:
			return fmt.Errorf("%s has %d bytes, more than the %d that a program can be given", what, len(value), maxEntry-1)
		case total > 1<<20:
			return fmt.Errorf("command and environment are longer than 1 MiB together")
		}
		b.WriteString(command + remote.Quote(value) + "\n")
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !envName.MatchString(name) || strings.HasPrefix(name, "ob_") {
			return "", fmt.Errorf("%q cannot be the name of a variable", name)
		}
		if err := entry("the variable "+name, "ob_env "+name+" ", name, env[name]); err != nil {
			return "", err
		}
	}
	for i, arg := range l.Command {
		if err := entry(fmt.Sprintf("argument %d of the command", i), `set -- "$@" `, "-", arg); err != nil {
			return "", err
		}
	}
	if l.Setup != "" {
		if err := entry("setup", "ob_setup=", "-", l.Setup); err != nil {
			return "", err
		}
	}
	if l.Signal != "" {
		name, ok := SignalName(l.Signal)
		if !ok {
			return "", fmt.Errorf("a job cannot be signalled with %q", l.Signal)
		}
		fmt.Fprintf(&b, "ob_signal_name='%s %d'\n", name, signals[name])
	}
	if err := entry("the wrapper", "ob_wrapper=", "-", compact(libText)+compact(wrapperText)); err != nil {
		return "", err
	}
	b.WriteString("ob_whole=1")
	return b.String(), nil
}

// ownVars are the variables that tell the job where it is.
func (p *Pod) ownVars(l Launch) map[string]string {
	metrics := l.Metrics
	if metrics == "" {
		metrics = p.Metrics
	}
	vars := map[string]string{
		"OVERBRAINER_RUN_ID":           l.RunID,
		"OVERBRAINER_GPU_TYPE":         l.GPUType,
		"OVERBRAINER_METRICS":          path.Join(p.dir, metrics),
		"OVERBRAINER_SNAPSHOT_REQUEST": p.dir + "/snapshot.request",
		"OVERBRAINER_OUTPUT_DIR":       p.dir + "/output",
		// By this one its processes are known wherever they went.
		"OVERBRAINER_JOB": l.RunID,
	}
	if l.ResumeDir != "" {
		vars["OVERBRAINER_RESUME_DIR"] = path.Join(p.dir, l.ResumeDir)
	}
	return vars
}

// DefaultMetrics is the metrics file where a run names none.
const DefaultMetrics = "metrics.jsonl"

// reserved are the names in a run's directory that the protocol owns.
var reserved = []string{
	".claim", ".pod", "job.pid", "job.log", "exit_code", "exit_code.tmp",
	"cancelling", "cancelled", "snapshot.request", "snapshot.json",
}

// Upload brings files into the run's directory, verified there before they get
// their names. open gives a file's local content; progress, which may be nil, is
// told bytes. Names of the protocol's own files are refused. The error is an
// *EditedError where a file changed here meanwhile or is gone. The lease is held until then.
func (p *Pod) Upload(ctx context.Context, files []remote.File, open func(remote.File) (io.ReadSeekCloser, error), progress remote.Progress) error {
	for _, f := range files {
		top, _, _ := strings.Cut(f.Path, "/")
		if slices.Contains(reserved, top) {
			return fmt.Errorf("%s cannot be uploaded: the name is used on the pod", f.Path)
		}
	}
	here := opener(open).orEdited
	defer p.holdLease(ctx, nil)()
	err := p.conn.Push(ctx, remote.Push{
		Dir:      p.dir,
		Staging:  p.dir + "/.pod/upload",
		Files:    files,
		Open:     here,
		Progress: progress,
		Stall:    p.Stall,
	})
	return edited(files, here, err)
}
