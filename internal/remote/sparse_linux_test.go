package remote

import (
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/internal/remote/remotetest"
)

// TestPullKeepsHoles: what is zero takes no room here, on one channel and on
// several, in the middle and at the end, and after a cut.
func TestPullKeepsHoles(t *testing.T) {
	hole := make([]byte, 12<<20)
	files := map[string][]byte{
		"middle": slices.Concat(content(1, 2<<20+5), hole, content(2, 1<<20)),
		"end":    slices.Concat(content(3, 1<<20), hole),
		"all":    hole,
	}
	for name, test := range map[string]struct {
		delay time.Duration
		cut   bool
	}{
		"near": {0, false}, "far": {20 * time.Millisecond, false}, "far, cut": {20 * time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := remotetest.StartBuiltin(t, remotetest.Options{})
			p := remotetest.StartProxy(t, s, test.delay)
			src, dst := t.TempDir(), t.TempDir()
			pull := Pull{Dir: src, Files: tree(t, src, files), Dest: dst}
			if test.cut {
				p.CutAfter(10 << 20)
				if err := dial(t, s, p).Pull(within(t, time.Minute), pull); err == nil {
					t.Fatal("it was not cut")
				}
			}
			if err := dial(t, s, p).Pull(within(t, time.Minute), pull); err != nil {
				t.Fatal(err)
			}
			same(t, dst, files)
			for name, data := range files {
				var st syscall.Stat_t
				if err := syscall.Stat(filepath.Join(dst, name), &st); err != nil {
					t.Fatal(err)
				}
				if room := st.Blocks * 512; room > int64(len(data)-len(hole)/2) {
					t.Errorf("%s takes %d bytes here", name, room)
				}
			}
		})
	}
}
