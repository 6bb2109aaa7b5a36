package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
)

// part is a large file on its way here. It grows under a name made of its key or
// its expected digest, so that what is there is of use only to the same content.
type part struct {
	d       *download
	f       File
	stripes int
	name    string // under the staging directory
	ext     *extents

	once sync.Once // opens the file
	file *os.File
	err  error
	old  int64 // bytes that were there before

	// inline: the only channel hashes what it receives. Otherwise verify reads
	// behind the channels what they have written.
	inline bool
	hash   digest

	mu      sync.Mutex
	pending int // channels that have not ended
}

func newPart(d *download, f File, stripes int) *part {
	content := f.SHA256
	if key, found := d.keys[f.Path]; found {
		content = hashOf(key)
	}
	p := &part{d: d, f: f, ext: newExtents(f.Size), hash: newHash()}
	p.name = path.Join(d.parts, content+"-"+hashOf(f.Path)[:16])
	if info, err := d.root.Lstat(p.name); err == nil && info.Mode().IsRegular() && info.Size() <= f.Size {
		if text, err := d.root.ReadFile(p.name + ".have"); err == nil {
			p.ext.load(string(text))
		}
	}
	p.old = p.ext.done()
	d.meter.found(p.old)
	p.stripes = max(1, min(stripes, len(p.ext.missing())))
	return p
}

// jobs are one per channel; whichever ends last verifies the file.
func (p *part) jobs() []func(context.Context) error {
	hands := deal(p.ext.missing(), p.stripes)
	if len(hands) == 0 {
		hands = [][]span{nil} // all there, to be verified
	}
	p.pending = len(hands)
	p.inline = len(hands) == 1 && p.old == 0
	verified := make(chan error, 1)
	jobs := make([]func(context.Context) error, len(hands))
	for i, hand := range hands {
		jobs[i] = func(ctx context.Context) error {
			p.once.Do(func() {
				p.mu.Lock()
				defer p.mu.Unlock()
				if p.err = p.open(); p.err == nil && !p.inline {
					file := p.file
					go func() { verified <- p.verify(ctx, file) }()
				}
			})
			if p.err != nil {
				return p.err
			}
			if len(hand) > 0 {
				if err := p.receive(ctx, hand); err != nil {
					return err
				}
			}
			p.mu.Lock()
			p.pending--
			last := p.pending == 0
			p.mu.Unlock()
			switch {
			case !last:
				return nil
			case p.inline:
				return p.settle(ctx)
			}
			select {
			case err := <-verified:
				return p.again(ctx, err)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return jobs
}

// again fetches a file anew that was wrong and partly from an earlier
// transfer: what lay here may have changed since.
func (p *part) again(ctx context.Context, err error) error {
	var wrong *VerifyError
	if p.old == 0 || !errors.As(err, &wrong) || wrong.Got == "" {
		return err
	}
	fresh := newPart(p.d, p.f, 1)
	defer fresh.keep()
	return fresh.jobs()[0](ctx)
}

// open opens the file, and makes it as long as it will be: whatever is not written of
// it is a hole, also of one that was shorter after a crash.
func (p *part) open() error {
	if err := p.d.root.Mkdir(p.d.parts, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	flags, perm := os.O_RDWR|os.O_CREATE, fs.FileMode(0o666)
	if p.f.Exec {
		perm = 0o777
	}
	if p.old == 0 {
		_ = p.d.root.Remove(p.name)
		_ = p.d.root.Remove(p.name + ".have")
		flags |= os.O_EXCL
	}
	var err error
	if p.file, err = p.d.root.OpenFile(p.name, flags, perm); err != nil {
		return err
	}
	return p.file.Truncate(p.f.Size)
}

// receive fills spans of the file from one channel.
func (p *part) receive(ctx context.Context, spans []span) error {
	proc, err := p.d.c.start(ctx, readScript(p.d.dir, p.f.Path, spans))
	if err != nil {
		return err
	}
	defer proc.end()
	_ = proc.CloseWrite()
	problems := make(chan string, 1)
	go func() {
		var text bytes.Buffer
		keepHead(&text, proc.Stderr(), maxStderr)
		problems <- printable(text.String())
	}()
	p.mu.Lock()
	file := p.file
	p.mu.Unlock()
	buf := make([]byte, receiveBuffer)
	for _, s := range spans {
		for at := int64(0); at < s.length; {
			n, err := io.ReadFull(proc, buf[:min(int64(len(buf)), s.length-at)])
			if n > 0 && (ctx.Err() == nil || err == nil) {
				if err := p.write(file, buf[:n], s.offset+at); err != nil {
					return err
				}
				if at += int64(n); at == s.length {
					// Before the last byte counts: whoever verifies the file
					// removes the note with it.
					noted := Mark(ctx, "piece")
					p.note(fmt.Sprintf("%d %d\n", s.unit, p.ext.length(s.unit)))
					noted()
				}
				p.ext.add(s.unit, int64(n))
				p.d.meter.got(int64(n))
			}
			if err != nil {
				return p.broken(ctx, proc, problems, err)
			}
		}
	}
	return nil
}

// write puts bytes in their place, in pieces that are still in the processor's cache
// when they are hashed. Zeros are left out, since they are there: a hole takes no room.
func (p *part) write(file *os.File, b []byte, at int64) error {
	for piece := range slices.Chunk(b, hashBuffer) {
		if len(bytes.TrimLeft(piece, "\x00")) > 0 {
			if _, err := file.WriteAt(piece, at); err != nil {
				return err
			}
		}
		if p.inline {
			p.hash.Write(piece)
		}
		at += int64(len(piece))
	}
	return nil
}

// note appends to what is known to be here. Without it a transfer that is
// killed begins the file again, so its failure is none of the transfer's.
func (p *part) note(line string) {
	f, err := p.d.root.OpenFile(p.name+".have", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err == nil {
		_, _ = f.WriteString(line)
		_ = f.Close()
	}
}

// broken finds out why a channel ended early.
func (p *part) broken(ctx context.Context, proc *process, problems <-chan string, err error) error {
	exit, signal, waitErr := proc.wait(ctx)
	if waitErr != nil {
		return firstError(ctx.Err(), fmt.Errorf("receive %q: %w", p.f.Path, firstError(waitErr, err)))
	}
	reason := "it is shorter than it was"
	if text := <-problems; exit != 0 {
		reason = fmt.Sprintf("the machine could not read it (exit %d %s): %s", exit, signal, text)
	}
	return &VerifyError{Path: p.f.Path, Want: p.f.SHA256, Reason: reason}
}

// readScript writes spans of a file to standard output, one after the other.
// dd's errors are dropped with its statistics, so the file is opened before.
func readScript(dir, name string, spans []span) string {
	var b strings.Builder
	file := Quote("./" + name)
	fmt.Fprintf(&b, "cd %s && : < %s || exit 1\nset --", Quote(dir), file)
	for i := 0; i < len(spans); {
		start, end := spans[i].offset, spans[i].offset+spans[i].length
		for i++; i < len(spans) && spans[i].offset == end; i++ {
			end += spans[i].length
		}
		fmt.Fprintf(&b, " %d %d", start/blockSize, (end-start+blockSize-1)/blockSize)
	}
	fmt.Fprintf(&b, `
while [ $# -gt 1 ]; do
dd if=%s bs=%d skip="$1" count="$2" 2>/dev/null || exit 2
shift 2
done`, file, blockSize)
	return b.String()
}

// verify hashes the file behind the channels that fill it, and settles it.
func (p *part) verify(ctx context.Context, file *os.File) error {
	buf := make([]byte, hashBuffer)
	for at := int64(0); at < p.f.Size; {
		if at == p.ext.frontier() {
			select {
			case <-p.ext.grown:
			case <-ctx.Done():
				return ctx.Err()
			}
			continue
		}
		n, err := file.ReadAt(buf[:min(int64(len(buf)), p.ext.frontier()-at)], at)
		if n == 0 {
			return fmt.Errorf("read back %q: %w", p.f.Path, err)
		}
		p.hash.Write(buf[:n])
		at += int64(n)
		p.d.meter.alive()
	}
	return p.settle(ctx)
}

// settle puts a whole file in its place if its digest is right, or tells which it
// has where that is not known yet.
func (p *part) settle(ctx context.Context) error {
	got := p.hash.hex()
	if p.d.ahead == nil && got != p.f.SHA256 {
		p.drop()
		return &VerifyError{Path: p.f.Path, Want: p.f.SHA256, Got: got}
	}
	defer Mark(ctx, "placing")()
	if err := p.place(); err != nil || p.d.ahead == nil {
		return err
	}
	f := p.f
	f.SHA256 = got
	p.d.ahead.Arrived(f)
	return nil
}

// place puts a verified file where it belongs.
func (p *part) place() error {
	if err := p.close(); err != nil {
		return err
	}
	if dir := path.Dir(p.f.Path); dir != "." {
		if err := p.d.root.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	if err := p.d.root.Rename(p.name, p.f.Path); err != nil {
		return err
	}
	_ = p.d.root.Remove(p.name + ".have")
	return nil
}

// drop removes what was received.
func (p *part) drop() {
	_ = p.close()
	_ = p.d.root.Remove(p.name)
	_ = p.d.root.Remove(p.name + ".have")
	p.d.meter.lost(p.ext.done(), p.old)
}

func (p *part) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file == nil {
		return nil
	}
	err := p.file.Close()
	p.file = nil
	return err
}

// keep notes what is there of a file that is not complete.
func (p *part) keep() {
	p.mu.Lock()
	open := p.file != nil
	p.mu.Unlock()
	if !open {
		return
	}
	p.note(p.ext.text())
	_ = p.close()
}
