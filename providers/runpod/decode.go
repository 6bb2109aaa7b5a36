package runpod

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/overbrainer/overbrainer/providers"
)

// decode reads a success. Absent and null fields take their zero value and
// unknown ones are ignored; the error says where the body went wrong and quotes
// nothing of it.
func decode(k call, a answer, into any) error {
	err := json.Unmarshal(a.body, into)
	if err == nil {
		return nil
	}
	e := &providers.Error{Op: k.op, Status: a.status, Kind: providers.Transient, Message: "the answer is not readable: " + whereWrong(a.body, err)}
	if k.effect {
		e.Kind = providers.Ambiguous
	}
	return e
}

// whereWrong describes a decoding error by its category and place.
func whereWrong(body []byte, err error) string {
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return "no JSON at " + place(body, syntax.Offset)
	case errors.As(err, &mismatch):
		return "a value of another type than expected at " + place(body, mismatch.Offset)
	case len(bytes.TrimSpace(body)) == 0 || errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends too early"
	}
	return "unexpected content"
}

func place(body []byte, offset int64) string {
	offset = max(0, min(offset, int64(len(body))))
	before := body[:offset]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - (bytes.LastIndexByte(before, '\n') + 1)
	return fmt.Sprintf("line %d, column %d", line, max(column, 1))
}

// serverTime is the API's clock at an answer; zero where it did not tell.
func serverTime(a answer) time.Time {
	t, err := http.ParseTime(a.header.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// validID reports whether an ID is safe in URLs and file names.
func validID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for i := 0; i < len(id); i++ {
		switch c := id[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// parseTime reads RFC 3339 with or without fractions; anything else is zero.
func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}
