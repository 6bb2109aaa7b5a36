package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/state"
)

// How often a log that is followed is looked at, how long a lost connection is
// tried again, and how much of a log's end is read at first for -tail.
const (
	logPoll     = 500 * time.Millisecond
	logWait     = time.Second
	logWaitMax  = 30 * time.Second
	logPatience = 10 * time.Minute
	logCall     = 30 * time.Second
	logTail     = 64 << 10
	logLine     = 1 << 20 // of a line that is not whole, before it is shown
)

// liveLog shows the log on the pod.
func (a *app) liveLog(ctx context.Context, in inputs, address string, run *state.Run, view logsView) error {
	p, err := a.openLoosely(ctx, in, reading{ending: true, unread: true})
	if err != nil {
		return err
	}
	defer p.close()
	local := filepath.Join(run.Dir, "job.log")
	pod := a.finder(p.st, address, run, func(context.Context) (*project, error) { return p, nil })
	pod.dial = p.dial // which knows the metrics file
	f := &logFollower{
		view: view, show: a.printLines, say: pod.say, wait: sleepFor,
		dial: func(ctx context.Context) (apply.Machine, error) {
			m, err := pod.reach(ctx)
			if err == nil {
				return m, nil
			}
			var told *problem
			if !errors.As(err, &told) {
				told = &problem{code: "connect", address: address, id: run.ID, message: "the pod of " + address + " cannot be reached: " + err.Error(), hint: a.whoHas(run)}
			}
			if fileExists(a.path(filepath.FromSlash(local))) {
				told.hint = strings.TrimPrefix(told.hint+"; what was followed so far is in "+local, "; ")
			}
			return nil, told
		},
		rest: func(from logPlace) (io.ReadCloser, bool) {
			at := pod.latest(ctx).run
			if !at.Phase.Ended() || !at.Retrieved && at.Pod != nil && !at.Pod.Gone() {
				return nil, false
			}
			log, err := os.Open(a.path(filepath.FromSlash(local)))
			if err != nil {
				return nil, false
			}
			if err := from.seek(log, a.redactor.String); err != nil {
				log.Close()
				return nil, false
			}
			return log, at.Retrieved && apply.Elsewhere(a.dir, at) == ""
		},
	}
	defer f.close()
	return f.run(ctx)
}

// logFollower shows a job's log as it grows on its pod, over as many connections
// as that takes.
type logFollower struct {
	view logsView
	dial func(context.Context) (apply.Machine, error)
	// rest gives the log from a place on, from here, once the run has ended without
	// us, nil before; it is whole where it was fetched, not only followed.
	rest func(from logPlace) (io.ReadCloser, bool)
	show func(io.Reader) error
	say  func(string)
	wait func(context.Context, time.Duration) error

	m     apply.Machine
	began bool
	end   int64 // where the log ended when it was asked for
	from  apply.Offsets
	shown logPlace
	held  []byte // the beginning of a line that is not whole yet
}

func (f *logFollower) run(ctx context.Context) error {
	backoff, waited := logWait, time.Duration(0)
	for {
		done, err := f.look(ctx)
		switch {
		case err == nil && done:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			backoff, waited = logWait, 0
			if err := f.wait(ctx, logPoll); err != nil {
				return err
			}
			continue
		case !f.view.follow || !f.began && f.m == nil || waited >= logPatience:
			return err
		}
		f.close()
		if over, err := f.over(err); over {
			return err
		}
		if waited == 0 {
			f.say("the connection to the pod is lost, reconnecting: " + err.Error())
		}
		if err := f.wait(ctx, backoff); err != nil {
			return err
		}
		waited += backoff
		backoff = min(2*backoff, logWaitMax)
	}
}

// over shows the rest of the log from here where the run has ended, and reports
// whether that was all. Where it may lack something, the error says how the pod ended.
func (f *logFollower) over(cut error) (bool, error) {
	log, whole := f.rest(f.shown)
	if log != nil {
		defer log.Close()
	}
	switch {
	case !whole && !podOver(cut):
		return false, nil
	case log == nil:
		return true, cut
	}
	if err := f.show(log); err != nil || whole {
		return true, err
	}
	return true, cut
}

// look shows what is new; done is true once nothing more will come.
func (f *logFollower) look(ctx context.Context) (done bool, err error) {
	if f.m == nil {
		if f.m, err = f.dial(ctx); err != nil {
			return false, err
		}
	}
	if !f.began && f.view.tail >= 0 {
		poll, err := f.skip(ctx)
		if err != nil {
			return false, err
		}
		f.began = true
		if !f.view.follow {
			err := f.show(bytes.NewReader(f.held))
			f.tell(poll.State)
			return true, err
		}
	}
	for {
		poll, err := f.poll(ctx)
		if err != nil {
			return false, err
		}
		if !f.began || poll.LogAnew {
			f.began, f.end = true, poll.LogSize
		}
		done = !poll.More && poll.State != apply.JobRunning
		if !f.view.follow && f.from.Log >= f.end { // it may grow faster than it is read
			done = true
			f.held = f.held[:max(0, int64(len(f.held))-f.from.Log+f.end)]
		}
		// A line is shown when it is whole.
		end := bytes.LastIndexByte(f.held, '\n') + 1
		if done || end == 0 && len(f.held) >= logLine {
			end = len(f.held)
		}
		if err := f.show(bytes.NewReader(f.held[:end])); err != nil {
			return false, err
		}
		f.shown.pass(f.held[:end])
		f.held = append([]byte(nil), f.held[end:]...)
		if done || !poll.More {
			f.tell(poll.State)
			return done, nil
		}
	}
}

// tell says what is odd about a job.
func (f *logFollower) tell(state apply.JobState) {
	switch state {
	case apply.JobLost:
		f.say("the job is not there any more and left no exit code, as when the pod's container is started again")
	case apply.JobNone:
		f.say("the pod knows of no job, as when its container is made anew with an empty disk")
	}
}

// poll reads the next part of the log.
func (f *logFollower) poll(ctx context.Context) (apply.Poll, error) {
	ctx, cancel := context.WithTimeout(ctx, logCall)
	defer cancel()
	poll, err := f.m.Poll(ctx, f.from, 0)
	if err != nil {
		return poll, err
	}
	if poll.LogAnew {
		f.held, f.shown = nil, logPlace{}
	}
	f.from = poll.Next
	f.held = append(f.held, poll.Log...)
	return poll, nil
}

// skip leaves out all but the last lines, reading as much of the log's end as
// holds them. That is where it ended as this began: a log that pours would never be
// read to its end. It gives the last look.
func (f *logFollower) skip(ctx context.Context) (poll apply.Poll, err error) {
	for size := int64(max(logTail, 200*f.view.tail)); ; size *= 8 {
		f.from, f.held = apply.Offsets{Log: -size}, nil
		for more := true; more && int64(len(f.held)) < size; more = poll.More {
			if poll, err = f.poll(ctx); err != nil {
				return poll, err
			}
		}
		whole := f.from.Log <= int64(len(f.held))
		if whole || bytes.Count(f.held, []byte{'\n'}) > f.view.tail {
			f.shown = logPlace{at: f.from.Log - int64(len(f.held)), lines: -1}
			if whole {
				f.shown = logPlace{}
			}
			last := lastLines(f.held, f.view.tail)
			f.shown.pass(f.held[:len(f.held)-len(last)])
			f.held = append([]byte(nil), last...)
			return poll, nil
		}
	}
}

func (f *logFollower) close() {
	if f.m != nil {
		_ = f.m.Close()
		f.m = nil
	}
}
