// s3server is the S3 server that the tests of the state backend run against:
// Versity's gateway over a directory, in one process, on a loopback address. It
// is a module of its own, since it needs more than the program does.
//
//	s3server ADDRESS DIRECTORY
//
// Buckets are directories below DIRECTORY/data. The root account comes from
// AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. It ends with its standard input.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: s3server ADDRESS DIRECTORY")
		os.Exit(2)
	}
	if err := serve(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "s3server:", err)
		os.Exit(1)
	}
}

func serve(address, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	data, attributes := filepath.Join(dir, "data"), filepath.Join(dir, "attributes")
	for _, d := range []string{data, attributes} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	side, err := meta.NewSideCar(attributes)
	if err != nil {
		return err
	}
	store, err := posix.New(data, side, posix.PosixOpts{SideCarDir: attributes, Concurrency: 64})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return embedgw.RunVersityGW(ctx, store, &embedgw.Config{
		RootUserAccess: os.Getenv("AWS_ACCESS_KEY_ID"),
		RootUserSecret: os.Getenv("AWS_SECRET_ACCESS_KEY"),
		Ports:          []string{address},
		MaxConnections: 1024, MaxRequests: 256, MultipartMaxParts: 100,
		KeepAlive: true, Quiet: true,
	})
}
