package remote

import (
	"context"
	"time"
)

// keepalive is the request that OpenSSH uses for this; every server answers
// it, if only to say that it does not know it.
const keepalive = "keepalive@openssh.com"

// keepAlive asks a silent machine for an answer and ends the connection when
// none comes. Any byte counts as an answer, so a line full of data, on which
// an answer may take long, is not mistaken for a dead one.
func (c *Client) keepAlive(every time.Duration, misses int) {
	limit := every * time.Duration(misses+1)
	timer := time.NewTimer(every)
	defer timer.Stop()
	asking := make(chan struct{}, 1) // holds an element while a question is out
	for {
		select {
		case <-c.done:
			return
		case <-timer.C:
		}
		silence := c.conn.silence()
		if silence >= limit {
			c.end(ErrLost)
			return
		}
		wait := every - silence
		if silence >= every {
			select {
			case asking <- struct{}{}:
				// Not waited for: the write itself may block.
				go func() {
					_, _, _ = c.ssh.SendRequest(keepalive, true, nil)
					<-asking
				}()
			default:
			}
			wait = min(every, limit-silence)
		}
		timer.Reset(wait)
	}
}

// roundTrip asks the machine for an answer and measures how long that takes.
// The shortest time of the connection is its distance: a busy machine answers
// later.
func (c *Client) roundTrip(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	answered := make(chan error, 1)
	go func() {
		_, _, err := c.ssh.SendRequest(keepalive, true, nil)
		answered <- err
	}()
	select {
	case err := <-answered:
		took := time.Since(start)
		c.mu.Lock()
		defer c.mu.Unlock()
		if err == nil && (c.distance == 0 || took < c.distance) {
			c.distance = took
		}
		return c.distance, err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
