// Command release builds what is published: for each platform a static binary
// in an archive with manual pages, completions and licences, its bill of
// materials, and the checksums of all. The same source, version and
// SOURCE_DATE_EPOCH give the same bytes. `release licences` only checks the
// licences of what is built in, and lists them.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// platforms that are built, as GOOS/GOARCH.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/arm64", "darwin/amd64", "windows/amd64"}

// release is one making.
type release struct {
	source  string // the top of the source
	dist    string
	version string
	at      time.Time           // of every file
	licence []byte              // of what is built in, all in one
	names   map[string][]string // the same by module, as SPDX has them
}

func main() {
	r := release{}
	flag.StringVar(&r.source, "source", "../..", "the top of the source")
	flag.StringVar(&r.dist, "dist", "", "where to; default: dist in the source")
	flag.StringVar(&r.version, "version", "dev", "the version")
	only := flag.String("only", "", "one platform, as linux/amd64")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := r.make(ctx, flag.Arg(0), *only); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func (r *release) make(ctx context.Context, what, only string) error {
	var err error
	if r.source, err = filepath.Abs(r.source); err != nil {
		return err
	}
	if r.dist == "" {
		r.dist = filepath.Join(r.source, "dist")
	}
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil && what == "" {
		return errors.New("SOURCE_DATE_EPOCH has to be the time of the source in seconds; make release sets it to that of the last commit")
	}
	r.at = time.Unix(seconds, 0).UTC()
	modules, err := r.licences(ctx)
	if err != nil {
		return err
	}
	if what == "licences" {
		for _, m := range modules {
			fmt.Println(m.Path, m.Version, strings.Join(r.names[m.key], ", "))
		}
		return nil
	}
	if err := os.RemoveAll(r.dist); err != nil {
		return err
	}
	if err := os.MkdirAll(r.dist, 0o755); err != nil {
		return err
	}
	extras, err := r.extras(ctx)
	if err != nil {
		return err
	}
	for _, platform := range platforms {
		if only != "" && only != platform {
			continue
		}
		if err := r.platform(ctx, platform, extras); err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
	}
	return r.checksums()
}

// scratch makes a directory for what is not published. It is below dist, where the
// next making, or make clean, removes it should this one be killed.
func (r *release) scratch() (string, error) { return os.MkdirTemp(r.dist, ".scratch-") }

// command is a program that is told to end, and clean up, when the context ends.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// build compiles the program for a platform. Nothing of this machine gets into
// the binary: no paths, no build ID, no state of the checkout.
func (r *release) build(ctx context.Context, goos, goarch, to string) error {
	cmd := command(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -buildid= -X main.version="+r.version, "-o", to, "./cmd/overbrainer")
	cmd.Dir = r.source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+goos, "GOARCH="+goarch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// extras are the files of every archive that are the same on all platforms.
func (r *release) extras(ctx context.Context) ([]entry, error) {
	scratch, err := r.scratch()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	host := filepath.Join(scratch, "overbrainer")
	build := command(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-X main.version="+r.version, "-o", host, "./cmd/overbrainer")
	build.Dir, build.Env = r.source, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	pages := filepath.Join(scratch, "pages")
	if out, err := command(ctx, host, "manual", pages).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("overbrainer manual: %w\n%s", err, out)
	}
	entries, err := tree(pages)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(r.source, name))
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name: name, data: data, mode: 0o644})
	}
	return append(entries, entry{name: "THIRD_PARTY_LICENSES.txt", data: r.licence, mode: 0o644}), nil
}

// platform makes one platform's archive and bill of materials.
func (r *release) platform(ctx context.Context, platform string, extras []entry) error {
	goos, goarch, _ := strings.Cut(platform, "/")
	scratch, err := r.scratch()
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	program := "overbrainer"
	if goos == "windows" {
		program += ".exe"
	}
	binary := filepath.Join(scratch, program)
	if err := r.build(ctx, goos, goarch, binary); err != nil {
		return err
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("overbrainer_%s_%s_%s", strings.TrimPrefix(r.version, "v"), goos, goarch)
	if err := r.materials(ctx, binary, name); err != nil {
		return err
	}
	entries := append(slices.Clone(extras), entry{name: program, data: data, mode: 0o755})
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	if goos == "windows" {
		return writeZip(filepath.Join(r.dist, name+".zip"), name, entries, r.at)
	}
	return writeTar(filepath.Join(r.dist, name+".tar.gz"), name, entries, r.at)
}

// checksums writes SHA256SUMS, as sha256sum -c reads it.
func (r *release) checksums() error {
	files, err := os.ReadDir(r.dist)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(r.dist, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), f.Name())
	}
	return os.WriteFile(filepath.Join(r.dist, "SHA256SUMS"), []byte(b.String()), 0o644)
}
