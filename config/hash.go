package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// hashFiles fills the digests of files, several at a time. Each file is read
// once, or not at all where the cache knows it.
func (p *program) hashFiles(ctx context.Context, files []*treeFile) {
	jobs := make(chan *treeFile)
	var workers sync.WaitGroup
	for range min(len(files), 2*runtime.GOMAXPROCS(0), 16) {
		workers.Go(func() {
			for f := range jobs {
				f.sum, f.err = p.hashFile(ctx, f)
			}
		})
	}
	for _, f := range files {
		if f.sum == "" && f.err == nil && f.problem == "" {
			jobs <- f
		}
	}
	close(jobs)
	workers.Wait()
}

// errMoving: a file did not hold still while it was read.
var errMoving = errors.New("it changes while it is read; wait until whatever writes it has ended")

func (p *program) hashFile(ctx context.Context, f *treeFile) (string, error) {
	name := filepath.Join(p.dir, filepath.FromSlash(f.path))
	if p.opt.Unread {
		return "", readable(name)
	}
	for range 3 {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		key := hashKey(name, f.info)
		if p.opt.Hashes != nil {
			if sum, ok := p.opt.Hashes.Get(key); ok {
				return sum, nil
			}
		}
		sum, info, err := readHash(ctx, name)
		if err != nil {
			return "", err
		}
		f.info = info
		if hashKey(name, info) != key {
			continue
		}
		if p.opt.Hashes != nil {
			p.opt.Hashes.Put(key, sum)
		}
		return sum, nil
	}
	return "", errMoving
}

func readable(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	return file.Close()
}

// buffers are for reading files: one for each of thousands of small ones would be
// most of the memory that a configuration takes.
var buffers = sync.Pool{New: func() any { return new([256 << 10]byte) }}

// readHash reads a file and tells what it looked like after it was read.
func readHash(ctx context.Context, name string) (string, os.FileInfo, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", nil, err
	}
	defer file.Close()
	h := sha256.New()
	buffer := buffers.Get().(*[256 << 10]byte)
	defer buffers.Put(buffer)
	n, err := io.CopyBuffer(h, contextReader{ctx, file}, buffer[:])
	if err != nil {
		return "", nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return "", nil, err
	}
	if info.Size() != n {
		return "", nil, errMoving
	}
	return hex.EncodeToString(h.Sum(nil)), info, nil
}

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(buf []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(buf)
}

func hashKey(name string, info os.FileInfo) HashKey {
	return HashKey{Path: name, Size: info.Size(), MTimeNS: info.ModTime().UnixNano(), Inode: inode(info)}
}
