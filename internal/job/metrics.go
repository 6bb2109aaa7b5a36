package job

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
)

// Line is one line of a metrics file: a JSON object in which numbers are
// values. The keys step, max_steps (or total_steps) and epoch mean what they
// say; type or event names the kind of line.
type Line struct {
	Kind string // "" where the line does not say
	// Step and MaxSteps are -1 where the line has none.
	Step, MaxSteps int64
	Time           float64            // Unix seconds, 0: none
	Values         map[string]float64 // every number of the line that can be shown
	// NotFinite names the values that are NaN or infinite, as a diverging
	// training writes them.
	NotFinite []string
}

// maxLine is how long a line may be, in bytes; longer ones are skipped.
const maxLine = 1 << 20

// ParseMetrics reads lines and hands the good ones to each. Lines that are no
// JSON object are counted in skipped, empty ones ignored.
func ParseMetrics(r io.Reader, each func(Line)) (skipped int, err error) {
	br := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	tooLong := false
	for {
		part, err := br.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			tooLong = true
		} else {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return skipped, err
		}
		if text := bytes.TrimSpace(line); tooLong {
			skipped++
		} else if len(text) > 0 {
			if parsed, ok := parseLine(text); ok {
				each(parsed)
			} else {
				skipped++
			}
		}
		line, tooLong = line[:0], false
		if err != nil {
			return skipped, nil
		}
	}
}

func parseLine(text []byte) (Line, bool) {
	var raw map[string]json.RawMessage
	if json.Unmarshal(text, &raw) != nil {
		if json.Unmarshal(quoteNotFinite(text), &raw) != nil {
			return Line{}, false
		}
	}
	line := Line{Step: -1, MaxSteps: -1, Values: map[string]float64{}}
	for key, value := range raw {
		var number float64
		var word string
		switch {
		case json.Unmarshal(value, &number) == nil && string(value) != "null":
			if math.IsNaN(number) || math.IsInf(number, 0) {
				line.NotFinite = append(line.NotFinite, key)
				continue
			}
			line.Values[key] = number
			line.known(key, number)
		case json.Unmarshal(value, &word) == nil:
			switch {
			case word == notFinite:
				line.NotFinite = append(line.NotFinite, key)
			case key == "type" || (key == "event" && line.Kind == ""):
				line.Kind = word
			}
		}
	}
	return line, true
}

func (l *Line) known(key string, number float64) {
	whole := number >= 0 && number <= 1<<53
	switch key {
	case "step":
		if whole {
			l.Step = int64(number)
		}
	case "max_steps", "total_steps":
		if whole {
			l.MaxSteps = int64(number)
		}
	case "time":
		l.Time = number
	}
}

// notFinite stands in for what JSON has no word for.
const notFinite = "\x7fnot finite"

// quoteNotFinite replaces NaN, Infinity and -Infinity, which Python writes and
// JSON does not know, outside strings.
func quoteNotFinite(text []byte) []byte {
	var b bytes.Buffer
	inString := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if inString {
			b.WriteByte(c)
			if c == '\\' && i+1 < len(text) {
				i++
				b.WriteByte(text[i])
			} else if c == '"' {
				inString = false
			}
			continue
		}
		word := ""
		for _, w := range []string{"NaN", "-Infinity", "Infinity"} {
			if strings.HasPrefix(string(text[i:min(len(text), i+len(w))]), w) {
				word = w
				break
			}
		}
		if word != "" {
			b.WriteString(`"\u007fnot finite"`)
			i += len(word) - 1
			continue
		}
		inString = c == '"'
		b.WriteByte(c)
	}
	return b.Bytes()
}
