package plan

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/overbrainer/overbrainer/config"
)

// moves gives entries of the state the addresses of moved blocks.
func (b *builder) moves() {
	for _, m := range b.in.Config.Moved {
		for _, addr := range b.st.Addresses() {
			to, ok := movedTo(addr, m.From, m.To)
			if !ok {
				continue
			}
			if b.st.Resources[to] != nil {
				b.errorAt(m.Range, fmt.Sprintf("%s cannot be moved", addr),
					fmt.Sprintf("The state has %s already. Remove the moved block, or move that one first.", to))
				continue
			}
			b.st.Resources[to] = b.st.Resources[addr]
			delete(b.st.Resources, addr)
			b.p.Moves = append(b.p.Moves, Move{From: addr, To: to})
		}
	}
}

// movedTo gives an address as a moved block renames it. Addresses without a
// key stand for all instances.
func movedTo(addr, from, to string) (string, bool) {
	if addr == from {
		return to, true
	}
	if key, ok := strings.CutPrefix(addr, from); ok && strings.HasPrefix(key, "[") && !strings.HasSuffix(to, "]") {
		return to + key, true
	}
	return "", false
}

// blockOf gives an address without its key: run.sft["low"] → run.sft.
func blockOf(addr string) string {
	block, _, _ := strings.Cut(addr, "[")
	return block
}

func (b *builder) attrRange(ranges map[string]hcl.Range, attr string, block hcl.Range) hcl.Range {
	if r, ok := ranges[attr]; ok {
		return r
	}
	return block
}

func (b *builder) capRange(addr, attr string) hcl.Range {
	if c := b.in.Config.Caps[addr]; c != nil {
		return b.attrRange(c.AttrRanges, attr, c.Range)
	}
	return hcl.Range{}
}

// removal gives the removed block for an address, nil if there is none.
func (b *builder) removal(addr string) *config.Removal {
	for i, r := range b.in.Config.Removed {
		if names(r.From, addr) {
			return &b.in.Config.Removed[i]
		}
	}
	return nil
}
