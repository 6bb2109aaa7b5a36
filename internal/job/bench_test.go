package job

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/overbrainer/overbrainer/internal/glob"
)

// BenchmarkManifest chooses among 10,000 names and reads their digests.
func BenchmarkManifest(b *testing.B) {
	var list, digests, sizes, modes bytes.Buffer
	for i := range 10_000 {
		name := fmt.Sprintf("./output/d%02d/file-%05d.bin", i/100, i)
		list.WriteString(name + "\x00")
		fmt.Fprintf(&digests, "%s  %s\n", strings.Repeat("ab", 32), name)
		fmt.Fprintf(&sizes, " 4096 %s\n", name)
		fmt.Fprintf(&modes, "= = - %s\x00", name)
	}
	hashes := bytes.Join([][]byte{digests.Bytes(), sizes.Bytes(), modes.Bytes()}, []byte{0})
	b.ReportAllocs()
	for b.Loop() {
		_, wanted, err := chooseFrom(list.Bytes(), []string{"output/**", "!output/skip/**"}, []string{"job.log"})
		if err != nil {
			b.Fatal(err)
		}
		files, _, err := parseHashes(hashes)
		if gone, _ := missingOf(files, wanted); err != nil || len(gone) > 0 {
			b.Fatal(len(files), err)
		}
	}
}

// chooseFrom chooses from a list as the pod gives it.
func chooseFrom(list []byte, globs, always []string) (Manifest, []string, error) {
	sections, err := readNames(list)
	if err != nil {
		return Manifest{}, nil, err
	}
	m, wanted := choose(slices.Concat(sections...), glob.New(globs), always)
	return m, wanted, nil
}
