package remotetest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

// Load is a set of files that a benchmark moves.
type Load struct {
	Name  string
	Count int
	Size  int           // bytes of each file
	Delay time.Duration // each way
	// Of makes each MiB of the content; nil: the same random bytes for all.
	Of func(seed uint64, size int) []byte
}

// Loads are the sets that transfers are measured with.
func Loads() []Load {
	const far = 25 * time.Millisecond
	return []Load{
		{Name: "small", Count: 10_000, Size: 4 << 10},
		{Name: "mid", Count: 200, Size: 5 << 20},
		{Name: "big", Count: 1, Size: 2 << 30},
		{Name: "far_big", Count: 1, Size: 256 << 20, Delay: far},
		{Name: "far_small", Count: 200, Size: 4 << 10, Delay: far},
	}
}

// Random is content that does not shrink.
func Random(seed uint64, size int) []byte {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)}).Read(b)
	return b
}

// Text is content as of a data set, a JSON object on each line, which shrinks to a
// third.
func Text(seed uint64, size int) []byte {
	words := strings.Fields(`the model answers a question about weather and music with care for each of
		those who ask it train loss value batch token step rate small large data set world time people year day
		man thing woman life child school state family student group country problem hand part place case week
		company system program work government number night point home water room mother area money story fact
		month lot right study book eye job word business issue side kind head house service friend father power
		hour game line end member law car city community name president team minute idea body information back`)
	r := rand.New(rand.NewPCG(seed, 0))
	b := make([]byte, 0, size+1<<10)
	for len(b) < size {
		b = fmt.Appendf(b, `{"id":"%016x","role":"user","text":"`, r.Uint64())
		for range 20 + r.IntN(60) {
			b = append(append(b, words[r.IntN(len(words))]...), ' ')
		}
		b = fmt.Appendf(b, "\",\"score\":%.4f}\n", r.Float64())
	}
	return b[:size]
}

// Item is one file of a load.
type Item struct {
	Path   string // relative, slash-separated
	Size   int64
	SHA256 string // 64 hexadecimal digits
}

// Make writes the files of a load, in directories of a hundred, without
// leaving a heap behind that a client would not have.
func (l Load) Make(t T) (dir string, items []Item) {
	t.Helper()
	dir = t.TempDir()
	chunk := make([]byte, min(l.Size, 1<<20))
	_, _ = rand.NewChaCha8([32]byte{1}).Read(chunk)
	for i := range l.Count {
		item := Item{Path: fmt.Sprintf("d%02d/file-%05d.bin", i/100, i), Size: int64(l.Size)}
		name := filepath.Join(dir, filepath.FromSlash(item.Path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		h := sha256.New()
		for n := 0; n < l.Size; n += len(chunk) {
			if l.Of != nil {
				chunk = l.Of(uint64(i)<<20+uint64(n>>20), len(chunk))
			}
			chunk[0], chunk[1] = byte(i), byte(i>>8)
			h.Write(chunk)
			if _, err := out.Write(chunk); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		item.SHA256 = hex.EncodeToString(h.Sum(nil))
		items = append(items, item)
	}
	debug.FreeOSMemory()
	return dir, items
}

// Peer is another program that moves a load, or does a part of the work.
type Peer struct {
	Name   string // "up/scp"
	script string // for sh, with SRC and DST for directories
}

// Run moves the load from dir into target, which is made.
func (p Peer) Run(dir, target string) error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	line := strings.NewReplacer("SRC", dir, "DST", target).Replace(p.script)
	if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", p.Name, err, out)
	}
	return nil
}

// Peers are the programs that a load is compared with and that this machine
// has: those of OpenSSH, with the port of the server or of a proxy before it,
// rsync, and for one large file a pass of SHA-256.
func (l Load) Peers(s *Server, port int) []Peer {
	options := words(s.SSHArgs(port)...)
	ssh := "ssh " + options + " -o Ciphers=aes128-gcm@openssh.com " + s.Host
	scp := "scp -q -r " + options
	remote := s.Host + ":"
	peers := []Peer{
		{"up/scp", scp + " SRC/. " + remote + "DST"},
		{"down/scp", scp + " " + remote + "SRC/. DST"},
	}
	if l.Count > 1 {
		peers = append(peers,
			Peer{"up/tar", "tar -C SRC -cf - . | " + ssh + " 'tar -C DST -xf -'"},
			Peer{"down/tar", ssh + " 'tar -C SRC -cf - .' | tar -C DST -xf -"})
	} else {
		const file = "SRC/d00/file-00000.bin"
		peers = append(peers,
			Peer{"up/cat", ssh + " 'cat >DST/f' <" + file},
			Peer{"down/cat", ssh + " 'cat " + file + "' >DST/f"},
			Peer{"hash/sha256sum", "sha256sum " + file})
		if has("openssl") {
			peers = append(peers, Peer{"hash/openssl", "openssl dgst -sha256 " + file})
		}
	}
	if has("rsync") {
		shell := words("ssh " + options)
		peers = append(peers,
			Peer{"up/rsync", "rsync -r -e " + shell + " SRC/ " + remote + "DST"},
			Peer{"down/rsync", "rsync -r -e " + shell + " " + remote + "SRC/ DST"})
	}
	return peers
}

// Compressing are the programs that this machine has for sending a load over a slow
// line, and one that does not compress.
func (l Load) Compressing(s *Server, port int) []Peer {
	options := words(s.SSHArgs(port)...)
	remote := s.Host + ":"
	peers := []Peer{
		{"up/scp", "scp -q -r " + options + " SRC/. " + remote + "DST"},
		{"up/scp -C", "scp -q -C -r " + options + " SRC/. " + remote + "DST"},
		{"up/tar, gzip", "tar -C SRC -cf - . | gzip | ssh " + options + " " + s.Host + " 'gzip -dc | tar -C DST -xf -'"},
	}
	if has("rsync") {
		peers = append(peers, Peer{"up/rsync -z", "rsync -rz -e " + words("ssh "+options) + " SRC/ " + remote + "DST"})
	}
	return peers
}

func has(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// words quotes arguments for a shell.
func words(args ...string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}
