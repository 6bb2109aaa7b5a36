package apply

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxMasked is how much of a line is searched for secrets at once.
const maxMasked = 1 << 20

// maskKept masks known secrets in the log and the metrics that came home. It gives
// the list with the digests of what is here now, and says what was masked.
func (r *runner) maskKept(files []File) (kept []File, masked string) {
	kept = slices.Clone(files)
	var said []string
	for i, f := range kept {
		if f.Path != jobLog && f.Path != r.run.Job.Metrics {
			continue
		}
		full := filepath.Join(r.dir(), filepath.FromSlash(f.Path))
		n, err := maskFile(full, r.s.Redactor.String)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			r.warnf("secrets in %s may not be masked: %v", full, err)
		}
		if n == 0 || err != nil {
			continue
		}
		if now, err := describe(full); err == nil {
			kept[i].Size, kept[i].SHA256 = now.Size, now.SHA256
		}
		lines := "lines"
		if n == 1 {
			lines = "line"
		}
		said = append(said, fmt.Sprintf("%d %s of %s masked", n, lines, f.Path))
	}
	return kept, strings.Join(said, ", ")
}

// maskFile masks a file in its place, which may be longer than fits in memory, and
// gives how many of its lines were. One without anything to mask is only read.
func maskFile(path string, mask func(string) string) (lines int, err error) {
	from, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = from.Close() }()
	if lines, err = maskLines(nil, from, mask); lines == 0 || err != nil {
		return lines, err
	}
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return lines, err
	}
	err = putFileBy(path, true, func(to io.Writer) (err error) {
		w := bufio.NewWriter(to)
		lines, err = maskLines(w, from, mask)
		return errors.Join(err, w.Flush(), from.Close()) // some systems replace no open file
	})
	return lines, err
}

// maskLines copies text and masks it line by line, so that one match does not take
// the rest of it along. It gives how many lines were changed; without a writer only whether one
// would be. A line that is too long to be looked at as a whole is cut between words.
func maskLines(to io.Writer, from io.Reader, mask func(string) string) (lines int, err error) {
	in := bufio.NewReaderSize(from, maxMasked)
	var held []byte // of the line, not looked at yet
	changed := false
	for {
		part, rerr := in.ReadSlice('\n')
		if rerr != nil && !errors.Is(rerr, bufio.ErrBufferFull) && !errors.Is(rerr, io.EOF) {
			return lines, rerr
		}
		text := append(held, part...)
		held = nil
		if errors.Is(rerr, bufio.ErrBufferFull) {
			cut := afterWord(text)
			text, held = text[:cut], bytes.Clone(text[cut:])
		}
		body := string(bytes.TrimRight(text, "\n"))
		masked := mask(body)
		changed = changed || masked != body
		if to == nil {
			if changed {
				return 1, nil
			}
		} else if _, err := io.WriteString(to, masked+string(text[len(body):])); err != nil {
			return lines, err
		}
		if errors.Is(rerr, bufio.ErrBufferFull) {
			continue
		}
		if changed {
			lines++
		}
		changed = false
		if rerr != nil {
			return lines, nil
		}
	}
}
