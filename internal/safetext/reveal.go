package safetext

import (
	"strconv"
	"strings"
)

// Reveals reports whether s holds a known secret, or 16 characters of one in a
// row, in some disguise: escaped as JSON or as a URL, wrapped, or with
// punctuation put between its pieces. Text that does must not be shown at all,
// since masking finds only what is spelled plainly.
func (r *Redactor) Reveals(s string) bool {
	if r == nil {
		return false
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if len(r.short)+len(r.windows) == 0 {
		return false
	}
	for _, form := range []string{s, unescape(s), unescape(unescape(s))} {
		if len(r.spans(form)) > 0 || r.revealsBare(alphanumeric(form)) {
			return true
		}
	}
	return false
}

func (r *Redactor) revealsBare(s string) bool {
	for _, secret := range r.bare {
		if strings.Contains(s, secret) {
			return true
		}
	}
	for i := 0; i+window <= len(s) && len(r.stripped) > 0; i++ {
		if _, ok := r.stripped[s[i:i+window]]; ok {
			return true
		}
	}
	return false
}

// alphanumeric drops everything but ASCII letters and digits.
func alphanumeric(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if isAlphanumeric(s[i]) {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// unescape undoes JSON's and URLs' escapes wherever they occur, and drops the
// line breaks that JSON spells \n.
func unescape(s string) string {
	if !strings.ContainsAny(s, `\%`) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		n, text := unescapeOne(s[i:])
		b.WriteString(text)
		i += n
	}
	return b.String()
}

// unescapeOne reads one character of s, escaped or not.
func unescapeOne(s string) (length int, text string) {
	switch {
	case s[0] == '%' && len(s) >= 3:
		if v, err := strconv.ParseUint(s[1:3], 16, 8); err == nil {
			return 3, string([]byte{byte(v)})
		}
	case s[0] == '\\' && len(s) >= 6 && s[1] == 'u':
		if v, err := strconv.ParseUint(s[2:6], 16, 16); err == nil {
			return 6, string(rune(v))
		}
	case s[0] == '\\' && len(s) >= 2:
		if strings.IndexByte("nrtbf", s[1]) >= 0 {
			return 2, " "
		}
		return 2, s[1:2]
	}
	return 1, s[:1]
}
