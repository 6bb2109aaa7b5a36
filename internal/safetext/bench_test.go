package safetext_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/overbrainer/overbrainer/internal/safetext"
)

// BenchmarkLine masks lines of a job's log as a client knows secrets: a few
// keys, and some that are long.
func BenchmarkLine(b *testing.B) {
	secrets := []string{"hush-hush", key}
	for n := range 20 {
		secrets = append(secrets, strings.Repeat(fmt.Sprintf("b3Bl%dbnNz", n), 25))
	}
	r := safetext.NewRedactor(secrets...)
	for _, line := range []string{
		"epoch 12 batch 3456/9000 loss 0.12345 lr 1e-4 tokens 512 throughput 123.4 it/s eta",
		`12:00:05 run.pour["a"] | epoch 12 batch 3456/9000 loss 0.12345 lr=1e-4 tokens=512 per second`,
	} {
		b.Run(line[:5], func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for range b.N {
				safetext.OneLine(r.String(line))
			}
		})
	}
}

// TestPlainLine: a line without anything to mask costs no memory, also where its
// words look a little like a secret's name.
func TestPlainLine(t *testing.T) {
	r := safetext.NewRedactor("hush-hush", key)
	for _, line := range []string{
		"epoch 12 batch 3456/9000: loss=0.12345 tokens=512 of 9000 keys, hush",
		"Authors: those who accessed the API, clients first; " + strings.Repeat("and a line may be long ", 10),
	} {
		if n := testing.AllocsPerRun(100, func() { safetext.OneLine(safetext.Printable(r.String(line))) }); n != 0 {
			t.Errorf("%q: %v allocations", line, n)
		}
	}
}
