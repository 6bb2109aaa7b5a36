package remote

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/overbrainer/overbrainer/internal/remote/remotetest"
)

// BenchmarkTransfer measures this package alone, for profiles and for comparing
// two versions of it; internal/bench measures it beside other programs.
func BenchmarkTransfer(b *testing.B) {
	for _, l := range remotetest.Loads() {
		b.Run(l.Name, func(b *testing.B) {
			s := remotetest.StartSSHD(b, remotetest.Options{})
			dir, items := l.Make(b)
			var files []File
			for _, item := range items {
				files = append(files, File{Path: item.Path, Size: item.Size, SHA256: item.SHA256})
			}
			var proxy *remotetest.Proxy
			if l.Delay > 0 {
				proxy = remotetest.StartProxy(b, s, l.Delay)
			}
			c := dial(b, s, proxy)
			measure := func(name string, transfer func(target string) error) {
				b.Run(name, func(b *testing.B) {
					b.SetBytes(int64(l.Count) * int64(l.Size))
					b.ReportAllocs()
					base := b.TempDir()
					for i := range b.N {
						target := filepath.Join(base, fmt.Sprint(i))
						if err := transfer(target); err != nil {
							b.Fatal(err)
						}
						b.StopTimer()
						_ = os.RemoveAll(target)
						b.StartTimer()
					}
				})
			}
			measure("up", func(target string) error {
				return c.Push(b.Context(), Push{Dir: target, Staging: target + "/.staging", Files: files, Open: opener(dir)})
			})
			measure("down", func(target string) error {
				return c.Pull(b.Context(), Pull{Dir: dir, Files: files, Dest: target})
			})
		})
	}
}

// BenchmarkTar is what 1,000 small files cost before they are sent.
func BenchmarkTar(b *testing.B) {
	dir := b.TempDir()
	var files []File
	for i := range 1000 {
		files = append(files, put(b, dir, fmt.Sprintf("d/file-%04d", i), content(uint64(i), 4<<10), false))
	}
	u := &upload{Push: Push{Open: opener(dir)}}
	b.SetBytes(int64(len(files)) * 4 << 10)
	b.ReportAllocs()
	for b.Loop() {
		if err := u.writeTar(b.Context(), io.Discard, files); err != nil {
			b.Fatal(err)
		}
	}
}
