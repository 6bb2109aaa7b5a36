package remote

import (
	"fmt"
	"strings"
)

// hashScript is shell text that prints a digest line for each path, in their
// order, relative to the shell's directory. The function h must be defined.
func hashScript(paths []string) string {
	var b strings.Builder
	open := 0 // arguments of the command being written
	length := 0
	for _, path := range paths {
		name := "./" + path
		if isOdd(path) {
			// Some programs escape such names, some write them as they are:
			// the content on standard input has no name to escape.
			if open > 0 {
				b.WriteByte('\n')
				open = 0
			}
			b.WriteString("h < ")
			quoteTo(&b, name)
			b.WriteByte('\n')
			continue
		}
		if open > 0 && (open >= 2000 || length+len(name) > 64<<10) {
			b.WriteByte('\n')
			open = 0
		}
		if open == 0 {
			b.WriteByte('h')
			length = 0
		}
		b.WriteByte(' ')
		quoteTo(&b, name)
		open++
		length += len(name) + 1
	}
	if open > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

// isOdd tells names that do not stand in one line as they are.
func isOdd(path string) bool {
	return strings.ContainsAny(path, "\n\r\\")
}

// parseHashes reads the digests that hashScript printed for n paths.
func parseHashes(out string, n int) ([]string, error) {
	digests := make([]string, 0, n)
	for line := range strings.Lines(out) {
		line = strings.TrimPrefix(line, `\`)
		if len(line) < 64 || !isDigest(line[:64]) || len(digests) == n {
			return nil, fmt.Errorf("not a digest: %q", printable(line))
		}
		digests = append(digests, line[:64])
	}
	if len(digests) != n {
		return nil, fmt.Errorf("%d digests for %d files", len(digests), n)
	}
	return digests, nil
}
