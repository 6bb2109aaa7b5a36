package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/internal/safetext"
	"github.com/overbrainer/overbrainer/internal/ui"
)

// app is one execution of the program: its surroundings, read once.
type app struct {
	args    []string
	environ func(string) string
	dir     string // the project, absolute
	exe     string // this binary
	now     func() time.Time

	in       *os.File
	out, err io.Writer
	redactor *safetext.Redactor
	known    *secrets
	json     bool // errors as JSON
	noColor  bool
	stop     *signals
	logs     *logging
	waits    sync.Once // told that a provider is waited for
	// events, while runs are worked on, is where what happens is told.
	events atomic.Pointer[func(apply.Event)]
	lost   atomic.Pointer[error] // why something of the answer could not be written
}

// newApp reads the surroundings. Where that fails, what it gives can still tell so.
func newApp(args []string) (*app, error) {
	a := &app{environ: os.Getenv, now: time.Now, in: os.Stdin, redactor: safetext.NewRedactor(), known: &secrets{}}
	a.out = &masked{app: a, w: os.Stdout, plain: true}
	a.err = &masked{app: a, w: os.Stderr}
	a.hide(a.environ("RUNPOD_API_KEY"), a.environ("OVERBRAINER_KEY"))
	a.noColor = a.environ("NO_COLOR") != ""
	a.json = wantsJSON(args)

	line, completing := a.completing()
	if completing { // the shell's line has it
		args = line.words
	}
	dir, rest, err := changeDir(args)
	if err != nil {
		return a, err
	}
	if a.dir, err = filepath.Abs(dir); err != nil {
		return a, fmt.Errorf("there is no working directory: %w", err)
	}
	if info, err := os.Stat(a.dir); err != nil {
		return a, fmt.Errorf("-chdir=%s: %w", dir, reason(err))
	} else if !info.IsDir() {
		return a, fmt.Errorf("-chdir=%s is not a directory", dir)
	}
	if a.exe, err = os.Executable(); err != nil {
		return a, fmt.Errorf("the path of this program cannot be told: %w", err)
	}
	a.args = rest
	if !completing {
		if a.args, err = withDefaults(rest, a.environ); err != nil {
			return a, err
		}
	}
	a.json = wantsJSON(a.args)
	a.stop = watchSignals()
	if a.logs, err = a.openLog(len(a.args) > 0 && a.args[0] == "provider"); err != nil {
		return a, err
	}
	return a, nil
}

func (a *app) close() { a.logs.close() }

// run executes one command: flags, arguments, work, report.
func (a *app) run(c *command, args []string) int {
	f := c.flagSet()
	rest, err := f.parse(args)
	if err == nil {
		err = c.checkArgs(rest)
	}
	if err != nil {
		var u *usageError
		if errors.As(err, &u) && u.hint == "" {
			u.hint = "overbrainer " + c.name + " -help tells what it takes"
		}
		return a.fail(err)
	}
	if f.given("no-color") {
		a.noColor = true
	}
	ctx, cancel := a.stop.context(context.Background())
	defer cancel()
	began := time.Now()
	a.logs.Info("start", "command", c.name, "version", version, "platform", runtime.GOOS+"/"+runtime.GOARCH, "dir", a.dir)
	err = a.told(c.run(ctx, rest))
	// An error stands alone at the end of what a person or a program reads.
	a.logs.done(slog.LevelInfo, "end", began, err, "command", c.name, "exit", exitCode(err))
	return a.fail(err)
}

// told makes an error of an answer that could not be written whole, where the
// command knows of no worse.
func (a *app) told(err error) error {
	lost := a.lost.Load()
	var s status
	if lost == nil || err != nil && !errors.As(err, &s) && !errors.Is(err, context.Canceled) {
		return err
	}
	return *lost
}

func (c *command) checkArgs(args []string) error {
	switch {
	case len(args) < c.least:
		return &usageError{text: "an argument is missing: overbrainer " + strings.TrimSpace(c.name+" "+c.usage)}
	case c.most >= 0 && len(args) > c.most:
		return &usageError{text: fmt.Sprintf("one argument too many: %q", args[c.most])}
	}
	return nil
}

// look is how to write to a file: in colour only on a terminal.
func (a *app) look(f *os.File) ui.Look {
	l := ui.Look{Color: !a.noColor && isTerminal(f) && a.environ("TERM") != "dumb"}
	l.Width, l.Height = terminalSize(f)
	return l
}

func (a *app) outLook() ui.Look { return a.look(os.Stdout) }
func (a *app) errLook() ui.Look { return a.look(os.Stderr) }

// tellWaiting says once, to people, that a command waits for a provider that has
// not answered for a while. done ends that.
func (a *app) tellWaiting(provider string) (done func()) {
	if a.json {
		return func() {}
	}
	t := time.AfterFunc(muteLimit, func() {
		a.waits.Do(func() { a.say("Waiting for an answer of provider " + provider + " ...") })
	})
	return func() { t.Stop() }
}

// tellWait says that something is waited for, or is back: the server of the state,
// the API of a provider.
func (a *app) tellWait(text string) {
	if emit := a.events.Load(); emit != nil {
		(*emit)(apply.Event{Time: a.now(), Kind: apply.EventWaiting, Message: text})
	} else if !a.json {
		a.say(text)
	}
}

// say tells a person something while a command works, broken at words on a terminal.
func (a *app) say(text string) { _ = ui.Say(a.err, text, a.errLook()) }

// muteLimit is how long a command may say nothing while it waits.
const muteLimit = 4 * time.Second

// masked hides known secrets in what is written. Text for people is also
// searched for what looks like a secret; JSON is not, since masking a digest
// or a public key would change what it says.
type masked struct {
	app   *app
	w     io.Writer
	plain bool // the standard output
}

func (m *masked) Write(p []byte) (int, error) {
	text := string(p)
	if m.plain && m.app.json {
		text = m.app.known.mask(text)
	} else {
		text = m.app.redactor.String(text)
	}
	if _, err := io.WriteString(m.w, text); err != nil {
		if m.plain {
			m.app.lost.CompareAndSwap(nil, &err)
		}
		// A reader that went away is told nothing, and is no reason to leave a
		// pod behind: the command goes on as if interrupted once.
		m.app.stop.brokenPipe()
		return 0, err
	}
	return len(p), nil
}

// reason drops what os errors repeat.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// path takes a name on the command line relative to the project.
func (a *app) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(a.dir, name)
}
