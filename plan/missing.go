package plan

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/state"
)

// missing is a run that succeeded and whose results are not here as they were
// verified.
type missing struct {
	run  *config.Run
	cur  *state.Run
	how  manner
	what string // is wrong with which files
}

// manner is how results are missing.
type manner int

const (
	elsewhere manner = iota // fetched on another machine
	removed                 // fetched on this machine
	damaged
)

// tellMissing warns of results that are not here: of each run, or where a block has
// many of them of all together.
func (b *builder) tellMissing() {
	type alike struct {
		how  manner
		who  string
		file string
		line int
	}
	var order []alike
	groups := map[alike][]missing{}
	for _, m := range b.missing {
		key := alike{how: m.how, file: m.run.Range.Filename, line: m.run.Range.Start.Line}
		if m.how != damaged {
			key.who = m.cur.FetchedBy
		}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], m)
	}
	for _, key := range order {
		group := groups[key]
		at := group[0].run.Range
		if len(group) > maxNamed {
			b.warnMany(at, group)
			continue
		}
		for _, m := range group {
			b.warnMissing(at, m)
		}
	}
}

func (b *builder) warnMissing(at hcl.Range, m missing) {
	address, by, dir, again := m.run.Address, m.cur.FetchedBy, m.cur.Dir, ShellWord(m.run.Address)
	switch m.how {
	case elsewhere:
		b.warnAt(at, "results of "+address+" are on "+by,
			fmt.Sprintf("They were fetched there, to %s, and lie nowhere else. Who needs them here copies that directory; -replace=%s runs it again.", dir, again))
	case removed:
		b.warnAt(at, "results of "+address+" are not here any more",
			fmt.Sprintf("They were fetched on this machine, by %s, into %s of this checkout, where they are not any more, or of another one. They are not fetched again by themselves; to run it again use -replace=%s.", by, dir, again))
	case damaged:
		b.warnAt(at, "results of "+address+" are not here as they were verified",
			fmt.Sprintf("In %s: %s. They are not fetched again by themselves; to run it again use -replace=%s.", dir, m.what, again))
	}
}

// warnMany is warnMissing for many runs of a block.
func (b *builder) warnMany(at hcl.Range, group []missing) {
	names := make([]string, 0, maxNamed)
	for _, m := range group[:maxNamed] {
		name := m.run.Address
		if m.how == damaged {
			name += " (" + m.what + ")"
		}
		names = append(names, name)
	}
	which := fmt.Sprintf("%s and %d more", strings.Join(names, ", "), len(group)-maxNamed)
	runs, by := fmt.Sprintf("results of %d runs", len(group)), group[0].cur.FetchedBy
	const again = "-replace=ADDRESS runs one again; plan -json tells of each."
	switch group[0].how {
	case elsewhere:
		b.warnAt(at, runs+" are on "+by,
			fmt.Sprintf("Of %s. They were fetched there and lie nowhere else. Who needs them here copies their directories; %s", which, again))
	case removed:
		b.warnAt(at, runs+" are not here any more",
			fmt.Sprintf("Of %s. They were fetched on this machine, by %s, into this checkout, where they are not any more, or into another one. They are not fetched again by themselves; %s", which, by, again))
	case damaged:
		b.warnAt(at, runs+" are not here as they were verified",
			fmt.Sprintf("Of %s. They are not fetched again by themselves; %s", which, again))
	}
}
