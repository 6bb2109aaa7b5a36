// Package safetext makes foreign text safe to show and to keep: it masks
// secrets and takes away what would steer a terminal. It knows nothing of the
// rest of the program; everything that prints, logs or stores text which came
// from somewhere else passes it through here.
package safetext

import (
	"sort"
	"strings"
	"sync"
)

// Mask stands where a secret stood.
const Mask = "***"

// Shortest known value that is masked, and the length of the pieces of longer
// ones that are masked too: half a key is still a leak.
const (
	minSecret = 4
	window    = 16
)

// Redactor masks known secrets wherever they occur, pieces of them of 16
// characters and more, and anything that looks like a credential: tokens with
// a well-known prefix, private key blocks, assignments to names that end in
// KEY, TOKEN, SECRET or PASSWORD, long base64 text.
//
// The zero Redactor and a nil one know no secret and apply the patterns only.
// A Redactor may be used concurrently.
type Redactor struct {
	mu sync.RWMutex
	// short are the secrets that have no windows; of the others these are all.
	short   []string
	windows map[string]struct{}
	// grams marks three bytes in a row of each window. Most text has none of
	// them, and is passed over without a look at windows.
	grams *[1 << gramBits / 8]byte
	// stripped and bare hold the same for the form without punctuation, which
	// Reveals looks for.
	stripped map[string]struct{}
	bare     []string
}

// NewRedactor returns a Redactor for the given values. Values shorter than 4
// bytes are ignored.
func NewRedactor(secrets ...string) *Redactor {
	r := &Redactor{}
	r.Add(secrets...)
	return r
}

// Add makes more values known.
func (r *Redactor) Add(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range secrets {
		s = strings.TrimSpace(s)
		if len(s) < minSecret {
			continue
		}
		if len(s) < window {
			r.short = append(r.short, s)
		}
		r.windows = addWindows(r.windows, s)
		r.addGrams(s)
		bare := alphanumeric(s)
		r.stripped = addWindows(r.stripped, bare)
		if len(bare) >= minSecret && len(bare) < window {
			r.bare = append(r.bare, bare)
		}
	}
}

func addWindows(set map[string]struct{}, s string) map[string]struct{} {
	if len(s) < window {
		return set
	}
	if set == nil {
		set = make(map[string]struct{})
	}
	for i := 0; i+window <= len(s); i++ {
		set[s[i:i+window]] = struct{}{}
	}
	return set
}

// gram is how many bytes in a row say whether a window may be there.
const (
	gram     = 3
	gramBits = 16
)

// gramAt gives the mark of the three bytes at a place.
func gramAt(s string, at int) (i int, bit byte) {
	h := (uint32(s[at]) | uint32(s[at+1])<<8 | uint32(s[at+2])<<16) * 2654435761 >> (32 - gramBits)
	return int(h >> 3), 1 << (h & 7)
}

func (r *Redactor) addGrams(s string) {
	if len(s) < window {
		return
	}
	if r.grams == nil {
		r.grams = new([1 << gramBits / 8]byte)
	}
	for at := 0; at+gram <= len(s); at++ {
		i, bit := gramAt(s, at)
		r.grams[i] |= bit
	}
}

// String returns s with every secret replaced by Mask.
func (r *Redactor) String(s string) string {
	return maskPatterns(maskKeyBlocks(r.known(s)))
}

// known masks the known values and their pieces.
func (r *Redactor) known(s string) string {
	if r == nil || s == "" {
		return s
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	hidden := r.spans(s)
	if len(hidden) == 0 {
		return s
	}
	var b strings.Builder
	at := 0
	for _, h := range hidden {
		b.WriteString(s[at:h.from])
		b.WriteString(Mask)
		at = h.to
	}
	b.WriteString(s[at:])
	return b.String()
}

type span struct{ from, to int }

// spans lists what is to be masked, in order and without overlaps. Spans that
// touch are one.
func (r *Redactor) spans(s string) []span {
	var all []span
	for _, secret := range r.short {
		for at := 0; ; {
			i := strings.Index(s[at:], secret)
			if i < 0 {
				break
			}
			all = append(all, span{at + i, at + i + len(secret)})
			at += i + len(secret)
		}
	}
	// A longer one is the sum of its windows.
	for i := 0; r.grams != nil && i+window <= len(s); {
		// Three bytes that no secret has: no window holds them.
		last := i + window - gram
		if at, bit := gramAt(s, last); r.grams[at]&bit == 0 {
			i = last + 1
			continue
		}
		if _, ok := r.windows[s[i:i+window]]; ok {
			all = append(all, span{i, i + window})
		}
		i++
	}
	if len(all) < 2 {
		return all
	}
	sort.Slice(all, func(i, j int) bool { return all[i].from < all[j].from })
	merged := all[:1]
	for _, next := range all[1:] {
		last := &merged[len(merged)-1]
		if next.from > last.to {
			merged = append(merged, next)
		} else if next.to > last.to {
			last.to = next.to
		}
	}
	return merged
}
