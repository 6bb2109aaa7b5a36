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

// batch downloads small files as one tar stream.
func (d *download) batch(ctx context.Context, files []File) error {
	defer Mark(ctx, "batch")()
	var script strings.Builder
	// A link that is listed stands for the file that it leads to.
	fmt.Fprintf(&script, "cd %s && exec tar -chf -", Quote(d.dir))
	for _, f := range files {
		script.WriteByte(' ')
		quoteTo(&script, "./"+f.Path)
	}
	p, err := d.c.start(ctx, script.String())
	if err != nil {
		return err
	}
	defer p.end()
	_ = p.CloseWrite()
	problems := make(chan string, 1)
	go func() {
		var text bytes.Buffer
		keepHead(&text, p.Stderr(), maxStderr)
		problems <- printable(text.String())
	}()

	missing, err := d.readTar(ctx, p, files)
	if err == nil {
		_, err = io.Copy(io.Discard, onlyReader{p}) // what pads the archive
	}
	if err != nil {
		return err
	}
	if len(missing) == 0 {
		return nil
	}
	exit, signal, err := p.wait(ctx)
	if err != nil {
		return err
	}
	return &VerifyError{Path: missing[0].Path, Want: missing[0].SHA256,
		Reason: fmt.Sprintf("the machine's tar did not send it (exit %d %s): %s", exit, signal, <-problems)}
}

// readTar takes the files of a batch out of a tar stream. Only regular files
// that are in the batch, with the size they should have, are ever written. It
// returns those that did not come.
func (d *download) readTar(ctx context.Context, r io.Reader, files []File) (missing []File, err error) {
	want := make(map[string]File, len(files))
	for _, f := range files {
		want[f.Path] = f
	}
	tr := tar.NewReader(bufio.NewReaderSize(r, receiveBuffer))
	buf := make([]byte, hashBuffer)
	for len(want) > 0 {
		header, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the machine's tar stream: %w", err)
		}
		f, ok := want[path.Clean(header.Name)]
		if !ok {
			return nil, fmt.Errorf("the machine sent %q, which was not asked for", printable(header.Name))
		}
		switch header.Typeflag {
		case tar.TypeReg:
		case tar.TypeLink:
			d.mu.Lock()
			d.linked = append(d.linked, f)
			d.mu.Unlock()
			delete(want, f.Path)
			continue
		default:
			return nil, &VerifyError{Path: f.Path, Want: f.SHA256, Reason: "it is no regular file any more"}
		}
		grown := header.Size > f.Size && d.grows != nil && d.grows(f.Path)
		if header.Size != f.Size && !grown {
			return nil, &VerifyError{Path: f.Path, Want: f.SHA256,
				Reason: fmt.Sprintf("it has %d bytes instead of %d", header.Size, f.Size)}
		}
		if err := d.writeSmall(ctx, f, tr, buf); err != nil {
			return nil, err
		}
		delete(want, f.Path)
	}
	for _, f := range files {
		if _, ok := want[f.Path]; ok {
			missing = append(missing, f)
		}
	}
	return missing, nil
}

// writeSmall writes a file and verifies it while its bytes pass. What is not
// whole and right is removed.
func (d *download) writeSmall(ctx context.Context, f File, r io.Reader, buf []byte) (err error) {
	defer Mark(ctx, "file")()
	file, err := d.create(f.Path, f.Exec)
	if err != nil {
		return err
	}
	var written int64
	defer func() {
		closeErr := file.Close()
		if err = firstError(err, closeErr); err != nil {
			d.meter.lost(written, 0)
			_ = d.root.Remove(f.Path)
		}
	}()
	h := newHash()
	for written < f.Size {
		n, err := io.ReadFull(r, buf[:min(int64(len(buf)), f.Size-written)])
		if err != nil {
			return fmt.Errorf("receive %q: %w", f.Path, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		h.Write(buf[:n])
		if _, err := file.Write(buf[:n]); err != nil {
			return err
		}
		written += int64(n)
		d.meter.got(int64(n))
	}
	d.meter.alive()
	if got := h.hex(); got != f.SHA256 {
		return &VerifyError{Path: f.Path, Want: f.SHA256, Got: got}
	}
	return nil
}
