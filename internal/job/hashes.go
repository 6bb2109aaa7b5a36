package job

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/internal/remote"
)

const (
	hashing = "computing the results' digests"
	// atOnce is of how many files hash.sh computes digests at the same time at most.
	atOnce = 8
)

// hashes has the pod compute the digests of files, which are sorted by name: of as
// many at once as take some seconds, of large ones at last. told, which may be nil,
// hears how many are done. The error is a *ChangedError where some went away.
func (p *Pod) hashes(ctx context.Context, wanted []string, large map[string]string, told func(done, total int)) ([]remote.File, error) {
	if told == nil {
		told = func(int, int) {}
	}
	var single, small, big []string
	for _, name := range wanted {
		switch {
		// Of one that grows only the beginning counts, and some programs escape
		// names with such bytes, which others write as they are.
		case p.grows(name) || strings.ContainsAny(name, "\n\r\\"):
			single = append(single, name)
		case large[name] != "":
			big = append(big, name)
		default:
			small = append(small, name)
		}
	}
	var files []remote.File
	var unread []string
	done := 0
	for i, rest := range [][]string{single, small, big} {
		each := ""
		if i == 0 {
			each = "1"
		}
		for n := 2 * atOnce; len(rest) > 0; {
			told(done, len(wanted))
			part, began := firstPart(rest[:min(n, len(rest))]), time.Now()
			got, cannot, err := p.hashPart(ctx, part, each)
			if err != nil {
				return nil, err
			}
			files, unread = append(files, got...), append(unread, cannot...)
			rest, done = rest[len(part):], done+len(part)
			if took := time.Since(began); took < 2*time.Second {
				n *= 2
			} else if took > 10*time.Second {
				n = max(atOnce, n/2)
			}
		}
	}
	told(len(wanted), len(wanted))
	if len(unread) > 0 {
		return nil, &UnreadError{Paths: sortedNames(unread)}
	}
	slices.SortFunc(files, func(a, b remote.File) int { return strings.Compare(a.Path, b.Path) })
	gone, err := missingOf(files, wanted)
	if err != nil {
		return nil, &ProtocolError{What: hashing, Detail: err.Error()}
	}
	if len(gone) > 0 {
		return nil, &ChangedError{Paths: gone}
	}
	return files, nil
}

// hashPart has the pod compute the digests of no more files than a program's
// arguments may be; each: of one after the other.
func (p *Pod) hashPart(ctx context.Context, names []string, each string) (files []remote.File, unread []string, err error) {
	out, err := p.do(ctx, p.work, call{
		what:   hashing,
		vars:   []string{"ob_metrics", p.Metrics, "ob_each", each},
		names:  names,
		script: compact(hashText),
		max:    4*bytesOf(names) + int64(len(names))*256 + 1024,
	})
	if err != nil {
		return nil, nil, err
	}
	if files, unread, err = parseHashes(out); err != nil {
		err = &ProtocolError{What: hashing, Detail: err.Error()}
	}
	return files, unread, err
}

// missingOf gives what of the names is not among files, both sorted, and fails where
// a file was not asked for.
func missingOf(files []remote.File, wanted []string) (gone []string, err error) {
	for _, name := range wanted {
		if len(files) > 0 && files[0].Path == name {
			files = files[1:]
		} else {
			gone = append(gone, name)
		}
	}
	if len(files) > 0 {
		return nil, fmt.Errorf("it names %q, which was not asked for", files[0].Path)
	}
	return gone, nil
}

// parseHashes reads what hash.sh prints. unread are files without a digest.
func parseHashes(out []byte) (files []remote.File, unread []string, err error) {
	digests, out, _ := bytes.Cut(out, []byte{0})
	sizes, records, found := bytes.Cut(out, []byte{0})
	if !found {
		return nil, nil, fmt.Errorf("it is cut off")
	}
	digestOf, sizeOf := byName(digests), byName(sizes)
	for record := range bytes.SplitSeq(records, []byte{0}) {
		if len(record) == 0 {
			continue
		}
		fields := strings.SplitN(string(record), " ", 4)
		if len(fields) != 4 {
			return nil, nil, fmt.Errorf("the record %q", shorten(record))
		}
		digest, length, mode := fields[0], fields[1], fields[2]
		name, found := strings.CutPrefix(fields[3], "./")
		if digest == "=" && length == "=" {
			digest, length = digestOf[fields[3]], sizeOf[fields[3]]
			if digest == "" || length == "" {
				digest = "-"
			}
		}
		if digest == "-" && found {
			unread = append(unread, name)
			continue
		}
		sum, err := hex.DecodeString(digest)
		size, sizeErr := strconv.ParseInt(length, 10, 64)
		if err != nil || len(sum) != sha256.Size || sizeErr != nil || size < 0 || !found || (mode != "x" && mode != "-") {
			return nil, nil, fmt.Errorf("the record %q", shorten(record))
		}
		files = append(files, remote.File{Path: name, Size: size, SHA256: hex.EncodeToString(sum), Exec: mode == "x"})
	}
	return files, unread, nil
}

// byName reads lines that each end with a name, which begins with "./", before it a
// value without a space.
func byName(lines []byte) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(string(lines)) {
		// sha256sum and openssl may mark that a file was read as it is by a star.
		value, name, _ := strings.Cut(strings.TrimLeft(line, " "), " ")
		values[strings.TrimLeft(strings.TrimSuffix(name, "\n"), " *")] = value
	}
	return values
}
