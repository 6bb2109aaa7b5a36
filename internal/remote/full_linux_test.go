package remote

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/internal/remote/remotetest"
)

// TestPushToAFullDisk: that the machine has no room left is told from all else that
// may go wrong, whatever finds it out there.
func TestPushToAFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("root is needed in CI: nobody else makes a small file system")
		}
		t.Skip("only root can make a small file system")
	}
	many := map[string][]byte{}
	for _, name := range []string{"a", "b", "c", "d/e", "d/f", "g"} {
		many[name] = content(1, 100<<10)
	}
	for name, files := range map[string]map[string][]byte{
		"large": {"large": content(2, smallFile+1)},
		"small": many,
	} {
		t.Run(name, func(t *testing.T) {
			servers(t, func(t *testing.T, s *remotetest.Server) {
				src, disk := t.TempDir(), t.TempDir()
				list := tree(t, src, files)
				if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"); err != nil {
					t.Fatalf("a small file system: %v", err)
				}
				t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
				dir := filepath.Join(disk, "run")
				var full *FullError
				err := dial(t, s, nil).Push(within(t, time.Minute), Push{Dir: dir, Staging: dir + "/.staging", Files: list, Open: opener(src)})
				if !errors.As(err, &full) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}
