package remote

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
)

// finish puts all files in their places: what is in the tree by renaming whole
// directories where there are none yet, so that many files cost few programs.
func (u *upload) finish(ctx context.Context) error {
	var b strings.Builder
	fmt.Fprintf(&b, `
t=%s p=%s d=%s
fail() { echo "cannot put it in its place: $1" >&2; exit 1; }
cd "$t" || exit 1
`, Quote(path.Join(u.stage, "tree")), Quote(path.Join(u.stage, "parts")), Quote(u.Dir))
	newFolder(u.tree).place(&b, "")
	fmt.Fprintf(&b, "cd \"$p\" || exit 1\n")
	for _, f := range u.parts {
		perm := "644"
		if f.Exec {
			perm = "755"
		}
		to := quoteAfter(`"$d"`, "/"+f.Path)
		fmt.Fprintf(&b, "mkdir -p %s && chmod %s %s && mv -f %s %s || fail %s\n",
			quoteAfter(`"$d"`, "/"+path.Dir(f.Path)), perm, partName(f), partName(f), to, to)
	}
	fmt.Fprintf(&b, "cd / && rm -rf %s\necho placed\n", Quote(u.Staging))
	out, err := u.shell(ctx, "put the files in their places", b.String())
	if err != nil {
		return err
	}
	if !strings.HasSuffix(out, "placed\n") {
		return fmt.Errorf("put the files in their places: the machine answered %q", printable(out))
	}
	return nil
}

// quoteAfter appends a literal to a word that is already written.
func quoteAfter(word, literal string) string {
	return word + Quote(literal)
}

// folder is a directory of a list of files.
type folder struct {
	files   []string // names
	folders map[string]*folder
}

func newFolder(files []File) *folder {
	root := &folder{}
	for _, f := range files {
		at := root
		dir, name := path.Split(f.Path)
		for dir != "" {
			var head string
			head, dir, _ = strings.Cut(dir, "/")
			if at.folders == nil {
				at.folders = map[string]*folder{}
			}
			if at.folders[head] == nil {
				at.folders[head] = &folder{}
			}
			at = at.folders[head]
		}
		at.files = append(at.files, name)
	}
	return root
}

// place writes the commands that move a folder's content, prefix being its
// path with a slash behind it, or empty for the topmost.
func (f *folder) place(b *strings.Builder, prefix string) {
	for group := range slices.Chunk(f.files, 500) {
		b.WriteString("mv -f")
		for _, name := range group {
			b.WriteByte(' ')
			quoteTo(b, "./"+prefix+name)
		}
		to := quoteAfter(`"$d"`, "/"+prefix)
		fmt.Fprintf(b, " %s || fail %s\n", to, to)
	}
	names := make([]string, 0, len(f.folders))
	for name := range f.folders {
		names = append(names, name)
	}
	slices.Sort(names)
	for group := range slices.Chunk(names, 500) {
		f.placeFolders(b, prefix, group)
	}
}

// placeFolders moves those folders that are not there yet by one command, and
// the content of each other one, which is still where it was then.
func (f *folder) placeFolders(b *strings.Builder, prefix string, names []string) {
	to := quoteAfter(`"$d"`, "/"+prefix)
	b.WriteString("set --\nfor n in")
	for _, name := range names {
		b.WriteByte(' ')
		quoteTo(b, name)
	}
	fmt.Fprintf(b, `; do
if [ ! -e %[1]s"$n" ] && [ ! -h %[1]s"$n" ]; then set -- "$@" %[2]s"$n"; fi
done
[ $# -eq 0 ] || mv "$@" %[1]s || fail %[1]s
`, to, Quote("./"+prefix))
	for _, name := range names {
		inner := prefix + name
		fmt.Fprintf(b, "if [ -d %s ]; then\n", Quote("./"+inner))
		f.folders[name].place(b, inner+"/")
		b.WriteString(":\nfi\n")
	}
}
