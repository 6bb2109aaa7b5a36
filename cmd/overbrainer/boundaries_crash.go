//go:build crash

package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/overbrainer/overbrainer/apply"
)

// Variables of a build with the tag crash.
const (
	// crashRecord names a file to which every boundary that is passed is
	// appended, a line each.
	crashRecord = "OVERBRAINER_CRASH_RECORD"
	// crashAt is the boundary at which the process kills itself.
	crashAt = "OVERBRAINER_CRASH_AT"
)

// bounded puts boundaries around what the engine does outside of this process:
// the state's writes, the provider's calls, what runs on a pod and each part of
// a transfer. Nothing changes unless one of the variables is set.
func bounded(e *apply.Engine) *apply.Engine {
	b := &boundaries{
		at: os.Getenv(crashAt), counts: map[string]int{}, owners: map[string]string{},
		effects: map[string]int{}, looked: map[string]int{},
	}
	name := os.Getenv(crashRecord)
	if name == "" && b.at == "" {
		return e
	}
	if name != "" {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			panic(err)
		}
		b.record = f
	}
	e.Store = boundedStore{e.Store, b}
	rented := map[string]apply.Rented{}
	for name, r := range e.Providers {
		r.Provider = boundedProvider{r.Provider, b}
		rented[name] = r
	}
	e.Providers = rented
	e.Dial = b.dial(e.Dial)
	return e
}

// boundaries names the instants before and after each effect and look, as
// "OWNER KIND #ORDINAL before". The owner is a run, or "project".
type boundaries struct {
	at     string
	record *os.File

	mu     sync.Mutex
	counts map[string]int    // of owner and kind
	owners map[string]string // of a pod's or secret's ID
	// Looks that only repeat one, with no effect of their owner in between, are
	// no boundaries of their own: nothing has changed since.
	effects map[string]int // of an owner
	looked  map[string]int // owner and kind → effects at its last look
}

const everybody = "project"

// effect goes through the boundary before an effect; what it returns goes
// through the one after it.
func (b *boundaries) effect(owner, kind string) func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.effects[owner]++
	return b.around(owner, kind)
}

// look is effect for what changes nothing.
func (b *boundaries) look(owner, kind string) func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.fresh(owner, kind) {
		return func() {}
	}
	return b.around(owner, kind)
}

// fresh reports whether a look is no mere repetition. mu is held.
func (b *boundaries) fresh(owner, kind string) bool {
	key := owner + " " + kind
	last, before := b.looked[key]
	b.looked[key] = b.effects[owner]
	return !before || last != b.effects[owner]
}

// around is called with mu held.
func (b *boundaries) around(owner, kind string) func() {
	key := owner + " " + kind
	b.counts[key]++
	label := fmt.Sprintf("%s #%d", key, b.counts[key])
	b.pass(label + " before")
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.pass(label + " after")
	}
}

// pass goes through one boundary: it is the last one if it is the place to die.
// mu is held, so that nobody else comes through one meanwhile.
func (b *boundaries) pass(label string) {
	if b.record != nil {
		_, _ = b.record.WriteString(label + "\n")
	}
	if label == b.at {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// own notes whose a pod or a secret is.
func (b *boundaries) own(id, owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if id != "" {
		b.owners[id] = owner
	}
}

func (b *boundaries) owner(id string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if owner, ok := b.owners[id]; ok {
		return owner
	}
	return everybody
}

// runOf gives the run that a run ID, or a name with one in it, is of. The
// matrix' runs have names of one word.
func runOf(id string) string {
	for _, prefix := range []string{"overbrainer-", "overbrainer_host_key_"} {
		id = strings.TrimPrefix(id, prefix)
	}
	word := strings.FieldsFunc(id, func(r rune) bool { return r == '-' || r == '_' })
	if len(word) == 0 {
		return everybody
	}
	return "run." + word[0]
}
