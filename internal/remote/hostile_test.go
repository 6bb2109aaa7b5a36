package remote

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// archive is a tar stream of the given members, which may be cut off.
func archive(t testing.TB, headers ...*tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg && h.Size < 1<<20 {
			_, _ = w.Write(bytes.Repeat([]byte("x"), int(h.Size)))
		}
	}
	_ = w.Flush()
	return b.Bytes()
}

// asked is what a pull asked for: one file of four bytes.
func asked() []File {
	h := newHash()
	_, _ = io.WriteString(h, "xxxx")
	return []File{{Path: "d/f", Size: 4, SHA256: h.hex()}}
}

// unpack reads an archive as a pull would, into a directory beside which
// nothing may appear.
func unpack(t testing.TB, data []byte) (written []string, err error) {
	t.Helper()
	base := t.TempDir()
	dest := filepath.Join(base, "dest")
	if err := os.Mkdir(dest, 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dest)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	d := &download{root: root, meter: &meter{total: 4}}
	missing, err := d.readTar(context.Background(), bytes.NewReader(data), asked())
	if err == nil && len(missing)+len(d.linked) > 0 {
		err = io.ErrUnexpectedEOF
	}
	walkErr := filepath.WalkDir(base, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(dest, path)
			written = append(written, name)
			if !e.Type().IsRegular() || name != "d/f" {
				t.Errorf("%s was made", path)
			}
		}
		return err
	})
	if walkErr != nil {
		t.Fatal(walkErr)
	}
	return written, err
}

func TestHostileTar(t *testing.T) {
	reg := func(name string, size int64) *tar.Header {
		return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o6777}
	}
	tests := map[string][]*tar.Header{
		"parent":            {reg("../f", 4)},
		"absolute":          {reg("/tmp/f", 4)},
		"parent inside":     {reg("./d/../../f", 4)},
		"unasked":           {reg("./other", 4)},
		"link":              {{Typeflag: tar.TypeSymlink, Name: "./d", Linkname: "/tmp"}, reg("./d/f", 4)},
		"link to file":      {{Typeflag: tar.TypeSymlink, Name: "./d/f", Linkname: "/etc/passwd"}},
		"hard link":         {{Typeflag: tar.TypeLink, Name: "./d/f", Linkname: "/etc/passwd"}},
		"device":            {{Typeflag: tar.TypeChar, Name: "./d/f"}},
		"pipe":              {{Typeflag: tar.TypeFifo, Name: "./d/f"}},
		"directory instead": {{Typeflag: tar.TypeDir, Name: "./d/f"}},
		"huge":              {reg("./d/f", 1<<40)},
		"empty":             {reg("./d/f", 0)},
		"cut":               nil,
	}
	for name, headers := range tests {
		t.Run(name, func(t *testing.T) {
			written, err := unpack(t, archive(t, headers...))
			if err == nil || len(written) > 0 {
				t.Errorf("error %v, written %q", err, written)
			}
		})
	}
	good := archive(t, reg("./d/f", 4))
	if written, err := unpack(t, good); err != nil || len(written) != 1 {
		t.Errorf("a good one: error %v, written %q", err, written)
	}
	bad := bytes.Replace(good, []byte("xxxx"), []byte("xxxy"), 1)
	if written, err := unpack(t, bad); err == nil || len(written) > 0 {
		t.Errorf("a changed one: error %v, written %q", err, written)
	}
}

func FuzzReadTar(f *testing.F) {
	f.Add(archive(f, &tar.Header{Typeflag: tar.TypeReg, Name: "./d/f", Size: 4}))
	f.Add(archive(f, &tar.Header{Typeflag: tar.TypeSymlink, Name: "./d", Linkname: ".."}))
	f.Add(archive(f, &tar.Header{Typeflag: tar.TypeReg, Name: "./" + strings.Repeat("d/", 200) + "f", Size: 4, Format: tar.FormatPAX}))
	f.Fuzz(func(t *testing.T, data []byte) {
		written, err := unpack(t, data)
		if (err == nil) != (len(written) == 1) {
			t.Errorf("error %v, written %q", err, written)
		}
	})
}

func FuzzAnswers(f *testing.F) {
	f.Add("hash openssl\nfullblock\ncpus 4\nend\n")
	f.Add("missing tar\n")
	f.Add("file a.have\n0 1\nfile b.have\n")
	f.Add("have 0 1\nhave\n")
	f.Add(`\` + emptyDigest + "  ./a\\nb\n")
	f.Add("0 1048576\n1 65536\n9999999999999999999 -1\n")
	f.Fuzz(func(t *testing.T, text string) {
		var box toolbox
		if err := box.parse(text); err == nil && (box.hash == "" || box.cpus < 1) {
			t.Errorf("unusable tools %+v", box.hash)
		}
		notes := parseNotes(text)
		for range notes {
			break
		}
		if digests, err := parseHashes(text, 1); err == nil && (len(digests) != 1 || !isDigest(digests[0])) {
			t.Errorf("digests %q", digests)
		}
		if there, err := parseHave(text, [][]File{asked(), asked()}); err == nil && len(there) > 2 {
			t.Errorf("%d of 2 files", len(there))
		}
		e := newExtents(10<<20 + 5)
		e.load(text)
		if done, front := e.done(), e.frontier(); done < 0 || done > e.size || front < 0 || front > done {
			t.Errorf("%d there, up to %d", done, front)
		}
		left := e.size - e.done()
		for _, s := range e.missing() {
			left -= s.length
			if s.length <= 0 || s.offset%blockSize != 0 || s.offset+s.length > e.size {
				t.Errorf("span %+v", s)
			}
		}
		if left != 0 {
			t.Errorf("%d bytes unaccounted", left)
		}
		if p := printable(text); strings.ContainsAny(p, "\x00\x1b\x7f\r\t") || len(p) > 3*4096 {
			t.Errorf("not printable: %q", p)
		}
	})
}

// A program that says the same of each file has its first lines told.
func TestManyLinesAreToldShort(t *testing.T) {
	said := strings.Repeat("tar: ./x: Cannot write: No space left on device\n", 20)
	if got, want := printable("a\nb\nc\nd"), "a; b; c; d"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := printable(said); strings.Count(got, "No space") != 3 || !strings.HasSuffix(got, "; and 17 lines more") {
		t.Errorf("%q", got)
	}
}
