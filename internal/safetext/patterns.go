package safetext

import (
	"regexp"
	"strings"
)

// Lengths from which base64 text is taken for a secret: anywhere in a line,
// and as a whole line.
const (
	longBase64 = 200
	lineBase64 = 40
)

const (
	keyBegin = "-----BEGIN "
	keyEnd   = "-----END "
	keyWord  = "PRIVATE KEY"
)

var (
	// Tokens that tell what they are by their prefix, which stays.
	tokenPattern = regexp.MustCompile(`\b(rpa_|rps_|hf_)[A-Za-z0-9]{8,}`)
	// NAME=value, where NAME speaks of a credential. Upper case, as variables
	// are written: a program that prints tokens=512 says nothing secret.
	assignPattern = regexp.MustCompile(`\b([A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD)[A-Z0-9_]*=)` + valuePattern)
	// NAME: value and "NAME": "value", where NAME ends so.
	fieldPattern = regexp.MustCompile(`\b([A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD)["']?[ \t]*:[ \t]*)` + valuePattern)
	// The spellings of configuration files and HTTP.
	lowerPattern = regexp.MustCompile(`(?i)\b((?:[a-z0-9_-]*(?:api[_-]?key|password|passwd|client[_-]?secret|secret[_-]?key|` +
		`access[_-]?key|access[_-]?token|auth[_-]?token))["']?[ \t]*[:=][ \t]*)` + valuePattern)
	bearerPattern = regexp.MustCompile(`(?i)\b(bearer[ \t]+)[A-Za-z0-9._~+/=-]{8,}`)
	base64Pattern = regexp.MustCompile(`[A-Za-z0-9+/_-]{200,}={0,2}`)
	linePattern   = regexp.MustCompile(`(?m)^([ \t]*)([A-Za-z0-9+/]{40,}={0,2})([ \t]*\r?)$`)
)

const valuePattern = `("(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|[^\s"',;&]+)`

// maskPatterns masks what looks like a credential.
func maskPatterns(s string) string {
	if len(s) < minSecret {
		return s
	}
	s = tokenPattern.ReplaceAllString(s, "${1}"+Mask)
	if strings.ContainsAny(s, "=:") {
		for _, p := range []*regexp.Regexp{assignPattern, fieldPattern, lowerPattern} {
			s = p.ReplaceAllString(s, "${1}"+Mask)
		}
	}
	s = bearerPattern.ReplaceAllString(s, "${1}"+Mask)
	if len(s) < lineBase64 {
		return s
	}
	if len(s) >= longBase64 {
		s = base64Pattern.ReplaceAllStringFunc(s, maskMixed)
	}
	return linePattern.ReplaceAllStringFunc(s, func(line string) string {
		part := linePattern.FindStringSubmatch(line)
		return part[1] + maskMixed(part[2]) + part[3]
	})
}

// maskMixed masks text that holds both a letter and a digit: a row of one
// character is a ruler, not a key.
func maskMixed(s string) string {
	var letter, digit bool
	for i := 0; i < len(s); i++ {
		if s[i] >= '0' && s[i] <= '9' {
			digit = true
		} else if isAlphanumeric(s[i]) {
			letter = true
		}
	}
	if letter && digit {
		return Mask
	}
	return s
}

// maskKeyBlocks masks private key blocks. One that has no end is masked to the
// end of the text.
func maskKeyBlocks(s string) string {
	if !strings.Contains(s, keyWord) {
		return s
	}
	var b strings.Builder
	for {
		begin := keyBlockStart(s)
		if begin < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:begin])
		b.WriteString(Mask)
		end := keyBlockEnd(s[begin:])
		if end < 0 {
			return b.String()
		}
		s = s[begin+end:]
	}
}

// keyBlockStart finds the first line that opens a private key block.
func keyBlockStart(s string) int {
	for at := 0; ; {
		i := strings.Index(s[at:], keyBegin)
		if i < 0 {
			return -1
		}
		at += i
		label, _, ok := strings.Cut(s[at+len(keyBegin):], "-----")
		if ok && len(label) <= 40 && strings.HasSuffix(label, keyWord) {
			return at
		}
		at += len(keyBegin)
	}
}

// keyBlockEnd finds where the block that s is in the middle of ends; -1: it
// goes on.
func keyBlockEnd(s string) int {
	i := strings.Index(s, keyEnd)
	if i < 0 {
		return -1
	}
	after := i + len(keyEnd)
	j := strings.Index(s[after:], "-----")
	if j < 0 {
		return -1
	}
	return after + j + len("-----")
}
