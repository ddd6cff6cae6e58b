package locktest

import (
	"strings"
)

// columns are the declarations in the table of [Header] and Row.
var columns = []struct {
	name  string
	value func(Target) string
}{
	{"reentrant", func(t Target) string { return yes(t.Reentrant) }},
	{"tokens", func(t Target) string { return yes(t.Tokens) }},
	{"order", func(t Target) string {
		switch {
		case t.Ordered:
			return "arrival"
		case t.Fair:
			return "fair"
		}
		return "none"
	}},
	{"jeopardy", func(t Target) string { return yes(t.Jeopardy) }},
	{"delay", func(t Target) string { return yes(t.LockDelay > 0) }},
	{"session", func(t Target) string { return yes(t.Session) }},
	{"steady clock", func(t Target) string { return yes(t.SteadyClock) }},
	{"Check", func(t Target) string { return yes(t.Checks) }},
	{"Inspect", func(t Target) string { return yes(t.Inspects) }},
	{"data", func(t Target) string { return yes(t.Data) }},
	{"wanted", func(t Target) string { return yes(t.Wanted) }},
	{"events", func(t Target) string { return yes(t.Observe != nil) }},
}

func yes(declared bool) string {
	if declared {
		return "yes"
	}
	return "no"
}

// Header returns the first two lines of a Markdown table with rows of [Target.Row]. They end
// with a newline.
func Header() string {
	names := []string{"lock service"}
	for _, c := range columns {
		names = append(names, c.name)
	}
	return line(names) + strings.Repeat("|---", len(names)) + "|\n"
}

// Row returns the declarations of t as a row of a Markdown table, which ends with a
// newline. service names the lock service. The suite tests each "yes"; the Lockers
// do not promise a "no".
func (t Target) Row(service string) string {
	cells := []string{service}
	for _, c := range columns {
		cells = append(cells, c.value(t))
	}
	return line(cells)
}

func line(cells []string) string { return "| " + strings.Join(cells, " | ") + " |\n" }
