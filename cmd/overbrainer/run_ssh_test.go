package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestPodWords: commands and shells start in the run's directory, and anywhere
// where it is gone.
func TestPodWords(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	const dir = "/work space/it's"
	if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		dir     string
		command []string
		in      string // standard input, which a shell reads
		want    string
	}{
		{dir: dir, command: []string{"pwd; echo $X"}, want: root + dir + "\nx\n"},
		{dir: dir, command: []string{"printf", "%s,", "a b", "$X"}, want: "a b,$X,"},
		{dir: dir, in: "pwd", want: root + dir + "\n"},
		{dir: "/gone", command: []string{"echo here"}, want: "here\n"},
		{command: []string{"echo here"}, want: "here\n"},
	} {
		cmd := exec.Command(sh, "-c", podWords(tt.dir, tt.command))
		cmd.Env = []string{"OVERBRAINER_POD_ROOT=" + root, "X=x", "SHELL=" + sh, "PATH=" + os.Getenv("PATH"), "HOME=" + root}
		if tt.in != "" {
			in := filepath.Join(t.TempDir(), "in")
			if err := os.WriteFile(in, []byte(tt.in+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(in)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			cmd.Stdin = f
		}
		if out, err := cmd.Output(); err != nil || string(out) != tt.want {
			t.Errorf("%q: %q %v, want %q", tt.command, out, err, tt.want)
		}
	}
	if got := podWords("", nil); got != "" {
		t.Errorf("a shell of ssh's own is asked for as %q", got)
	}
}
