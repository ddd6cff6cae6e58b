// Command testlist runs go test and writes its output, as go test alone does without -v. It appends the
// duration of each top-level test to a file:
//
//	testlist FILE go -C DIR test -json ARGUMENTS
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// event is one line of go test -json. See go doc test2json.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

func main() {
	if err := list(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "testlist:", err)
		os.Exit(1)
	}
}

func list(file string, command []string) error {
	durations, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // the caller names it
	if err != nil {
		return err
	}
	cmd := exec.Command(command[0], command[1:]...) //nolint:gosec // the caller's command
	cmd.Stderr = os.Stdout
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	packages := map[string]*result{}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Println(lines.Text())
			continue
		}
		if e.Package == "" { // a build's
			fmt.Print(e.Output)
			continue
		}
		if packages[e.Package] == nil {
			packages[e.Package] = &result{passed: map[string]bool{}}
		}
		if packages[e.Package].add(e) && e.Elapsed > 0 {
			fmt.Fprintf(durations, "%.2f %s %s\n", e.Elapsed, e.Test, e.Package) //nolint:errcheck // a list for people
		}
	}
	return errors.Join(lines.Err(), cmd.Wait(), durations.Close())
}

// result is the output of a package so far.
type result struct {
	events []event
	passed map[string]bool // top-level tests
}

// add adds an event, prints the output at the end of the package, and reports whether a top-level test ended.
func (r *result) add(e event) (ended bool) {
	top, _, sub := strings.Cut(e.Test, "/")
	switch e.Action {
	case "output":
		e.Test = top
		r.events = append(r.events, e)
	case "pass", "skip", "fail":
		if e.Test != "" {
			r.passed[top] = r.passed[top] || !sub && e.Action != "fail"
			return !sub
		}
		for _, o := range r.events {
			summary := strings.HasPrefix(o.Output, "ok  \t") || strings.HasPrefix(o.Output, "?   \t")
			if summary || e.Action == "fail" && !r.passed[o.Test] {
				fmt.Print(o.Output)
			}
		}
		r.events = nil
	}
	return false
}
