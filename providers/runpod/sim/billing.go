package sim

import (
	"time"
)

// Storage prices, in USD for a gigabyte and month of 720 hours.
const (
	containerDisk     = 0.10
	persistentRunning = 0.10
	persistentStopped = 0.20
	networkDisk       = 0.07
	networkDiskBeyond = 0.05 // the part of a volume beyond 1000 GB
	networkDiskHigh   = 0.14
	hoursPerMonth     = 720
)

// rates are what a thing costs an hour, by what is paid for.
type rates struct {
	GPU  float64 `json:"gpu,omitempty"`
	CPU  float64 `json:"cpu,omitempty"`
	Disk float64 `json:"disk,omitempty"`
	High float64 `json:"high,omitempty"`
}

func (r rates) sum() float64 { return r.GPU + r.CPU + r.Disk + r.High }

func (r *rates) add(o rates, factor float64) {
	r.GPU += o.GPU * factor
	r.CPU += o.CPU * factor
	r.Disk += o.Disk * factor
	r.High += o.High * factor
}

// billItem is what one pod or volume has cost, by the hour it was spent in.
type billItem struct {
	Volume bool             `json:"volume,omitempty"`
	Hours  map[int64]*rates `json:"hours"` // keyed by Unix time / 3600
}

func (b *billItem) total() float64 {
	var sum float64
	for _, r := range b.Hours {
		sum += r.sum()
	}
	return sum
}

// meter is something that costs at the moment.
type meter struct {
	since time.Time
	rates rates
}

// ledger is the account's bill. Its user holds the lock.
type ledger struct {
	items  map[string]*billItem
	meters map[string]*meter
}

func newLedger() *ledger {
	return &ledger{items: map[string]*billItem{}, meters: map[string]*meter{}}
}

// start makes id cost r an hour from now on; what it cost before is settled.
// A zero rate ends it.
func (l *ledger) start(id string, r rates, now time.Time) {
	if r.sum() == 0 {
		delete(l.meters, id)
		return
	}
	l.meters[id] = &meter{since: now, rates: r}
}

func (l *ledger) restore(id string, item *billItem) {
	if item != nil && item.Hours != nil {
		l.items[id] = item
	}
}

// item gives id's bill, beginning one.
func (l *ledger) item(id string) *billItem {
	b := l.items[id]
	if b == nil {
		b = &billItem{Hours: map[int64]*rates{}}
		l.items[id] = b
	}
	return b
}

// settle adds what every running meter cost up to now, split at the hours'
// ends. A speed of 60 lets a minute cost what an hour costs.
func (l *ledger) settle(now time.Time, speed float64) {
	for id, m := range l.meters {
		b := l.item(id)
		for m.since.Before(now) {
			hour := m.since.Unix() / 3600
			end := time.Unix((hour+1)*3600, 0)
			if end.After(now) {
				end = now
			}
			if b.Hours[hour] == nil {
				b.Hours[hour] = &rates{}
			}
			b.Hours[hour].add(m.rates, end.Sub(m.since).Hours()*speed)
			m.since = end
		}
	}
}

func (l *ledger) total() float64 {
	var sum float64
	for _, b := range l.items {
		sum += b.total()
	}
	return sum
}

// podRates is what a pod costs an hour in its present status. A stopped pod
// frees its GPUs and its container disk, and pays double for what it keeps.
func (p *pod) rates() rates {
	switch p.status {
	case statusTerminated:
		return rates{}
	case statusExited, statusError:
		return rates{Disk: float64(p.persistentGB()) * persistentStopped / hoursPerMonth}
	}
	disk := float64(p.req.Disk)*containerDisk + float64(p.persistentGB())*persistentRunning
	r := rates{Disk: disk / hoursPerMonth}
	if p.req.GPU != nil {
		r.GPU = p.cost
	} else {
		r.CPU = p.cost
	}
	return r
}

// rebill settles everything and lets id go on at its present rate. mu is held.
func (s *server) rebill(id string, r rates) {
	now := time.Now()
	s.bills.settle(now, s.speed)
	s.bills.start(id, r, now)
	s.dirty = true
}

// enforceBalance ends what an account without money cannot pay: pods without a
// network volume are deleted, the others stopped.
func (s *server) enforceBalance() {
	s.mu.Lock()
	if s.balance == nil {
		s.mu.Unlock()
		return
	}
	s.bills.settle(time.Now(), s.speed)
	var stop, remove []*pod
	if s.left() <= 0 {
		for _, p := range s.pods {
			switch {
			case p.status == statusExited:
			case len(p.req.Mounts.Network) > 0:
				stop = append(stop, p)
			default:
				remove = append(remove, p)
			}
		}
	}
	s.mu.Unlock()
	for _, p := range stop {
		s.logf("pod %s is stopped: the balance is used up", p.id)
		s.stopPod(p)
	}
	for _, p := range remove {
		s.logf("pod %s is deleted: the balance is used up", p.id)
		s.deletePod(p)
	}
}

// left is what remains of the balance. mu is held and the bill settled; the
// balance was set when the spend was what it is written off against.
func (s *server) left() float64 { return *s.balance - s.bills.total() }
