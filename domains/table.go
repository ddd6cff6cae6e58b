package domains

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// Table is the state machine of an entity. The operations consult it, and the documents are generated from it.
type Table struct {
	// Entity is the kind of entity, such as "session".
	Entity string
	Rows   []Transition
}

// Transition is a row of a [Table].
type Transition struct {
	// Op is the name of the operation and of its method.
	Op string
	// From holds the states in which the operation may happen. It is empty if the operation creates the entity.
	From []string
	// To is the next state; empty keeps the state.
	To string
	// When is the condition, for people. It tells apart several rows of one operation and state.
	When string
}

// Clone returns a deep copy of the table.
func (t Table) Clone() Table {
	t.Rows = slices.Clone(t.Rows)
	for i := range t.Rows {
		t.Rows[i].From = slices.Clone(t.Rows[i].From)
	}
	return t
}

// Next returns the state after op in state from, and whether op is permitted there. want selects one of several
// next states; it may be empty if there is one.
func (t Table) Next(op, from, want string) (to string, ok bool) {
	for _, row := range t.Rows {
		if row.Op != op || !slices.Contains(row.From, from) {
			continue
		}
		to := cmp.Or(row.To, from)
		if want == "" || want == to {
			return to, true
		}
	}
	return from, false
}

// Creates reports whether op creates the entity in state to.
func (t Table) Creates(op, to string) bool {
	return slices.ContainsFunc(t.Rows, func(row Transition) bool {
		return row.Op == op && len(row.From) == 0 && row.To == to
	})
}

// States returns all states in the order of the rows.
func (t Table) States() []string {
	var states []string
	for _, row := range t.Rows {
		for _, s := range append(slices.Clone(row.From), row.To) {
			if s != "" && !slices.Contains(states, s) {
				states = append(states, s)
			}
		}
	}
	return states
}

// Text returns the table with aligned columns, for a doc comment.
func (t Table) Text() string {
	var aligned, b strings.Builder
	w := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', 0) // a strings.Builder never fails
	_, _ = w.Write([]byte("operation\tfrom\tto\twhen\n"))
	for _, row := range t.Rows {
		_, _ = w.Write([]byte(strings.Join(row.cells(), "\t") + "\n"))
	}
	_ = w.Flush()
	for line := range strings.Lines(aligned.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}

func (row Transition) cells() []string {
	return []string{row.Op, cmp.Or(strings.Join(row.From, ", "), "–"), cmp.Or(row.To, "same"), row.When}
}

// Mermaid returns the table as a Mermaid state diagram, without the rows that keep the state.
func (t Table) Mermaid() string {
	type edge struct{ from, to string }
	var edges []edge
	ops := map[edge][]string{}
	for _, row := range t.Rows {
		from := row.From
		if len(from) == 0 {
			from = []string{"[*]"}
		}
		for _, f := range from {
			e := edge{f, row.To}
			if row.To == "" || row.To == f {
				continue
			}
			if ops[e] == nil {
				edges = append(edges, e)
			}
			if !slices.Contains(ops[e], row.Op) {
				ops[e] = append(ops[e], row.Op)
			}
		}
	}
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	for _, e := range edges {
		fmt.Fprintf(&b, "    %s --> %s: %s\n", e.from, e.to, strings.Join(ops[e], ", "))
	}
	return b.String()
}
