package ui

import (
	"io"
	"strings"
)

// Table is rows under a heading: two spaces between columns, each as wide as
// its longest cell, the last one not filled up.
type Table struct {
	// Columns are the headings; one that starts with > is right-aligned.
	Columns []string
	Rows    [][]string
	// Empty is what is said in place of a table without rows.
	Empty string
	// Indent stands before every line.
	Indent string
}

// Add appends one row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Write prints the table, its cells cleaned.
func (t *Table) Write(w io.Writer, look Look) error {
	p := &printer{w: w}
	if len(t.Rows) == 0 {
		if t.Empty != "" {
			p.line(t.Indent, t.Empty)
		}
		return p.err
	}
	right := make([]bool, len(t.Columns))
	rows := make([][]string, 0, len(t.Rows)+1)
	head := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		head[i] = strings.TrimPrefix(c, ">")
		right[i] = head[i] != c
	}
	rows = append(rows, head)
	for _, row := range t.Rows {
		cells := make([]string, len(t.Columns))
		for i := range cells {
			if i < len(row) {
				cells[i] = clean(row[i])
			}
		}
		rows = append(rows, cells)
	}
	widths := make([]int, len(t.Columns))
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], width(c))
		}
	}
	for n, row := range rows {
		var b strings.Builder
		for i, c := range row {
			if i > 0 {
				b.WriteString("  ")
			}
			space := strings.Repeat(" ", widths[i]-width(c))
			switch {
			case right[i]:
				b.WriteString(space + c)
			case i == len(row)-1:
				b.WriteString(c)
			default:
				b.WriteString(c + space)
			}
		}
		line := b.String()
		if n == 0 {
			line = look.Bold(strings.TrimRight(line, " "))
		}
		p.line(t.Indent, line)
	}
	return p.err
}
