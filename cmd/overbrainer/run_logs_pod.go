package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/internal/safetext"
	"github.com/overbrainer/overbrainer/state"
)

// podLook is after how long without a line the provider is asked whether the pod is
// still there.
const podLook = 10 * time.Second

// podLog prints what was kept of the pod's own log.
func (a *app) podLog(ctx context.Context, in inputs, st *state.State, address string, run *state.Run, view logsView) error {
	f, err := os.Open(a.podLogOf(run))
	if errors.Is(err, os.ErrNotExist) {
		return &problem{code: "no_log", id: run.ID, message: "nothing was kept here of the pod's log of run " + run.ID, hint: a.whoHas(run)}
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var opened *project
	defer func() {
		if opened != nil {
			opened.close()
		}
	}()
	end := &podLogEnd{at: a.now(), pod: a.finder(st, address, run, func(ctx context.Context) (*project, error) {
		if opened != nil {
			return opened, nil
		}
		p, err := a.openLoosely(ctx, in, reading{ending: true, unread: true})
		opened = p
		return p, err
	})}
	ended, over := run.Phase.Ended(), error(nil)
	var lines []string
	read := bufio.NewReader(f)
	for {
		text, err := read.ReadString('\n')
		var l struct{ TS, Source, Line string }
		if json.Unmarshal([]byte(text), &l) == nil && (view.source == "" || l.Source == view.source) {
			lines = append(lines, fmt.Sprintf("%s %s %s", l.TS, shortSource(l.Source), a.redactor.String(safetext.OneLine(l.Line))))
		}
		if err == nil {
			end.at = a.now()
			continue
		}
		if view.tail >= 0 && len(lines) > view.tail {
			lines = slices.Clone(lines[len(lines)-view.tail:])
		}
		if len(lines) > 0 {
			fmt.Fprintln(a.out, strings.Join(lines, "\n"))
		}
		lines, view.tail = nil, -1
		if !view.follow || ended {
			return over
		}
		// What was written until the end is shown by one more round.
		ended, over = end.look(ctx)
		if err := sleepFor(ctx, logPoll); err != nil {
			return err
		}
	}
}

// podLogEnd finds out that no more comes of a pod's log, which is read here from what
// is kept of it.
type podLogEnd struct {
	pod  *podFinder
	at   time.Time // of the last line, or of the last look at the pod
	told bool      // that the provider cannot be asked
}

// look reports whether the log has ended. The error is that of a pod that is over
// before its results were fetched, as of one whose job's log is followed.
func (e *podLogEnd) look(ctx context.Context) (ended bool, err error) {
	known := e.pod.latest(ctx)
	e.pod.run = known.run
	pod := known.run.Pod
	whole := !known.left && known.run.Phase.Ended() && (known.run.Retrieved || pod == nil)
	switch {
	case !known.left && known.run.Phase.Ended() && (pod == nil || pod.Gone()):
		if whole {
			return true, nil
		}
		return true, e.pod.over(ctx, "is gone")
	case pod == nil || !known.left && (pod.Gone() || e.pod.now().Sub(e.at) < podLook):
		return known.left, nil
	}
	_, err = e.pod.whereNow(ctx)
	e.at = e.pod.now()
	switch {
	case podOver(err) && whole: // it was deleted a moment ago
		return true, nil
	case podOver(err):
		return true, err
	case known.left:
		return true, e.pod.over(ctx, "is not followed any more")
	case err != nil && !e.told && ctx.Err() == nil:
		e.told = true
		e.pod.say(err.Error())
	}
	return false, nil
}

func shortSource(s string) string {
	switch s {
	case "container":
		return "ctr"
	case "system":
		return "sys"
	case "overbrainer":
		return "obr"
	}
	return "raw"
}
