package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// pending is what this process could not write so far: a change of base.
type pending struct {
	base *State
	rec  record
	// ids are the writes that have all of it, should one of them be found done:
	// one whose answer was lost, and the copy, which somebody may have pushed.
	ids []string
}

// on gives what is pending as a change of what lies there now. An address whose
// claim has gone to somebody else since is his.
func (p *pending) on(now *State) record {
	rec := p.rec
	mine := func(key string) bool { return p.base.Claims[key].ID == now.Claims[key].ID }
	rec.Writes = now.Writes
	rec.Resources, rec.Claims, rec.Spend = map[string]*Resource{}, map[string]*Claim{}, map[string]*Spend{}
	for address, r := range p.rec.Resources {
		if mine(address) {
			rec.Resources[address] = r
		}
	}
	for key, claim := range p.rec.Claims {
		if mine(key) {
			rec.Claims[key] = claim
		}
	}
	for key, spend := range p.rec.Spend {
		sum := now.Spend[key]
		if spend != nil { // others may have spent meanwhile
			sum.USD += spend.USD - p.base.Spend[key].USD
			sum.Runs += spend.Runs - p.base.Spend[key].Runs
		}
		rec.Spend[key] = &sum
	}
	return rec
}

// waiting gives what is not in the state yet, nil if nothing is.
func (c *core) waiting(now *State) *pending {
	c.mu.Lock()
	p := c.pending
	c.mu.Unlock()
	if p == nil || !slices.ContainsFunc(p.ids, func(id string) bool { return slices.Contains(now.Writes, id) }) {
		return p
	}
	c.settled()
	return nil
}

// settled forgets what was pending, and removes its copy: it is written.
func (c *core) settled() {
	c.mu.Lock()
	copied := c.copied
	c.pending, c.copied = nil, ""
	c.mu.Unlock()
	if copied != "" {
		_ = os.Remove(copied)
	}
}

// rescue keeps and saves what the batch would have written on the newest state
// that was seen, when a transaction failed before it came to writing.
func (c *core) rescue(failure error, batch []*update, m medium) error {
	base := c.lastSeen().state
	var backend *BackendError
	gaveUp := errors.Is(failure, context.Canceled) || errors.Is(failure, context.DeadlineExceeded)
	if base == nil || gaveUp && !errors.As(failure, &backend) {
		return failure
	}
	p, err := c.prepare(base, batch, m)
	if err != nil || len(p.accepted) == 0 {
		return failure
	}
	return c.save(failure, p)
}

// saved is an error that can name the copy of what was not written.
type saved interface {
	error
	savedIn(place string, err error)
}

// save keeps what could not be written for the next write of this process, saves
// the whole state as it would be with it, and names the place in the error. sent
// are IDs of writes that may have been done.
func (c *core) save(failure error, p prepared, sent ...string) error {
	whole := p.next.shallow()
	id := whole.signed()
	c.mu.Lock()
	c.pending = &pending{base: p.base, rec: p.rec, ids: append(sent, id)}
	c.mu.Unlock()
	data, err := Encode(whole)
	if err != nil {
		return failure
	}
	return c.saveData(failure, data)
}

// saveData puts a document beside the state file, else into the temporary
// directory, else prints it, and names the place in the error.
func (c *core) saveData(failure error, data []byte) error {
	place, err := c.saveCopy(data)
	var names saved
	if !errors.As(failure, &names) {
		write := &WriteError{Path: c.path, Err: failure}
		failure, names = write, write
	}
	names.savedIn(place, err)
	return failure
}

func (c *core) saveCopy(data []byte) (string, error) {
	c.mu.Lock()
	before := c.copied
	c.mu.Unlock()
	var errs []error
	for _, dir := range []string{c.dir, c.tempDir} {
		if dir == "" {
			continue
		}
		path, err := c.saveOver(dir, before, data)
		if err == nil {
			c.mu.Lock()
			c.copied = path
			c.mu.Unlock()
			if before != "" && before != path {
				_ = os.Remove(before)
			}
			return path, nil
		}
		errs = append(errs, err)
	}
	if c.lastResort != nil {
		if _, err := c.lastResort.Write(data); err == nil {
			return "standard error", nil
		} else {
			errs = append(errs, err)
		}
	}
	return "", errors.Join(errs...)
}

const (
	// rescueInfix marks the copies of states that could not be written.
	rescueInfix = ".pending-"
	// replacedInfix marks the copies of states that were replaced on a remote.
	replacedInfix = ".replaced-"
)

// saveOver replaces the copy that this process made before, which has less, or
// makes one.
func (c *core) saveOver(dir, before string, data []byte) (string, error) {
	if before == "" || filepath.Dir(before) != filepath.Clean(dir) {
		return c.saveIn(dir, rescueInfix, data)
	}
	temp := before + ".tmp"
	_ = os.Remove(temp)
	if err := c.writeFile(temp, data); err != nil {
		_ = os.Remove(temp)
		return "", err
	}
	if err := rename(temp, before); err != nil {
		_ = os.Remove(temp)
		return "", err
	}
	return before, syncDir(dir)
}

func (c *core) saveIn(dir, infix string, data []byte) (string, error) {
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s%s%d-%d.json", strings.TrimSuffix(FileName, ".json"), infix, os.Getpid(), i)
		path := filepath.Join(dir, name)
		err := c.writeFile(path, data)
		if err == nil {
			return path, syncDir(dir)
		}
		if !errors.Is(err, fs.ErrExist) {
			_ = os.Remove(path)
			return "", err
		}
	}
}

// Rescued lists copies beside the state that were saved because it could not
// be written, oldest name first. They are never read back by themselves.
func (c *core) Rescued() []string {
	found, _ := filepath.Glob(filepath.Join(c.dir, strings.TrimSuffix(FileName, ".json")+rescueInfix+"*.json"))
	return found
}
