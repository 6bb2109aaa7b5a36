package safetext

import (
	"bytes"
	"io"
	"strings"
)

// maxLine is how much of an unfinished line a Writer holds back.
const maxLine = 1 << 20

// Writer masks secrets in a stream, line by line. It remembers across lines
// that a private key block is open. An unfinished line is held back until it
// ends, until it exceeds 1 MiB, or until Flush.
type Writer struct {
	r     *Redactor
	w     io.Writer
	line  []byte
	inKey bool
}

// Writer returns a Writer that masks what passes to w.
func (r *Redactor) Writer(w io.Writer) *Writer { return &Writer{r: r, w: w} }

// Write takes all of p. An error is one of the underlying writer.
func (w *Writer) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		// A carriage return ends a line as well: progress bars know no other.
		end := bytes.IndexAny(p, "\r\n")
		if end < 0 {
			w.line = append(w.line, p...)
			if len(w.line) < maxLine {
				return n, nil
			}
			return n, w.Flush()
		}
		w.line = append(w.line, p[:end+1]...)
		p = p[end+1:]
		if err := w.Flush(); err != nil {
			return n - len(p), err
		}
	}
	return n, nil
}

// Flush passes on what is held back.
func (w *Writer) Flush() error {
	if len(w.line) == 0 {
		return nil
	}
	text := w.Line(string(w.line))
	w.line = w.line[:0]
	if text == "" {
		return nil
	}
	_, err := io.WriteString(w.w, text)
	return err
}

// Line masks one line (its end may be left out) in the stream's present state.
// Lines within a private key block come back empty.
func (w *Writer) Line(s string) string {
	if w.inKey {
		end := keyBlockEnd(s)
		if end < 0 {
			return ""
		}
		w.inKey = false
		if s = strings.TrimLeft(s[end:], "\r\n"); s == "" {
			return ""
		}
	}
	body := strings.TrimRight(s, "\r\n")
	ending := s[len(body):]
	if begin := lastOpenBlock(body); begin >= 0 {
		w.inKey = true
		return w.r.String(body[:begin]) + Mask + ending
	}
	return w.r.String(body) + ending
}

// lastOpenBlock finds a private key block that the line opens and does not
// close.
func lastOpenBlock(s string) int {
	for at := 0; ; {
		begin := keyBlockStart(s[at:])
		if begin < 0 {
			return -1
		}
		end := keyBlockEnd(s[at+begin:])
		if end < 0 {
			return at + begin
		}
		at += begin + end
	}
}
