package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/internal/safetext"
)

// logMachine is a pod whose log grows by a part with each look; "cut" is a
// connection that ends.
type logMachine struct {
	apply.Machine
	pod *logPod
}

type logPod struct {
	log   string
	parts []string
	reads int64 // bytes that were asked for
	dials int
}

func (m logMachine) Close() error { return nil }

func (m logMachine) Poll(_ context.Context, from apply.Offsets, _ int64) (apply.Poll, error) {
	p := m.pod
	state := apply.JobExited
	if len(p.parts) > 0 {
		part := p.parts[0]
		p.parts = p.parts[1:]
		if part == "cut" {
			return apply.Poll{}, errors.New("connection ended: EOF")
		}
		p.log += part
		state = apply.JobRunning
	}
	at := from.Log
	if at < 0 {
		at = max(0, int64(len(p.log))+at)
	}
	p.reads += int64(len(p.log)) - at
	return apply.Poll{State: state, Log: []byte(p.log[at:]), Next: apply.Offsets{Log: int64(len(p.log))}, LogSize: int64(len(p.log))}, nil
}

// TestFollowedLog: a log that is followed comes whole and once, over as many
// connections as it takes, and its end from here where the pod is gone.
func TestFollowedLog(t *testing.T) {
	long := strings.Repeat("0123456789abcde\n", 1<<20)
	var lines strings.Builder
	for i := range 1 << 17 {
		fmt.Fprintf(&lines, "line %d of many\n", i)
	}
	numbered := lines.String()
	words := strings.ReplaceAll(numbered, "\n", " hush-hush ")
	tests := []struct {
		name   string
		view   logsView
		before string
		parts  []string
		gone   bool // the run ends with the first cut
		lost   bool // and nobody fetched its log
		want   string
		dials  int
		fails  bool
		most   int64 // bytes read; 0: any
	}{
		{name: "to its end", view: logsView{follow: true, tail: -1}, parts: []string{"a\nb", "c\n", "d"}, want: "a\nbc\nd", dials: 1},
		{name: "cut twice", view: logsView{follow: true, tail: -1}, parts: []string{"a\nb", "cut", "c\n", "cut", "cut", "d\n"}, want: "a\nbc\nd\n", dials: 4},
		{name: "cut at once", view: logsView{follow: true, tail: -1}, parts: []string{"cut", "a\n"}, want: "a\n", dials: 2},
		{name: "cut as the run ends", view: logsView{follow: true, tail: -1}, parts: []string{"a\nb", "cut"}, gone: true, want: "a\nbc\nthe end\n", dials: 1},
		{name: "cut as the run ends, masked here", view: logsView{follow: true, tail: -1}, parts: []string{"key hush-hush\n\na\nb", "cut"}, gone: true, want: "key hush-hush\n\na\nbc\nthe end\n", dials: 1},
		{name: "alike lines, masked here", view: logsView{follow: true, tail: -1}, parts: []string{strings.Repeat("hush-hush\n", 9), "cut"}, gone: true, want: strings.Repeat("hush-hush\n", 9) + "c\nthe end\n", dials: 1},
		{name: "within a long line, masked here", view: logsView{follow: true, tail: -1}, parts: []string{"hush-hush\n", words, "cut"}, gone: true, want: "hush-hush\n" + words + "c\nthe end\n", dials: 1},
		{name: "the last lines, masked here", view: logsView{follow: true, tail: 1}, before: "hush-hush\nb\n", parts: []string{"", "d\n", "cut"}, gone: true, want: "b\nd\nc\nthe end\n", dials: 1},
		{name: "the last lines of a long log, masked here", view: logsView{follow: true, tail: 1}, before: "hush-hush\n" + numbered + "hush-hush\n", parts: []string{"", "new", "cut"}, gone: true, want: "hush-hush\nnewc\nthe end\n", dials: 1, most: 1 << 20},
		{name: "none of a long log, masked here", view: logsView{follow: true, tail: 0}, before: "hush-hush\n" + numbered, parts: []string{"", "cut"}, gone: true, want: "c\nthe end\n", dials: 1, most: 1 << 20},
		{name: "the last lines of a long log that kept its lengths", view: logsView{follow: true, tail: 1}, before: long, parts: []string{"", "cut"}, gone: true, want: "0123456789abcde\nc\nthe end\n", dials: 1},
		{name: "cut as the run is lost", view: logsView{follow: true, tail: -1}, parts: []string{"a\nb", "cut"}, gone: true, lost: true, want: "a\nbc\nthe end\n", fails: true, dials: 2},
		{name: "not followed, cut", view: logsView{tail: -1}, parts: []string{"cut"}, fails: true, dials: 1},
		{name: "the last lines", view: logsView{tail: 2}, before: "a\nb\nc\n", want: "b\nc\n", dials: 1},
		{name: "none of them", view: logsView{tail: 0, follow: true}, before: "a\n", parts: []string{"", "b\n"}, want: "b\n", dials: 1},
		{name: "the last lines of a long log", view: logsView{tail: 2, follow: true}, before: long, parts: []string{"", "cut", "new\n"}, want: "0123456789abcde\n0123456789abcde\nnew\n", dials: 2, most: 1 << 20},
		{name: "long lines", view: logsView{tail: 1}, before: strings.Repeat("x", 1<<20) + "\n" + strings.Repeat("y", 1<<20) + "\n", want: strings.Repeat("y", 1<<20) + "\n", dials: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pod := &logPod{log: tt.before, parts: tt.parts}
			var got strings.Builder
			f := &logFollower{
				view: tt.view,
				dial: func(context.Context) (apply.Machine, error) {
					if pod.dials++; tt.lost && pod.dials > 1 {
						return nil, &problem{code: podOverCode}
					}
					return logMachine{pod: pod}, nil
				},
				rest: func(from logPlace) (io.ReadCloser, bool) {
					mask := safetext.NewRedactor("hush-hush").String
					kept := strings.NewReader(mask(pod.log + "c\nthe end\n"))
					if err := from.seek(kept, mask); err != nil {
						t.Error(err)
					}
					if !tt.gone {
						return nil, false
					}
					return io.NopCloser(kept), !tt.lost
				},
				show: func(r io.Reader) error { _, err := io.Copy(&got, r); return err },
				say:  func(string) {},
				wait: func(context.Context, time.Duration) error { return nil },
			}
			err := f.run(t.Context())
			if (err != nil) != tt.fails {
				t.Fatal(err)
			}
			if got.String() != tt.want || pod.dials != tt.dials {
				t.Errorf("%.200q by %d connections", got.String(), pod.dials)
			}
			if tt.most > 0 && pod.reads > tt.most {
				t.Errorf("%d bytes were read", pod.reads)
			}
		})
	}
}

// TestFollowedLogGivesUp: a pod that stays away is told of once, and the reason
// at the end.
func TestFollowedLogGivesUp(t *testing.T) {
	pod := &logPod{parts: []string{"a\n"}}
	said, waited := 0, time.Duration(0)
	f := &logFollower{
		view: logsView{follow: true, tail: -1},
		dial: func(context.Context) (apply.Machine, error) {
			if pod.dials++; pod.dials > 1 {
				return nil, fmt.Errorf("no route")
			}
			return logMachine{pod: pod}, nil
		},
		rest: func(logPlace) (io.ReadCloser, bool) { return nil, false },
		show: func(io.Reader) error { pod.parts = []string{"cut"}; return nil },
		say:  func(string) { said++ },
		wait: func(_ context.Context, d time.Duration) error { waited += d; return nil },
	}
	if err := f.run(t.Context()); err == nil || !strings.Contains(err.Error(), "no route") || said != 1 || waited < logPatience {
		t.Errorf("%v, said %d times in %s", err, said, waited)
	}
}

// pouring is a pod whose log has ten new lines with each look, and a limit of five
// to what a look brings: it is never read to its end.
type pouring struct {
	apply.Machine
	size, looks int64
	ends        int64 // the job, after so many looks
}

func (p *pouring) Close() error { return nil }

func (p *pouring) Poll(_ context.Context, from apply.Offsets, _ int64) (apply.Poll, error) {
	const line, limit = "0123456789abcde\n", 64 << 10
	state := apply.JobRunning
	if p.looks++; p.looks < p.ends {
		p.size += 2 * limit
	} else {
		state = apply.JobExited
	}
	at := from.Log
	if at < 0 {
		at = max(0, p.size+at)
	}
	next := min(p.size, at+limit)
	return apply.Poll{
		State: state, Log: []byte(strings.Repeat(line, int(next-at)/len(line))), Next: apply.Offsets{Log: next}, LogSize: p.size, More: next < p.size,
	}, nil
}

// TestPouringLog: the last lines of a log that grows faster than it is read are
// those of when they were asked for, and all that comes later follows.
func TestPouringLog(t *testing.T) {
	for _, follow := range []bool{false, true} {
		pod := &pouring{size: 1 << 20, ends: 50}
		shown, largest := int64(0), int64(0)
		f := &logFollower{
			view: logsView{follow: follow, tail: 3},
			dial: func(context.Context) (apply.Machine, error) { return pod, nil },
			show: func(r io.Reader) error {
				n, err := io.Copy(io.Discard, r)
				shown, largest = shown+n, max(largest, n)
				return err
			},
			wait: func(context.Context, time.Duration) error { return nil },
		}
		if err := f.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		switch lines := shown / 16; {
		case !follow && (lines != 3 || pod.looks > 2):
			t.Errorf("%d lines after %d looks", lines, pod.looks)
		case follow && shown != pod.size-(1<<20)-2*(64<<10)+3*16:
			t.Errorf("%d bytes of %d", shown, pod.size)
		case largest > 128<<10:
			t.Errorf("%d bytes were held", largest)
		}
	}
}

// TestPouringLogEndsWhereItWas: what is not followed ends where the log ended when it
// was asked for, also where it is never read to its end.
func TestPouringLogEndsWhereItWas(t *testing.T) {
	const first, each = 1 << 20, 128 << 10 // each look finds it longer
	pod := &pouring{size: first, ends: 100}
	shown := int64(0)
	f := &logFollower{
		view: logsView{tail: -1},
		dial: func(context.Context) (apply.Machine, error) { return pod, nil },
		show: func(r io.Reader) error { n, err := io.Copy(io.Discard, r); shown += n; return err },
		say:  func(string) {},
	}
	if err := f.run(t.Context()); err != nil || shown != first+each || pod.looks >= pod.ends {
		t.Errorf("%v, %d bytes after %d looks", err, shown, pod.looks)
	}
	// It ends within a line, and goes on.
	growing := &logPod{log: "a\nb", parts: []string{"", "c\nd\n"}}
	var got strings.Builder
	f = &logFollower{
		view: logsView{tail: -1},
		dial: func(context.Context) (apply.Machine, error) { return inPieces{logMachine{pod: growing}}, nil },
		show: func(r io.Reader) error { _, err := io.Copy(&got, r); return err },
		say:  func(string) {},
	}
	if err := f.run(t.Context()); err != nil || got.String() != "a\nb" {
		t.Errorf("%v, %q", err, got.String())
	}
}

// inPieces brings one byte of the first look.
type inPieces struct{ logMachine }

func (m inPieces) Poll(ctx context.Context, from apply.Offsets, most int64) (apply.Poll, error) {
	p, err := m.logMachine.Poll(ctx, from, most)
	if from.Log == 0 {
		p.Log, p.Next.Log, p.More = p.Log[:1], 1, true
	}
	return p, err
}

// TestLongLineIsShown: a line that does not end is not held for ever.
func TestLongLineIsShown(t *testing.T) {
	pod := &logPod{parts: []string{strings.Repeat("x", logLine), "y", "\nz"}}
	var shown []int
	f := &logFollower{
		view: logsView{follow: true, tail: -1},
		dial: func(context.Context) (apply.Machine, error) { return logMachine{pod: pod}, nil },
		show: func(r io.Reader) error { b, err := io.ReadAll(r); shown = append(shown, len(b)); return err },
		wait: func(context.Context, time.Duration) error { return nil },
	}
	if err := f.run(t.Context()); err != nil || fmt.Sprint(shown) != fmt.Sprint([]int{logLine, 0, 2, 1}) {
		t.Error(err, shown)
	}
}
