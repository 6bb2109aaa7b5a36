package state

// prepared is a batch that was applied to a state.
type prepared struct {
	base, next *State
	rec        record
	encoded    []byte // rec
	accepted   []*update
	all        bool // it may alter anything, so rec has everything
	last       bool // of its session, see Last
}

// prepare applies what could not be written before, and then the batch, to base.
// What goes into next was read back from what is written, so that nothing of it
// is anybody else's and it is the same for all who read it.
func (c *core) prepare(base *State, batch []*update, m medium) (prepared, error) {
	p := prepared{base: base}
	start, sc := base, scope{addresses: map[string]bool{}}
	for _, u := range batch {
		touched, known := Touched(u.ctx)
		sc.all = sc.all || !known
		p.last = p.last || isLast(u.ctx)
		for _, address := range touched {
			sc.addresses[address] = true
		}
	}
	if waiting := c.waiting(base); waiting != nil {
		rec := waiting.on(base)
		sc.add(rec)
		start = base.shallow()
		start.apply(rec)
	}
	p.all = sc.all
	work, accepted := applyAll(start, sc, batch)
	if p.accepted = accepted; len(accepted) == 0 {
		return p, nil
	}
	work.Version, work.Lineage = Version, base.Lineage
	work.OverbrainerVersion, work.Serial = c.version, base.Serial+1
	m.stamp(work, accepted)
	withhold(work)
	var err error
	if p.rec, err = base.changes(work, sc); err != nil {
		return p, err
	}
	if p.encoded, err = p.rec.encode(); err != nil {
		return p, err
	}
	if p.rec, err = decodeRecord(p.encoded); err != nil {
		return p, err
	}
	p.next = base.shallow()
	p.next.apply(p.rec)
	return p, nil
}

// applyAll runs the changes one after another on a draft. One that fails leaves
// no trace: the others run again on another one.
func applyAll(start *State, sc scope, batch []*update) (*State, []*update) {
	accepted := batch
next:
	for {
		work := start.draft(sc)
		for i, u := range accepted {
			if u.err = u.change(work); u.err != nil {
				rest := append([]*update{}, accepted[:i]...)
				accepted = append(rest, accepted[i+1:]...)
				continue next
			}
			work.fill()
		}
		return work, accepted
	}
}
