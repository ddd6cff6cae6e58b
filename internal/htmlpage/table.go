package htmlpage

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/wrap"
)

// Table is a table that scrolls where the window is too narrow.
type Table struct {
	Label string // for screen readers
	Head  []Cell
	Rows  [][]Cell
	Note  string // beneath
}

// Cell is a cell of a [Table].
type Cell struct {
	Text string
	Sub  string // small, on a line of its own
	Kind string // a class of page.css: "", "num", "code" or "wide"
	Mark string // "ready", "not ready" or "not enough data": a sign and this word before the text, unless empty
	Tag  string // in a frame, after the text
	Head bool   // names its row
	Rows int    // rowspan; 0 is 1
}

type (
	// Code is the text of a cell with an identifier.
	Code string
	// Prose is the text of a cell with several lines.
	Prose string
	// Figure is the text of a cell with a number and its unit.
	Figure string
)

// NewTable names the columns. A name that begins with # marks a column of numbers.
func NewTable(label string, columns ...string) *Table {
	t := &Table{Label: label}
	for _, name := range columns {
		cell := Cell{Text: name}
		if text, ok := strings.CutPrefix(name, "#"); ok {
			cell = Cell{Text: text, Kind: "num"}
		}
		t.Head = append(t.Head, cell)
	}
	return t
}

// NewCell makes the cell of a value: a Cell, a Code, a Prose, a Figure, a time, an int64 count, or
// any text.
func NewCell(value any) Cell {
	switch v := value.(type) {
	case Cell:
		return v
	case Code:
		return Cell{Text: cmp.Or(string(v), wrap.None), Kind: "code"}
	case Prose:
		return Cell{Text: cmp.Or(string(v), wrap.None), Kind: "wide"}
	case Figure:
		return Cell{Text: string(v), Kind: "num"}
	case time.Time:
		return Cell{Text: wrap.Time(v), Kind: "when"}
	case int64:
		if v == 0 {
			return Cell{Text: "0", Kind: "num zero"}
		}
		return Cell{Text: wrap.Grouped(v), Kind: "num"}
	default:
		return Cell{Text: cmp.Or(fmt.Sprint(v), wrap.None)}
	}
}

// Heading makes the cell that names its row.
func Heading(value any) Cell {
	cell := NewCell(value)
	cell.Head = true
	return cell
}

// Row adds a row.
func (t *Table) Row(values ...any) {
	var cells []Cell
	for _, value := range values {
		cells = append(cells, NewCell(value))
	}
	t.Rows = append(t.Rows, cells)
}

// Limit removes rows above a number, and notes how many there are.
func (t *Table) Limit(most int, noun string) *Table {
	t.Note = LeftOut(len(t.Rows), most, noun)
	t.Rows = t.Rows[:min(len(t.Rows), most)]
	return t
}

// LeftOut counts the items that are not shown.
func LeftOut(all, shown int, noun string) string {
	if all <= shown {
		return ""
	}
	return wrap.Counted(all-shown, noun) + " more: the JSON has all of them."
}
