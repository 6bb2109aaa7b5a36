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
	// Fit keeps the lines within the look's columns where that is possible: a
	// cell of the widest column that is too long for it stands whole on a line
	// of its own, above the rest of its row.
	Fit bool
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
	broken := -1
	if t.Fit {
		broken = narrow(rows, right, widths, look.Columns()-width(t.Indent))
	}
	for n, row := range rows {
		if broken >= 0 && width(row[broken]) > widths[broken] {
			// Whole on a line of its own, and the rest of the row below it.
			p.line(t.Indent, fill(row[:broken+1], right, widths))
			for i := range row[:broken+1] {
				row[i] = ""
			}
		}
		line := strings.TrimRight(fill(row, right, widths), " ")
		if n == 0 {
			line = look.Bold(line)
		}
		p.line(t.Indent, line)
	}
	return p.err
}

// fill writes cells beside each other, each as wide as its column.
func fill(row []string, right []bool, widths []int) string {
	var b strings.Builder
	for i, c := range row {
		if i > 0 {
			b.WriteString("  ")
		}
		space := strings.Repeat(" ", max(0, widths[i]-width(c)))
		if right[i] {
			b.WriteString(space + c)
		} else {
			b.WriteString(c + space)
		}
	}
	return b.String()
}

// narrow takes from the widest column what a table is too wide for, and gives
// that column, -1 where the table fits. Cells that are longer than what is left
// of the column do not fit it any more.
func narrow(rows [][]string, right []bool, widths []int, most int) int {
	widest, total := -1, 2*(len(widths)-1)
	for i, w := range widths {
		total += w
		if i < len(widths)-1 && !right[i] && (widest < 0 || w > widths[widest]) {
			widest = i
		}
	}
	if total <= most || widest < 0 {
		return -1
	}
	room := max(widths[widest]-(total-most), width(rows[0][widest]))
	widths[widest] = 0
	for _, row := range rows {
		if w := width(row[widest]); w <= room {
			widths[widest] = max(widths[widest], w)
		}
	}
	return widest
}
