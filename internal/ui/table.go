package ui

import (
	"io"
	"strings"
)

// Table is rows under a heading: two spaces between columns, each as wide as
// its longest cell, the last one not filled up. On a terminal that is too narrow
// for it the last column is broken at spaces or, where its words are too long for
// that, stands below its row, without its heading.
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
	rows, right, widths := t.cells()
	room, last := look.Columns()-width(t.Indent), len(widths)-1
	broken, below := -1, false
	indent := 0 // of what of a last cell does not stand beside the others
	switch {
	case t.Fit:
		broken = narrow(rows, right, widths, room)
	case look.Width > 0 && last > 0 && !right[last] && total(widths) > room:
		indent = total(widths[:last]) + 2
		widths[last] = room - indent
		if below = widths[last] < longest(rows, last); below {
			indent, widths = 4, widths[:last]
			broken = narrow(rows, right, widths, room)
		}
	}
	for n, row := range rows {
		var more []string
		if below {
			if n > 0 && row[last] != "" && row[last] != "-" {
				more = Wrap(row[last], room-indent)
			}
			row = row[:last]
		} else if indent > 0 {
			lines := Wrap(row[last], widths[last])
			row[last], more = lines[0], lines[1:]
		}
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
		for _, text := range more {
			p.line(t.Indent, strings.Repeat(" ", indent), text)
		}
	}
	return p.err
}

// cells gives the heading and the rows, cleaned, which columns are right-aligned,
// and how wide each is.
func (t *Table) cells() (rows [][]string, right []bool, widths []int) {
	right, widths = make([]bool, len(t.Columns)), make([]int, len(t.Columns))
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
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], width(c))
		}
	}
	return rows, right, widths
}

// total is how wide columns are with the spaces between them.
func total(widths []int) int {
	sum := 2 * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// longest is the width of the longest word of a column.
func longest(rows [][]string, column int) int {
	most := 0
	for _, row := range rows {
		for _, word := range words(row[column]) {
			most = max(most, width(word))
		}
	}
	return most
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
	widest, sum := -1, total(widths)
	for i, w := range widths {
		if i < len(widths)-1 && !right[i] && (widest < 0 || w > widths[widest]) {
			widest = i
		}
	}
	if sum <= most || widest < 0 {
		return -1
	}
	room := max(widths[widest]-(sum-most), width(rows[0][widest]))
	widths[widest] = 0
	for _, row := range rows {
		if w := width(row[widest]); w <= room {
			widths[widest] = max(widths[widest], w)
		}
	}
	return widest
}
