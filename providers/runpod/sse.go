package runpod

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/overbrainer/overbrainer/providers"
)

// Bounds of the log stream: what is longer is cut and marked.
const (
	maxStreamLine = 1 << 20
	maxFrame      = 4 << 20
	maxCursor     = 200
	cutMark       = " [cut]"
)

// event is one frame of a log stream.
type event struct {
	cursor string // "" where the frame has none that is usable
	data   []byte
	cut    bool
}

// eventReader reads server-sent events. It knows the fields id and data;
// comments and other fields are ignored.
type eventReader struct{ r *bufio.Reader }

func newEventReader(r io.Reader) *eventReader {
	return &eventReader{r: bufio.NewReaderSize(r, 8<<10)}
}

// next reads one frame. A frame at the end of the stream counts without its
// blank line, unless the stream broke off in the middle of what it says: then
// it will come again, and its cursor must not be moved past.
func (e *eventReader) next() (event, error) {
	var ev event
	begun, hasData := false, false
	for {
		line, cut, err := e.line()
		if err != nil && len(line) == 0 {
			if begun && errors.Is(err, io.EOF) && (!hasData || json.Valid(ev.data)) {
				return ev, nil
			}
			return event{}, err
		}
		torn := err != nil
		if len(line) == 0 {
			if begun {
				return ev, nil
			}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "id":
			if begun = true; !torn && validCursor(string(value)) {
				ev.cursor = string(value)
			}
		case "data":
			begun = true
			ev.add(value, hasData, cut)
			hasData = true
		}
	}
}

// add appends one data line.
func (ev *event) add(value []byte, more, cut bool) {
	if more {
		ev.data = append(ev.data, '\n')
	}
	if room := maxFrame - len(ev.data); len(value) > room {
		value, cut = value[:max(room, 0)], true
	}
	ev.data = append(ev.data, value...)
	ev.cut = ev.cut || cut
}

// line reads one line without its end, dropping what exceeds the limit.
func (e *eventReader) line() (line []byte, cut bool, err error) {
	for {
		part, err := e.r.ReadSlice('\n')
		ended := err == nil
		if ended {
			part = part[:len(part)-1]
		}
		if room := maxStreamLine - len(line); len(part) > room {
			part, cut = part[:room], true
		}
		line = append(line, part...)
		switch {
		case ended:
			return bytes.TrimSuffix(line, []byte("\r")), cut, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, cut, err
		}
	}
}

// validCursor keeps what cannot be sent back in a header out.
func validCursor(s string) bool {
	if s == "" || len(s) > maxCursor {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

var timePattern = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$`)

func validTime(s string) bool { return len(s) >= 20 && len(s) <= 40 && timePattern.MatchString(s) }

// line reads what an event says. Data that is not of the API's form is a line
// of the source raw. Without anything to say, only the cursor is set.
func (ev event) line() providers.LogLine {
	l := providers.LogLine{Cursor: ev.cursor}
	if len(ev.data) == 0 {
		return l
	}
	var payload struct {
		TS     string  `json:"ts"`
		Source string  `json:"source"`
		Line   *string `json:"line"`
	}
	l.Source, l.Text = providers.LogRaw, string(ev.data)
	if json.Unmarshal(ev.data, &payload) == nil && payload.Line != nil {
		l.Text = *payload.Line
		if source := providers.LogSource(payload.Source); source == providers.LogContainer || source == providers.LogSystem {
			l.Source = source
		}
		if validTime(payload.TS) {
			l.Time = payload.TS
		}
	}
	l.Text = strings.ToValidUTF8(strings.TrimRight(l.Text, "\r\n"), "\ufffd")
	if ev.cut {
		l.Text += cutMark
	}
	return l
}
