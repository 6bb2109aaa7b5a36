package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"sync"
)

// sending is a large file on its way to the machine. Several channels write
// pieces of it, and one program there hashes it behind them.
type sending struct {
	u       *upload
	f       File
	stripes int
	name    string // in the stage's parts
	ext     *extents
	old     int64
	shrinks func() bool // tried once, where it matters

	mu      sync.Mutex
	pending int
}

func newSending(u *upload, f File, stripes int) *sending {
	s := &sending{u: u, f: f, name: partName(f), ext: newExtents(f.Size)}
	s.shrinks = sync.OnceValue(func() bool { return u.shrink([]File{f}) })
	if notes, ok := u.notes[s.name]; ok {
		s.ext.load(notes)
		s.ext.wholeUnits()
	}
	s.old = s.ext.done()
	u.meter.found(s.old)
	s.stripes = max(1, min(stripes, len(s.ext.missing())))
	return s
}

// partName is the name of a large file that is not in its place yet.
func partName(f File) string {
	h := newHash()
	_, _ = io.WriteString(h, f.Path)
	return f.SHA256 + "-" + h.hex()[:16]
}

// jobs are one per channel; whichever ends last waits for the digest.
func (s *sending) jobs() []func(context.Context) error {
	hands := deal(s.ext.missing(), s.stripes)
	if len(hands) == 0 {
		hands = [][]span{nil}
	}
	s.pending = len(hands)
	verified := make(chan error, 1)
	var begin sync.Once
	jobs := make([]func(context.Context) error, len(hands))
	for i, hand := range hands {
		jobs[i] = func(ctx context.Context) error {
			begin.Do(func() { go func() { verified <- s.verify(ctx) }() })
			if len(hand) > 0 {
				if err := s.send(ctx, hand); err != nil {
					return err
				}
			}
			s.mu.Lock()
			s.pending--
			last := s.pending == 0
			s.mu.Unlock()
			if !last {
				return nil
			}
			select {
			case err := <-verified:
				return s.again(ctx, err)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return jobs
}

// again sends a file anew that was wrong and partly from an earlier upload.
func (s *sending) again(ctx context.Context, err error) error {
	var wrong *VerifyError
	if err == nil {
		s.u.mu.Lock()
		defer s.u.mu.Unlock()
		s.u.parts = append(s.u.parts, s.f)
		return nil
	}
	if s.old == 0 || !errors.As(err, &wrong) || wrong.Got == "" {
		return err
	}
	delete(s.u.notes, s.name)
	return newSending(s.u, s.f, 1).jobs()[0](ctx)
}

// send writes pieces of the file over one channel. The machine answers each
// unit with its number once it is written.
func (s *sending) send(ctx context.Context, spans []span) error {
	most := 2048 // the numbers of the units must fit into a command
	if !s.u.tools.whole {
		most = 1 // a dd that cannot count what comes from a pipe reads to its end
	}
	for len(spans) > 0 {
		n, err := s.sendSpans(ctx, spans[:min(most, len(spans))])
		if err != nil {
			return err
		}
		spans = spans[n:]
	}
	return nil
}

// zips tells whether the file should travel compressed from here on.
func (s *sending) zips() bool { return s.u.zips(s.shrinks) }

// sendSpans sends pieces to one program, all compressed or none of them. It ends
// before those that should go the other way, and tells how many it sent.
func (s *sending) sendSpans(ctx context.Context, spans []span) (int, error) {
	defer Mark(ctx, "pieces")()
	zipped := s.zips()
	p, err := s.u.c.start(ctx, s.writeScript(spans, zipped))
	if err != nil {
		return 0, err
	}
	defer p.end()
	sent := newFeed(s.u, p, zipped)
	acked := 0
	ans := s.u.listen(p, func(line string) {
		if acked < len(spans) && line == strconv.Itoa(spans[acked].unit) {
			s.ext.add(spans[acked].unit, spans[acked].length)
			acked++
		}
	})
	n, err := s.copySpans(ctx, sent, spans, func() bool { return s.zips() == zipped })
	if err == nil {
		err = sent.end()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if _, err := ans.wait(ctx, p); err != nil {
		return 0, fmt.Errorf("write %q on the machine: %w", s.f.Path, err)
	}
	if acked != n {
		return 0, fmt.Errorf("write %q on the machine: %d of %d pieces acknowledged: %s", s.f.Path, acked, n, printable(ans.errs.String()))
	}
	s.u.meter.got(sent.plain - sent.claimed)
	return n, nil
}

// copySpans reads the pieces and writes them to the channel, as long as they should
// go that way. It tells how many it wrote.
func (s *sending) copySpans(ctx context.Context, w io.Writer, spans []span, on func() bool) (int, error) {
	r, err := s.u.Open(s.f)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	buf := make([]byte, hashBuffer)
	at := int64(0)
	for i, sp := range spans {
		if i > 0 && !on() {
			return i, nil
		}
		if at != sp.offset {
			if _, err := r.Seek(sp.offset, io.SeekStart); err != nil {
				return i, fmt.Errorf("read %q: %w", s.f.Path, err)
			}
			at = sp.offset
		}
		sent := Mark(ctx, "piece")
		for end := sp.offset + sp.length; at < end; {
			if ctx.Err() != nil {
				return i, ctx.Err()
			}
			n, err := io.ReadFull(r, buf[:min(int64(len(buf)), end-at)])
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return i, changed(s.f, "it is shorter than it was")
			}
			if err != nil {
				return i, fmt.Errorf("read %q: %w", s.f.Path, err)
			}
			if _, err := w.Write(buf[:n]); err != nil {
				return i, err
			}
			at += int64(n)
		}
		sent()
	}
	return len(spans), nil
}

// writeScript takes pieces of the file from standard input, one after the
// other, and says and notes each one that is written. A connection that is cut
// ends a piece early, which is no error to dd: it has to have counted all of
// its blocks. Where it cannot count them, nothing is noted for later. An input that
// ends between two pieces is one whose others go another way.
func (s *sending) writeScript(spans []span, zipped bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%scd %s || exit 1\nset --", plainWords, Quote(path.Join(s.u.stage, "parts")))
	for _, sp := range spans {
		full, rest := sp.length/blockSize, 0
		if sp.length%blockSize > 0 {
			rest = 1
		}
		fmt.Fprintf(&b, " %d %d %d+%d %d", sp.offset/blockSize, full+int64(rest), full, rest, sp.unit)
	}
	count, note := `count="$2" iflag=fullblock`, fmt.Sprintf(`n=${e%%%% *}
[ "$n" != 0+0 ] || exit 0
[ "$n" = "$3" ] || exit 3
echo "$4 %d" >>"$f.have"`, s.ext.unit)
	if !s.u.tools.whole {
		count, note = "", ""
	}
	fmt.Fprintf(&b, `
%sf=%s
%swhile [ $# -gt 3 ]; do
e=$(dd of="$f" bs=%d seek="$1" conv=notrunc %s 2>&1) || { printf '%%s\n' "$e" >&2; exit 2; }
%s
echo "$4"
shift 4
done`, wider(s.f.Size), Quote(s.name), unzip(zipped), blockSize, count, note)
	return b.String()
}

// verify hashes the file on the machine behind the channels that fill it.
func (s *sending) verify(ctx context.Context) error {
	defer Mark(ctx, "hash")()
	select {
	case s.u.hashes <- struct{}{}:
		defer func() { <-s.u.hashes }()
	case <-ctx.Done():
		return ctx.Err()
	}
	p, err := s.u.c.start(ctx, s.behindScript())
	if err != nil {
		return err
	}
	defer p.end()
	ans := s.u.listen(p, nil)
	if err := s.lead(ctx, p); err != nil {
		return err
	}
	_ = p.CloseWrite()
	out, err := ans.wait(ctx, p)
	if err != nil {
		return fmt.Errorf("hash %q on the machine: %w", s.f.Path, err)
	}
	digests, err := parseHashes(out, 1)
	if err != nil {
		return fmt.Errorf("hash %q on the machine: %w", s.f.Path, err)
	}
	if digests[0] != s.f.SHA256 {
		s.u.meter.lost(s.ext.done(), s.old)
		return &VerifyError{Path: s.f.Path, Want: s.f.SHA256, Got: digests[0]}
	}
	return nil
}

// behindScript hashes the blocks that it is told of on standard input, as
// "first count", and shows a sign of life for each. A python3 that has OpenSSL
// hashes them where they lie; otherwise they go through a pipe.
func (s *sending) behindScript() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%scd %s || exit 1\n", s.u.tools.hash, Quote(path.Join(s.u.stage, "parts")))
	if s.f.Size >= worthPython {
		fmt.Fprintf(&b, `python3 -c 'import _hashlib' 2>/dev/null && exec python3 -c 'import _hashlib,sys
h=_hashlib.openssl_sha256();f=open(sys.argv[1],"rb",0);n=int(sys.argv[2])
b=memoryview(bytearray(262144))
for l in sys.stdin:
 s,c=map(int,l.split());f.seek(s*n);c*=n
 while c:
  k=f.readinto(b[:c])
  if not k: break
  h.update(b[:k]);c-=k
 sys.stderr.write(".\n");sys.stderr.flush()
print(h.hexdigest())' %s %d
`, Quote(s.name), blockSize)
	}
	fmt.Fprintf(&b, `while read -r s c; do
dd if=%s bs=%d skip="$s" count="$c" 2>/dev/null
echo . >&2
done | h`, Quote(s.name), blockSize)
	return b.String()
}

// worthPython is from which size of a file on the start of a python3 costs less
// than a pipe.
const worthPython = 64 << 20

// wider is a command that gives standard input's pipe a megabyte, where python3 is
// there: with the usual 64 KiB, sshd and what reads from it wait for each other all
// the time. 1031 is Linux's F_SETPIPE_SZ, which a megabyte is allowed without
// privileges.
func wider(size int64) string {
	if size < worthPython {
		return ""
	}
	return "python3 -I -S -c 'import fcntl; fcntl.fcntl(0, 1031, 1 << 20)' 2>/dev/null\n"
}

// lead tells the hash program which blocks are there, in their order, in
// pieces that are worth a program each.
func (s *sending) lead(ctx context.Context, w io.Writer) error {
	const piece = 16 << 20
	for at := int64(0); at < s.f.Size; {
		front := s.ext.frontier()
		if front < s.f.Size && front-at < piece {
			select {
			case <-s.ext.grown:
			case <-ctx.Done():
				return ctx.Err()
			}
			continue
		}
		// The frontier of an upload is at a unit's end: at whole blocks.
		if _, err := fmt.Fprintf(w, "%d %d\n", at/blockSize, (front-at+blockSize-1)/blockSize); err != nil {
			return err
		}
		at = front
	}
	return nil
}
