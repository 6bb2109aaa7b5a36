package apply

import (
	"crypto/rand"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// maxRunID is the longest run ID, so that names made of one fit everywhere.
const maxRunID = 64

var notInSlug = regexp.MustCompile(`[^a-z0-9]+`)

// newRunID gives a name that no other run has: the address's own words, the
// time in UTC and eight random letters and digits.
func newRunID(address string, now time.Time) (string, error) {
	suffix, err := randomWord(8)
	if err != nil {
		return "", err
	}
	tail := now.UTC().Format("20060102-150405") + "-" + suffix
	slug := strings.Trim(notInSlug.ReplaceAllString(strings.ToLower(strings.TrimPrefix(address, "run.")), "-"), "-")
	if slug == "" {
		slug = "run"
	}
	if limit := maxRunID - len(tail) - 1; len(slug) > limit {
		slug = strings.TrimRight(slug[:limit], "-")
	}
	return slug + "-" + tail, nil
}

func randomWord(n int) (string, error) {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	raw := make([]byte, 2*n)
	if _, err := rand.Read(raw); err != nil {
		return "", fmt.Errorf("no random numbers: %w", err)
	}
	var b strings.Builder
	for i := 0; i < n; i++ {
		b.WriteByte(letters[(int(raw[2*i])<<8|int(raw[2*i+1]))%len(letters)])
	}
	return b.String(), nil
}

// Lengths are compared: an expression that counts costs each start of the program
// half a millisecond.
var runID = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// ValidRunID reports whether s is safe as a run's name: letters, digits, _ and
// -, at most 64.
func ValidRunID(s string) bool { return len(s) <= 64 && runID.MatchString(s) }
