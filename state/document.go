package state

import "sync"

// document is what was written or read, decoded once for all who ask: decoding
// it for each would cost more than writing it.
type document struct {
	data []byte

	decoding sync.Once
	state    *State // only copies are given away
	version  int    // that data had
	err      error

	lending sync.Once
	lent    *State
}

// decode gives what data says, to be copied.
func (d *document) decode(path string) (*State, int, error) {
	d.decoding.Do(func() { d.state, d.version, d.err = decodeUpgrading(path, d.data, upgrades()) })
	return d.state, d.version, d.err
}

// lend gives one copy to all whose updates are in the document.
func (d *document) lend(path string) (*State, error) {
	if _, _, err := d.decode(path); err != nil {
		return nil, err
	}
	d.lending.Do(func() { d.lent = d.state.copy() })
	return d.lent, nil
}
