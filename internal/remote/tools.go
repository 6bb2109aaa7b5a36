package remote

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// toolbox is what a machine's image offers, found out once per connection.
type toolbox struct {
	mu    sync.Mutex
	known bool
	hash  string // shell function h: SHA-256 of the files named, or of standard input
	gzip  bool   // gzip -dc unpacks what is compressed here
	whole bool   // dd can fill its blocks from a pipe (iflag=fullblock)
	cpus  int
}

// needed are the programs without which nothing can be moved.
const needed = "tar dd cat mkdir mv rm chmod"

// emptyDigest is the SHA-256 of nothing: a hash program that does not find it
// is not used.
const emptyDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// emptyGzip is nothing, compressed, as a format of printf: a gzip that cannot
// unpack it is not used.
const emptyGzip = `\037\213\010\0\0\0\0\0\0\003\003\0\0\0\0\0\0\0\0\0`

// Hash programs, the fastest first: openssl uses the processor's SHA
// instructions, python3 has the same code behind it but starts slowly, and
// sha256sum mostly has neither. Each prints a line per file that begins with
// the digest, except that sha256sum marks escaped names with a backslash.
func hashFunctions() [3][2]string {
	const python = `python3 -c 'import hashlib,sys
for n in sys.argv[1:] or [0]:
 h=hashlib.sha256();f=open(n,"rb",0)
 while 1:
  b=f.read(1048576)
  if not b: break
  h.update(b)
 print(h.hexdigest())' "$@"`
	return [3][2]string{
		{"openssl", `openssl dgst -sha256 -r "$@"`},
		{"python3", python},
		{"sha256sum", `sha256sum "$@"`},
	}
}

// tools finds out what the machine has. It is cheap: one question.
func (c *Client) findTools(ctx context.Context) (*toolbox, error) {
	t := &c.tools
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known {
		return t, nil
	}
	res, err := c.Run(ctx, Command{Script: probeScript()})
	if err != nil {
		return nil, fmt.Errorf("look for the machine's tools: %w", err)
	}
	if err := t.parse(string(res.Stdout)); err != nil {
		return nil, err
	}
	t.known = true
	return t, nil
}

func probeScript() string {
	var b strings.Builder
	fmt.Fprintf(&b, "for t in %s; do command -v $t >/dev/null 2>&1 || echo missing $t; done\n", needed)
	for _, f := range hashFunctions() {
		fmt.Fprintf(&b, "h() { %s; }\n", f[1])
		fmt.Fprintf(&b, `if [ -z "$found" ] && command -v %s >/dev/null 2>&1; then
case "$(h </dev/null 2>/dev/null)" in %s*) found=1; echo hash %s;; esac; fi
`, f[0], emptyDigest, f[0])
	}
	fmt.Fprintf(&b, "command -v gzip >/dev/null 2>&1 && printf '%s' | gzip -dc >/dev/null 2>&1 && echo gzip\n", emptyGzip)
	b.WriteString("printf ab | dd of=/dev/null bs=2 count=1 iflag=fullblock 2>/dev/null && echo fullblock\n")
	b.WriteString("echo cpus $(getconf _NPROCESSORS_ONLN 2>/dev/null || nproc 2>/dev/null || echo 1)\necho end\n")
	return b.String()
}

// parse reads what the probe printed.
func (t *toolbox) parse(out string) error {
	t.hash, t.gzip, t.whole, t.cpus = "", false, false, 1
	ended := false
	for line := range strings.Lines(out) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "missing":
			return &MissingToolError{Tool: printable(rest)}
		case "hash":
			for _, f := range hashFunctions() {
				if f[0] == rest {
					t.hash = "h() { " + f[1] + "; }\n"
				}
			}
		case "gzip":
			t.gzip = true
		case "fullblock":
			t.whole = true
		case "cpus":
			if n, err := strconv.Atoi(rest); err == nil {
				t.cpus = min(max(n, 1), 64)
			}
		case "end":
			ended = true
		}
	}
	switch {
	case !ended:
		return fmt.Errorf("look for the machine's tools: the machine's shell answered %q", printable(out))
	case t.hash == "":
		return &MissingToolError{Tool: "openssl, python3 or sha256sum"}
	}
	return nil
}

// printable reduces foreign text to what can be shown in one line: 4 lines, 4096 bytes,
// no control characters.
func printable(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > 4096 {
		s = s[:4096]
	}
	const most = 3 // a full disk has tar say the same of each file
	lines := strings.Split(s, "\n")
	if n := len(lines) - most; n > 1 {
		lines = append(lines[:most], fmt.Sprintf("and %d lines more", n))
	}
	s = strings.Join(lines, "; ")
	return strings.Map(func(r rune) rune {
		switch {
		case r >= ' ' && r < 0x7f, r > 0x9f:
			return r
		case r == '\t':
			return ' '
		}
		return -1
	}, strings.ToValidUTF8(s, "?"))
}
