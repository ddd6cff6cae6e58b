package locktest

import (
	"slices"
	"strings"
)

// columns are the declarations in the table of [Header] and Row.
var columns = []struct {
	name string
	need need
}{
	{"reentrant", reentrant}, {"tokens", tokens}, {"order", ordered}, {"jeopardy", jeopardy}, {"delay", lockDelay}, {"session", session},
	{"steady clock", steadyClock}, {"Check", checks}, {"Inspect", inspects}, {"data", data}, {"wanted", wanted}, {"events", observe},
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
		order := c.name == "order"
		switch {
		case order && t.Ordered:
			cells = append(cells, "arrival")
		case order && t.Fair:
			cells = append(cells, "fair")
		case order:
			cells = append(cells, "none")
		case c.need(t) == "":
			cells = append(cells, "yes")
		default:
			cells = append(cells, "no")
		}
	}
	return line(cells)
}

func line(cells []string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// SkippedHeader returns the first two lines of a Markdown table with rows of [Target.Skipped].
func SkippedHeader() string {
	names := []string{"lock service", "not promised", "promised, not shown"}
	return line(names) + strings.Repeat("|---", len(names)) + "|\n"
}

// Skipped returns the clauses that are not checked on t as a row of a Markdown table: those whose promise the
// Lockers do not give, and those whose fault t cannot make. They may be checked with another Config.
func (t Target) Skipped(service string) string {
	var promised, unshown []string
	for _, c := range Clauses() {
		switch missing := c.Missing(t); {
		case missing == "":
		case strings.Contains(missing, "this Locker"):
			promised = append(promised, c.Name)
		default:
			unshown = append(unshown, c.Name)
		}
	}
	slices.Sort(promised)
	slices.Sort(unshown)
	return line([]string{service, strings.Join(promised, ", "), strings.Join(unshown, ", ")})
}
