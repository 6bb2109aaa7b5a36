package safetext

import (
	"regexp"
	"slices"
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
)

const valuePattern = `("(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|[^\s"',;&]+)`

// maskPatterns masks what looks like a credential. An expression is tried only
// where the words that it needs are there: most lines have none of them.
func maskPatterns(s string) string {
	if len(s) < minSecret {
		return s
	}
	if containsOne(s, "rpa_", "rps_", "hf_") {
		s = tokenPattern.ReplaceAllString(s, "${1}"+Mask)
	}
	if strings.ContainsAny(s, "=:") {
		if containsOne(s, "KEY", "TOKEN", "SECRET", "PASSWORD") {
			s = assignPattern.ReplaceAllString(s, "${1}"+Mask)
			s = maskFields(fieldPattern, s)
		}
		if containsAnyCase(s, "passw") ||
			containsAnyCase(s, "key", "secret", "token") && containsAnyCase(s, "api", "client", "secret", "access", "auth") {
			s = maskFields(lowerPattern, s)
		}
	}
	if containsAnyCase(s, "bearer") {
		s = bearerPattern.ReplaceAllString(s, "${1}"+Mask)
	}
	if len(s) < lineBase64 {
		return s
	}
	return maskLines(maskRuns(s))
}

// maskFields masks the values of fields. The name of a file before what is wrong
// with it, /etc/passwd: no such file, is no field.
func maskFields(p *regexp.Regexp, s string) string {
	var b strings.Builder
	done := 0
	for _, at := range p.FindAllStringSubmatchIndex(s, -1) {
		from, name, end := at[0], s[at[2]:at[3]], at[1]
		if strings.HasSuffix(name, ": ") && !strings.ContainsAny(name, `"'`) && isPath(s[:from]) {
			continue
		}
		b.WriteString(s[done:from])
		b.WriteString(name + Mask)
		done = end
	}
	return b.String() + s[done:]
}

// isPath reports whether a text ends within the path of a file, before its last
// name.
func isPath(s string) bool {
	if !strings.HasSuffix(s, "/") {
		return false
	}
	word := s[strings.LastIndexAny(s, " \t\r\n=\"'(")+1:]
	return strings.HasPrefix(word, "/") || strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../")
}

func containsOne(s string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

// containsAnyCase is containsOne for words in small letters that may be written in
// others, without a copy of the text.
func containsAnyCase(s string, words ...string) bool {
	var first uint32 // a bit for each letter that one begins with
	for _, w := range words {
		first |= 1 << (w[0] - 'a')
	}
	for i := range len(s) {
		letter := (s[i] | 0x20) - 'a'
		if letter > 'z'-'a' || first&(1<<letter) == 0 {
			continue
		}
		for _, w := range words {
			if len(s)-i >= len(w) && strings.EqualFold(s[i:i+len(w)], w) {
				return true
			}
		}
	}
	return false
}

// maskRuns masks long base64 text, in either alphabet, wherever it stands.
func maskRuns(s string) string {
	if len(s) < longBase64 {
		return s
	}
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); i++ {
		from := i
		for i < len(s) && (isBase64(s[i]) || s[i] == '_' || s[i] == '-') {
			i++
		}
		if i-from < longBase64 {
			continue
		}
		for pad := 0; pad < 2 && i < len(s) && s[i] == '='; pad++ {
			i++
		}
		b.WriteString(s[done:from])
		b.WriteString(maskMixed(s[from:i]))
		done = i
		i-- // what follows is looked at as well
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// maskLines masks base64 text that is a whole line.
func maskLines(s string) string {
	var b strings.Builder
	at, done := 0, 0
	for line := range strings.Lines(s) {
		body := strings.Trim(line, " \t\r\n")
		text := strings.TrimSuffix(strings.TrimSuffix(body, "="), "=")
		if len(text) >= lineBase64 && allBase64(text) {
			from := at + strings.Index(line, body)
			b.WriteString(s[done:from])
			b.WriteString(maskMixed(body))
			done = from + len(body)
		}
		at += len(line)
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

func allBase64(s string) bool {
	for i := range len(s) {
		if !isBase64(s[i]) {
			return false
		}
	}
	return true
}

func isBase64(c byte) bool { return isAlphanumeric(c) || c == '+' || c == '/' }

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
