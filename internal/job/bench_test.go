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
	var list, hashes bytes.Buffer
	for i := range 10_000 {
		name := fmt.Sprintf("./output/d%02d/file-%05d.bin", i/100, i)
		list.WriteString(name + "\x00")
		fmt.Fprintf(&hashes, "%s 4096 - %s\x00", strings.Repeat("ab", 32), name)
	}
	b.ReportAllocs()
	for b.Loop() {
		_, wanted, err := chooseFrom(list.Bytes(), []string{"output/**", "!output/skip/**"}, []string{"job.log"})
		if err != nil {
			b.Fatal(err)
		}
		if files, err := parseHashes(hashes.Bytes(), wanted); err != nil || len(files) != 10_000 {
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
