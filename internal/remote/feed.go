package remote

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"io"
)

// feed is the standard input of a program that takes files, either as they are or
// through gzip. It claims the bytes of files that must have arrived: all but what
// may be under way.
type feed struct {
	u    *upload
	p    *process
	zip  *gzip.Writer  // nil: as they are
	zips *bufio.Writer // what comes out of zip, which writes a few bytes at a time

	plain, sent int64 // bytes that came in, and that went out for them
	under       []passed
	claimed     int64 // of plain
}

// passed notes how much had come in when something went out.
type passed struct{ sent, plain int64 }

func newFeed(u *upload, p *process, zipped bool) *feed {
	f := &feed{u: u, p: p}
	if zipped {
		f.zips = bufio.NewWriterSize((*wire)(f), hashBuffer)
		f.zip, _ = gzip.NewWriterLevel(f.zips, gzip.BestSpeed)
	}
	return f
}

// unzip is what stands before a program on the machine that reads a feed.
func unzip(zipped bool) string {
	if zipped {
		return "gzip -dc | "
	}
	return ""
}

func (f *feed) Write(b []byte) (int, error) {
	f.plain += int64(len(b))
	if f.zip != nil {
		return f.zip.Write(b)
	}
	return (*wire)(f).Write(b)
}

// end sends what is still held here, and the end of the input.
func (f *feed) end() error {
	if f.zip != nil {
		if err := firstError(f.zip.Close(), f.zips.Flush()); err != nil {
			return err
		}
	}
	_ = f.p.CloseWrite()
	return nil
}

// wire is the side of a feed where the bytes go out.
type wire feed

func (w *wire) Write(b []byte) (int, error) {
	if err := w.p.asked(); err != nil {
		return 0, err
	}
	n, err := w.u.c.pace.write(w.p.Channel, b)
	w.u.meter.alive()
	w.sent += int64(n)
	w.under = append(w.under, passed{w.sent, w.plain})
	arrived := w.claimed
	// The block covers what zip had taken in and not given out yet as well.
	for w.under[0].sent <= w.sent-window-blockSize {
		arrived, w.under = w.under[0].plain, w.under[1:]
	}
	if arrived > w.claimed {
		w.u.meter.got(arrived - w.claimed)
		w.claimed = arrived
	}
	return n, err
}

// zips tells whether files should travel compressed: the line is slow, the machine
// can unpack, and they are worth it.
func (u *upload) zips(shrink func() bool) bool {
	return u.tools.gzip && u.c.pace.isSlow() && shrink()
}

// shrink tells whether compressing files leaves less than three quarters of them.
// It tries pieces at even distances of all of their bytes.
func (u *upload) shrink(files []File) bool {
	const pieces, size = 8, 32 << 10
	total := int64(0)
	for _, f := range files {
		total += f.Size
	}
	if total == 0 {
		return false
	}
	var packed byteCount
	zip, _ := flate.NewWriter(&packed, flate.BestSpeed)
	tried, i, begin := int64(0), 0, int64(0) // of files[i]
	for piece := range int64(pieces) {
		at := total / pieces * piece
		for ; at >= begin+files[i].Size; i++ {
			begin += files[i].Size
		}
		n, err := u.copyPiece(zip, files[i], at-begin, size)
		if err != nil {
			return false // who sends it will say why
		}
		tried += n
	}
	_ = zip.Close()
	return int64(packed) < tried*3/4
}

// copyPiece copies up to size bytes from the middle of a file.
func (u *upload) copyPiece(w io.Writer, f File, at, size int64) (int64, error) {
	r, err := u.Open(f)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	if _, err := r.Seek(at, io.SeekStart); err != nil {
		return 0, err
	}
	return io.Copy(w, io.LimitReader(r, size))
}

// byteCount counts what is written to it.
type byteCount int64

func (c *byteCount) Write(b []byte) (int, error) {
	*c += byteCount(len(b))
	return len(b), nil
}
