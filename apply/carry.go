package apply

import (
	"fmt"
	"time"
)

// carriage is a transfer between here and a pod.
type carriage struct {
	failed string // what could not be done, for people
	// patience is until when a pod is tried to be reached that was lost then.
	patience func(lost time.Time) time.Time
	// once makes one try and tells how many bytes were at their end after it.
	once func() (there int64, err error)
	// final reports whether no other try would help.
	final func(err error) bool
}

// carry makes tries at a transfer, over another connection where one breaks,
// until one succeeds. Each goes on from what is there: only tries that brought
// nothing more are counted, and a pod that cannot be reached is waited for.
func (r *runner) carry(c carriage) error {
	var last error
	var most int64 // bytes that were there after any try
	var lost time.Time
	wait := r.t.Reconnect
	for tries := 0; tries < r.t.TransferTries; {
		if r.s.interrupted() {
			return errInterrupted
		}
		if r.machine == nil {
			err := r.connect()
			if err != nil {
				last = err
				if podEnded(err) {
					return err
				}
				if turnedAway(err) {
					tries++
				}
				first := lost.IsZero()
				if first {
					lost = r.now()
				}
				until := c.patience(lost)
				if r.now().After(until) {
					return last
				}
				if first {
					r.emit(Event{Kind: EventWaiting, Message: fmt.Sprintf("%v; trying again until %s", err, until.Local().Format(clock))})
				}
				if r.s.sleep(wait) != nil {
					return errInterrupted
				}
				wait = min(2*wait, r.t.ReconnectMax)
				continue
			}
			wait, lost = r.t.Reconnect, time.Time{}
		}
		there, err := c.once()
		if err == nil {
			return nil
		}
		if r.s.interrupted() {
			return errInterrupted
		}
		last = err
		if c.final(err) {
			return last
		}
		tries++
		if there > most {
			most, tries = there, 0
		}
		r.warnf("%s, trying again: %v", c.failed, err)
		r.closeMachine()
		// What is wrong may be over soon, and nobody may be there to begin anew.
		if tries > 1 && tries < r.t.TransferTries && r.s.sleep(min(r.t.Reconnect<<tries, r.t.ReconnectMax)) != nil {
			return errInterrupted
		}
	}
	return last
}
