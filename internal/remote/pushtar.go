package remote

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// batch uploads small files as one tar stream, which the machine unpacks and
// hashes. Where that pays, the stream is compressed.
func (u *upload) batch(ctx context.Context, files []File) error {
	defer Mark(ctx, "batch")()
	zipped := u.zips(func() bool { return u.shrink(files) })
	sum := int64(0)
	for _, f := range files {
		sum += f.Size
	}
	// The directories come first: two tars that make the same one at once fail.
	// -m, -o: no times and no owners. The digests follow once tar is done.
	script := fmt.Sprintf("%s%s%scd %s && %s %star -xmof - || exit 3\n%s",
		plainWords, wider(sum), u.tools.hash, Quote(path.Join(u.stage, "tree")), makeDirs(files), unzip(zipped), hashScript(paths(files)))
	p, err := u.c.start(ctx, script)
	if err != nil {
		return err
	}
	defer p.end()
	ans := u.listen(p, nil)
	sent := newFeed(u, p, zipped)
	sendErr := u.writeTar(ctx, sent, files)
	if sendErr == nil {
		sendErr = sent.end()
	}
	if sendErr != nil && !errors.Is(sendErr, io.EOF) {
		u.meter.lost(sent.claimed, 0)
		return sendErr
	}
	// A machine that stops reading says why, so its answer comes first.
	out, err := ans.wait(ctx, p)
	u.meter.lost(sent.claimed, 0)
	if err != nil {
		return fmt.Errorf("unpack on the machine: %w", firstError(ctx.Err(), err))
	}
	digests, err := parseHashes(out, len(files))
	if err != nil {
		return fmt.Errorf("hash on the machine: %w", err)
	}
	for i, f := range files {
		if digests[i] != f.SHA256 {
			return &VerifyError{Path: f.Path, Want: f.SHA256, Got: digests[i]}
		}
	}
	u.meter.got(sum)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.tree = append(u.tree, files...)
	return nil
}

// makeDirs is a command and && that makes the directories of files, or nothing.
func makeDirs(files []File) string {
	var b strings.Builder
	made := map[string]bool{".": true}
	for _, f := range files {
		if dir := path.Dir(f.Path); !made[dir] {
			made[dir] = true
			b.WriteByte(' ')
			quoteTo(&b, "./"+dir)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "mkdir -p" + b.String() + " &&"
}

// writeTar writes files as a tar stream that every tar can read.
func (u *upload) writeTar(ctx context.Context, w io.Writer, files []File) error {
	buffered := bufio.NewWriterSize(w, hashBuffer)
	tw := tar.NewWriter(buffered)
	buf := make([]byte, hashBuffer)
	for _, f := range files {
		perm := int64(0o644)
		if f.Exec {
			perm = 0o755
		}
		// The GNU format has names of any length and any bytes, and is known
		// to busybox, which ignores the extended headers of pax.
		err := tw.WriteHeader(&tar.Header{
			Format: tar.FormatGNU, Typeflag: tar.TypeReg, Name: "./" + f.Path, Size: f.Size, Mode: perm,
		})
		if err != nil {
			return err
		}
		if err := u.copyFile(ctx, tw, f, buf); err != nil {
			return err
		}
	}
	if err := tw.Close(); err != nil {
		return err
	}
	return buffered.Flush()
}

// copyFile writes a file's content, which must be as long as listed.
func (u *upload) copyFile(ctx context.Context, w io.Writer, f File, buf []byte) error {
	defer Mark(ctx, "file")()
	r, err := u.Open(f)
	if err != nil {
		return err
	}
	defer r.Close()
	for left := f.Size; left > 0; {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n, err := io.ReadFull(r, buf[:min(int64(len(buf)), left)])
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return changed(f, "it is shorter than it was")
		}
		if err != nil {
			return fmt.Errorf("read %q: %w", f.Path, err)
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return err
		}
		left -= int64(n)
	}
	return nil
}

func changed(f File, how string) error {
	return &VerifyError{Path: f.Path, Want: f.SHA256, Reason: how}
}

// answer is what a program writes while it is sent something.
type answer struct {
	out, errs bytes.Buffer
	done      chan struct{}
}

// listen reads a program's output; line, if not nil, is called with each line
// of standard output instead of keeping it.
func (u *upload) listen(p *process, line func(string)) *answer {
	a := &answer{done: make(chan struct{})}
	errsDone := make(chan struct{})
	go func() {
		defer close(errsDone)
		keepHead(&a.errs, io.TeeReader(p.Stderr(), aliveWriter{u.meter}), maxStderr)
	}()
	go func() {
		defer close(a.done)
		const most = 8 << 20
		r := io.TeeReader(p, aliveWriter{u.meter})
		if line == nil {
			_, _ = io.Copy(&a.out, io.LimitReader(r, most))
		} else {
			lines := bufio.NewScanner(r)
			for lines.Scan() {
				line(lines.Text())
			}
		}
		_, _ = io.Copy(io.Discard, r)
		<-errsDone
	}()
	return a
}

// wait waits for the program's end and returns its output. A failure is an
// error with what the program said about it.
func (a *answer) wait(ctx context.Context, p *process) (string, error) {
	select {
	case <-a.done:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	exit, signal, err := p.wait(ctx)
	if err != nil {
		return "", err
	}
	if exit != 0 {
		return "", failed(exit, signal, a.errs.String())
	}
	return a.out.String(), nil
}

// failed is a program of an upload that failed, with what it said.
func failed(exit int, signal, said string) error {
	err := fmt.Errorf("exit %d %s: %s", exit, signal, printable(said))
	if saysFull(said) {
		return &FullError{err}
	}
	return err
}
