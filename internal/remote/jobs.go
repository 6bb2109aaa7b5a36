package remote

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// window is how much OpenSSH and this package's library let be under way
	// on one channel.
	window = 2 << 20
	// maxChannels is how many channels a transfer uses at most. With up to
	// maxHashing hash programs of an upload it leaves a session to others.
	maxChannels = 7
	maxHashing  = 2
	// fastLine is the speed, in bytes per second, for which there are enough
	// channels whatever the distance.
	fastLine = 400 << 20
	// farewell is how long a transfer that ended early waits for its workers,
	// which may be blocked on a machine that does not answer any more.
	farewell = time.Second
)

// channelsFor is how many channels keep a line busy: each has a window under
// way per round trip. stripes is how many of them share one large file, which
// near machines do not need.
func channelsFor(rtt time.Duration) (stripes, channels int) {
	n := int(rtt.Seconds() * fastLine / window)
	return min(1+n, maxChannels), min(2+n, maxChannels)
}

// jobs runs jobs on a number of workers, in order, until all are done or one
// failed; then the others are told by their context. It returns the first
// failure's cause. It does not wait for ever for workers that do not end.
func runJobs(ctx context.Context, fail context.CancelCauseFunc, workers int, jobs []func(context.Context) error) error {
	next := make(chan func(context.Context) error, len(jobs))
	for _, job := range jobs {
		next <- job
	}
	close(next)
	var working sync.WaitGroup
	for range min(workers, len(jobs)) {
		working.Go(func() {
			for job := range next {
				if ctx.Err() != nil {
					return
				}
				if err := job(ctx); err != nil {
					fail(err)
					return
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { working.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
		late := time.NewTimer(farewell)
		defer late.Stop()
		select {
		case <-ended:
		case <-late.C:
		}
	}
	return context.Cause(ctx)
}

// cause makes the error of a transfer of what broke it: the connection's end
// shows in many ways, of which its own reason says most.
func (c *Client) cause(ctx context.Context, err error) error {
	var verify *VerifyError
	var stall *StallError
	if err == nil || errors.As(err, &verify) || errors.As(err, &stall) || ctx.Err() != nil {
		return firstError(ctx.Err(), err)
	}
	asking, cancel := context.WithTimeout(ctx, 2*farewell)
	defer cancel()
	if _, pingErr := c.roundTrip(asking); pingErr != nil && asking.Err() == nil {
		<-c.done
	}
	return firstError(c.Err(), err)
}

// batches groups small files so that one tar stream carries many: by bytes, by
// number, and by the length of their names in a command.
func batches(files []File, maxBytes int64) [][]File {
	const maxFiles, maxNames = 4000, 48 << 10
	var all [][]File
	var bytes int64
	names, start := 0, 0
	for i, f := range files {
		// Quoted twice, and each quote in it becomes several characters.
		length := len(Quote(Quote("./"+f.Path))) + 1
		if i > start && (bytes+f.Size > maxBytes || i-start >= maxFiles || names+length > maxNames) {
			all = append(all, files[start:i])
			bytes, names, start = 0, 0, i
		}
		bytes += f.Size
		names += length
	}
	if start < len(files) {
		all = append(all, files[start:])
	}
	return all
}

// smallFile is up to which size files travel in tar streams. A file that did
// not arrive whole is sent again, so this bounds what an interruption costs.
const smallFile = 8 << 20

// split divides files into those for tar streams and those for byte ranges.
func split(files []File) (small, large []File) {
	for _, f := range files {
		if f.Size <= smallFile {
			small = append(small, f)
		} else {
			large = append(large, f)
		}
	}
	return small, large
}

// batchBytes spreads small files over the channels, in batches that are worth
// a program each. They may be large: files of a batch that came whole are kept
// when it is cut, and OpenSSH's buffers grow slowly on each new channel.
func batchBytes(files []File, channels int) int64 {
	var sum int64
	for _, f := range files {
		sum += f.Size
	}
	return min(max(sum/int64(2*channels), 1<<20), 256<<20)
}
