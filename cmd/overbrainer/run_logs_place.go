package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// logPlace is how far a log was shown on its pod. The same log as it is kept here is
// masked: its lines are as many, and may be longer or shorter.
type logPlace struct {
	at    int64  // bytes
	lines int64  // whole lines, from the log's beginning on; -1: that was not read
	part  int64  // bytes of the line after them
	last  []byte // what stands before it
}

// lastRead is how much is kept of what stands before a place, by which it is found.
const lastRead = 4 << 10

// pass goes on behind a text.
func (p *logPlace) pass(text []byte) {
	p.at += int64(len(text))
	n := bytes.Count(text, []byte{'\n'})
	if p.lines >= 0 {
		p.lines += int64(n)
	}
	if n > 0 {
		p.part = 0
	}
	p.part += int64(len(text) - bytes.LastIndexByte(text, '\n') - 1)
	p.last = append(p.last, text[max(0, len(text)-lastRead):]...)
	p.last = append([]byte(nil), p.last[max(0, len(p.last)-lastRead):]...)
}

// seek goes to the place in the log that is kept here: behind as many lines or,
// where those are not known or it is within one, behind the same text, and with
// several of it where that is nearest to what the pod's offset says.
func (p *logPlace) seek(log io.ReadSeeker, mask func(string) string) error {
	at := p.at
	if p.lines >= 0 {
		var err error
		if at, err = behindLines(log, p.lines); err != nil {
			return err
		}
		at += p.part
	}
	if p.lines < 0 || p.part > 0 {
		text := string(p.last) // its first line is seldom whole, or its first word
		for _, between := range []byte("\n ") {
			if i := strings.IndexByte(text, between); i >= 0 && i < len(text)-1 {
				text = text[i:]
				break
			}
		}
		lines := strings.Split(text, "\n")
		for i := range lines { // as they were masked here
			lines[i] = mask(lines[i])
		}
		if _, err := log.Seek(0, io.SeekStart); err != nil {
			return err
		}
		near, err := behindText(log, []byte(strings.Join(lines, "\n")), at)
		if err != nil {
			return err
		}
		if near >= 0 {
			at = near
		}
	}
	_, err := log.Seek(at, io.SeekStart)
	return err
}

// behindLines gives the offset behind so many lines.
func behindLines(log io.Reader, lines int64) (at int64, err error) {
	in := bufio.NewReaderSize(log, 64<<10)
	for lines > 0 {
		text, err := in.ReadSlice('\n')
		at += int64(len(text))
		switch {
		case err == nil:
			lines--
		case errors.Is(err, io.EOF):
			return at, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return at, err
		}
	}
	return at, nil
}

// behindText gives the offset behind a text that is nearest to one; -1: there is none.
func behindText(log io.Reader, text []byte, to int64) (nearest int64, err error) {
	nearest = -1
	if len(text) == 0 {
		return nearest, nil
	}
	in := bufio.NewReaderSize(log, 1<<20)
	for at := int64(0); ; {
		part, err := in.Peek(in.Size())
		if err != nil && !errors.Is(err, io.EOF) {
			return nearest, err
		}
		for i := bytes.Index(part, text); i >= 0; {
			behind := at + int64(i+len(text))
			if nearest < 0 || max(behind-to, to-behind) < max(nearest-to, to-nearest) {
				nearest = behind
			}
			next := bytes.Index(part[i+1:], text)
			if next < 0 {
				break
			}
			i += 1 + next
		}
		if err != nil {
			return nearest, nil
		}
		n, _ := in.Discard(len(part) - len(text) + 1)
		at += int64(n)
	}
}
