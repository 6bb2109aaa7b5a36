package remote

import "strings"

// Quote writes arguments as words of a POSIX shell command line, separated by
// spaces, so that the shell gives back exactly the same arguments. NUL, which
// no argument can hold, is left out.
func Quote(args ...string) string {
	var b strings.Builder
	for i, arg := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		quoteTo(&b, arg)
	}
	return b.String()
}

func quoteTo(b *strings.Builder, arg string) {
	if isPlain(arg) {
		b.WriteString(arg)
		return
	}
	b.WriteByte('\'')
	for i := 0; i < len(arg); i++ {
		switch c := arg[i]; c {
		case '\'':
			b.WriteString(`'\''`)
		case 0:
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
}

// isPlain tells words that mean themselves in every place of a command.
func isPlain(arg string) bool {
	if arg == "" || arg[0] == '-' {
		return false
	}
	for i := 0; i < len(arg); i++ {
		switch c := arg[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '/' || c == '.' || c == '_' || c == '-':
		default:
			return false
		}
	}
	return true
}
