package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
)

// record is what one write changes: a line of the journal, and what is kept of
// writes that failed. An entry that is null is gone.
type record struct {
	Serial    uint64               `json:"serial"`
	By        string               `json:"overbrainer_version"`
	Writes    []string             `json:"writes,omitempty"`
	Resources map[string]*Resource `json:"resources,omitempty"`
	Claims    map[string]*Claim    `json:"claims,omitempty"`
	Spend     map[string]*Spend    `json:"spend,omitempty"`
	// Catalogs and Outputs are all there are; nil: as they were.
	Catalogs map[string]Catalog `json:"catalog,omitzero"`
	Outputs  map[string]Output  `json:"outputs,omitzero"`
}

// scope is what a batch may alter besides claims and spend.
type scope struct {
	all       bool
	addresses map[string]bool // Overall is among them where it is named
}

func (sc *scope) add(r record) {
	if r.Catalogs != nil {
		sc.addresses[Overall] = true
	}
	for address := range r.Resources {
		sc.addresses[address] = true
	}
}

// draft gives a copy to be changed within the scope. What is not in it is shared
// with s.
func (s *State) draft(sc scope) *State {
	if sc.all {
		return s.copy()
	}
	c := s.shallow()
	for address := range sc.addresses {
		if r := c.Resources[address]; r != nil {
			c.Resources[address] = r.copy()
		}
	}
	return c
}

// shallow gives a copy with maps of its own; what they point to is shared.
func (s *State) shallow() *State {
	c := *s
	c.Resources, c.Claims, c.Catalogs = maps.Clone(s.Resources), maps.Clone(s.Claims), maps.Clone(s.Catalogs)
	c.Spend, c.Outputs = maps.Clone(s.Spend), maps.Clone(s.Outputs)
	return &c
}

// changes tells how work, a changed draft of s or of something newer, differs
// from s.
func (s *State) changes(work *State, sc scope) (record, error) {
	rec := record{
		Serial: work.Serial, By: work.OverbrainerVersion, Writes: work.Writes,
		Resources: map[string]*Resource{}, Claims: differing(s.Claims, work.Claims), Spend: differing(s.Spend, work.Spend),
	}
	for address, r := range work.Resources {
		switch {
		case r == nil:
			return rec, fmt.Errorf("resource %q is neither a run nor a volume", address)
		case sc.all || sc.addresses[address]:
			rec.Resources[address] = r
		case s.Resources[address] != r:
			return rec, fmt.Errorf("resource %q was altered by a change that did not name it", address)
		}
	}
	for address := range s.Resources {
		if work.Resources[address] == nil {
			rec.Resources[address] = nil
		}
	}
	if sc.all || sc.addresses[Overall] {
		rec.Catalogs, rec.Outputs = work.Catalogs, work.Outputs
	}
	return rec, nil
}

// differing gives the entries of now that are not in was as they are, nil for
// those that are gone.
func differing[T comparable](was, now map[string]T) map[string]*T {
	diff := map[string]*T{}
	for key, value := range now {
		if old, ok := was[key]; !ok || old != value {
			diff[key] = &value
		}
	}
	for key := range was {
		if _, ok := now[key]; !ok {
			diff[key] = nil
		}
	}
	return diff
}

// apply makes the record's changes; the maps have to be s's own.
func (s *State) apply(rec record) {
	s.Version, s.Serial, s.OverbrainerVersion, s.Writes = Version, rec.Serial, rec.By, rec.Writes
	overlay(s.Claims, rec.Claims)
	overlay(s.Spend, rec.Spend)
	for address, r := range rec.Resources {
		if r == nil {
			delete(s.Resources, address)
		} else {
			s.Resources[address] = r
		}
	}
	if rec.Catalogs != nil {
		s.Catalogs, s.Outputs = rec.Catalogs, rec.Outputs
	}
	s.fill()
}

func overlay[T any](have map[string]T, changed map[string]*T) {
	for key, value := range changed {
		if value == nil {
			delete(have, key)
		} else {
			have[key] = *value
		}
	}
}

// encode gives the record's JSON on one line. It fails on what Encode fails on.
func (r record) encode() ([]byte, error) {
	touched := &State{Resources: maps.Clone(r.Resources), Spend: map[string]Spend{}}
	maps.DeleteFunc(touched.Resources, func(_ string, r *Resource) bool { return r == nil })
	overlay(touched.Spend, r.Spend)
	if err := touched.check(); err != nil {
		return nil, err
	}
	return json.Marshal(r)
}

// decodeRecord reads what encode gave, as strictly as a document is read.
func decodeRecord(data []byte) (record, error) {
	var r record
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err := dec.Decode(&r)
	return r, err
}
