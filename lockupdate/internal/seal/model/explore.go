package model

import (
	"fmt"
	"strings"
)

// Result is the result of Explore.
type Result struct {
	States int
	// Violation is a broken invariant, or "". Trace is the shortest way to it, a step a line.
	Violation string
	Trace     string
	// Acknowledged tells, for each process, whether it was acknowledged in some run.
	Acknowledged []bool
}

// Explore visits every state, and ends at the first violation.
func Explore(c Config) Result {
	type origin struct {
		from int
		what string
	}
	first := c.start()
	all := []state{first}
	seen := map[state]int{first: 0}
	origins := []origin{{-1, ""}}
	r := Result{Acknowledged: make([]bool, len(c.Processes))}
	for i := 0; i < len(all) && r.Violation == ""; i++ {
		c.successors(all[i], func(next state, what, violation string) {
			if r.Violation != "" {
				return
			}
			for p := range c.Processes {
				r.Acknowledged[p] = r.Acknowledged[p] || next.processes[p].answered == committed
			}
			if violation != "" {
				r.Violation = violation
				lines := []string{what}
				for at := i; at > 0; at = origins[at].from {
					lines = append(lines, origins[at].what)
				}
				var b strings.Builder
				for n := len(lines) - 1; n >= 0; n-- {
					fmt.Fprintln(&b, lines[n])
				}
				r.Trace = b.String()
				return
			}
			if _, ok := seen[next]; !ok {
				seen[next] = len(all)
				all, origins = append(all, next), append(origins, origin{i, what})
			}
		})
	}
	r.States = len(all)
	return r
}
