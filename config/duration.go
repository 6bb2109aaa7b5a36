package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxDuration is the longest time that any argument takes: 30 days.
const maxDuration = 720 * time.Hour

// parseDuration reads "30m", "1h30m", "2d", "1d12h".
func parseDuration(s string) (time.Duration, error) {
	if s == "" {
		return 0, errors.New(`it is empty; write it as "30m", "1h30m" or "2d"`)
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil && s != "0" {
		return 0, fmt.Errorf("it has no unit; write it as %q, %q or %q", s+"s", s+"m", s+"h")
	}
	var days time.Duration
	rest := s
	if head, tail, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseUint(head, 10, 16)
		if err != nil {
			return 0, errors.New(`it is no duration; write it as "30m", "1h30m" or "2d"`)
		}
		days, rest = time.Duration(n)*24*time.Hour, tail
	}
	if rest == "" {
		return days, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil {
		return 0, errors.New(`it is no duration; write it as "30m", "1h30m" or "2d"`)
	}
	if d < 0 || strings.HasPrefix(rest, "+") {
		return 0, errors.New("it must not have a sign")
	}
	return days + d, nil
}

// formatDuration writes a duration as people do: 1h30m.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// duration reads an argument that is a time, between least and most.
func (r *reader) duration(name string, otherwise, least, most time.Duration) time.Duration {
	s, f := r.str(name)
	if !f.usable() {
		return otherwise
	}
	d, err := parseDuration(s)
	if err != nil {
		r.fail(f.rng, "not a duration", "`%s` is %s: %s", name, quote(s), err)
		return otherwise
	}
	if d < least || d > most {
		r.fail(f.rng, "out of range", "`%s` must be between %s and %s; this is %s", name, formatDuration(least), formatDuration(most), quote(s))
		return otherwise
	}
	return d
}
