package apply

import (
	"context"
	"sync"

	"github.com/overbrainer/overbrainer/providers"
)

// lists shares the lists of one account's pods among those who ask at about the
// same time. Whoever asks gets one that was begun after that, so that what was
// done before shows in it: at most one list is under way, and one waits for all
// who came meanwhile.
type lists struct {
	read func() ([]providers.Pod, error)

	mu        sync.Mutex
	now, next *list
}

// list is one of them; its pods belong to nobody.
type list struct {
	done chan struct{}
	pods []providers.Pod
	err  error
}

// get gives the pods as they are now, or ctx's error.
func (l *lists) get(ctx context.Context) ([]providers.Pod, error) {
	l.mu.Lock()
	mine := l.next
	if mine == nil {
		mine = &list{done: make(chan struct{})}
		if l.now == nil {
			l.now = mine
			go l.run(mine)
		} else {
			l.next = mine
		}
	}
	l.mu.Unlock()
	select {
	case <-mine.done:
		return mine.pods, mine.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// run reads lists until nobody waits for one.
func (l *lists) run(cur *list) {
	for cur != nil {
		cur.pods, cur.err = l.read()
		close(cur.done)
		l.mu.Lock()
		cur = l.next
		l.now, l.next = cur, nil
		l.mu.Unlock()
	}
}
