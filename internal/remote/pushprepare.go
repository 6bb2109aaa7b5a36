package remote

import (
	"context"
	"fmt"
	"path"
	"strings"
)

// prepare makes the directories, and leaves out the files that are on the
// machine already and are right: in their places, or staged by an upload of
// the same list that did not come to its end.
func (u *upload) prepare(ctx context.Context) ([]File, error) {
	out, err := u.shell(ctx, "prepare the upload", fmt.Sprintf(`
d=%s s=%s
[ -e "$s" ] && echo staged
mkdir -p "$d" "$s/tree" "$s/parts" || exit 1
cd "$d" || exit 1
set -- *
[ -e "$1" ] && echo filled
exit 0
`, Quote(u.Dir), Quote(u.stage)))
	if err != nil {
		return nil, err
	}
	files := u.Files
	if strings.Contains(out, "filled\n") {
		if files, _, err = u.present(ctx, u.Dir, files); err != nil {
			return nil, err
		}
	}
	if !strings.Contains(out, "staged\n") {
		return files, nil
	}
	if files, u.tree, err = u.present(ctx, path.Join(u.stage, "tree"), files); err != nil {
		return nil, err
	}
	return files, u.readNotes(ctx)
}

// present tells which files lie in a directory of the machine and are right.
func (u *upload) present(ctx context.Context, dir string, files []File) (missing, found []File, err error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%scd %s || exit 1\n", u.tools.hash, Quote(dir))
	// The test and the digest of one batch of files come before the next one.
	groups := batches(files, 1<<62)
	b.WriteString(`t() { n=0; e=; for f do [ -f "$f" ] && [ ! -h "$f" ] && [ -r "$f" ] && e="$e $n"; n=$((n+1)); done; echo "have$e"; }
`)
	for _, group := range groups {
		b.WriteByte('t')
		for _, f := range group {
			b.WriteByte(' ')
			quoteTo(&b, "./"+f.Path)
		}
		b.WriteByte('\n')
	}
	out, err := u.shell(ctx, "look at what is on the machine", b.String())
	if err != nil {
		return nil, nil, err
	}
	there, err := parseHave(out, groups)
	if err != nil {
		return nil, nil, fmt.Errorf("look at what is on the machine: %w", err)
	}
	right, err := u.right(ctx, dir, there)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		if right[f.Path] {
			found = append(found, f)
			u.meter.found(f.Size)
		} else {
			missing = append(missing, f)
		}
	}
	return missing, found, nil
}

// parseHave reads one line per group: "have" and the places in the group of
// the files that exist.
func parseHave(out string, groups [][]File) ([]File, error) {
	var there []File
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(groups) == 0 {
		return nil, nil
	}
	if len(lines) != len(groups) {
		return nil, fmt.Errorf("%d answers to %d questions", len(lines), len(groups))
	}
	for i, line := range lines {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "have" {
			return nil, fmt.Errorf("unexpected answer %q", printable(line))
		}
		last := -1
		for _, word := range words[1:] {
			n := 0
			if _, err := fmt.Sscanf(word, "%d", &n); err != nil || n <= last || n >= len(groups[i]) {
				return nil, fmt.Errorf("unexpected answer %q", printable(line))
			}
			there, last = append(there, groups[i][n]), n
		}
	}
	return there, nil
}

// right hashes files on the machine and tells which are as listed.
func (u *upload) right(ctx context.Context, dir string, files []File) (map[string]bool, error) {
	right := make(map[string]bool, len(files))
	if len(files) == 0 {
		return right, nil
	}
	out, err := u.shell(ctx, "hash what is on the machine",
		fmt.Sprintf("%scd %s || exit 1\n%s", u.tools.hash, Quote(dir), hashScript(paths(files))))
	if err != nil {
		return nil, err
	}
	digests, err := parseHashes(out, len(files))
	if err != nil {
		return nil, fmt.Errorf("hash what is on the machine: %w", err)
	}
	for i, f := range files {
		right[f.Path] = digests[i] == f.SHA256
	}
	return right, nil
}

func paths(files []File) []string {
	list := make([]string, len(files))
	for i, f := range files {
		list[i] = f.Path
	}
	return list
}

// readNotes learns how much of the large files is staged.
func (u *upload) readNotes(ctx context.Context) error {
	out, err := u.shell(ctx, "look at what is staged", fmt.Sprintf(`
cd %s || exit 1
for f in *.have; do [ -f "$f" ] && [ -f "${f%%.have}" ] && echo "file $f" && cat "$f"; done
exit 0
`, Quote(path.Join(u.stage, "parts"))))
	if err != nil {
		return err
	}
	u.notes = parseNotes(out)
	return nil
}

// parseNotes divides what was noted by part.
func parseNotes(out string) map[string]string {
	notes := map[string]string{}
	name, start := "", 0
	for at := 0; at < len(out); {
		end := at + strings.IndexByte(out[at:]+"\n", '\n') + 1
		if rest, ok := strings.CutPrefix(out[at:min(end, len(out))], "file "); ok {
			if name != "" {
				notes[name] = out[start:at]
			}
			name, start = strings.TrimSuffix(strings.TrimSuffix(rest, "\n"), ".have"), min(end, len(out))
		}
		at = end
	}
	if name != "" {
		notes[name] = out[start:]
	}
	return notes
}
