package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/redispubsub"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/redistx"
)

// The exit codes of a check, which differ from those of the subcommands: CI has to tell
// findings from a check that did not come to its end.
const (
	codeIncomplete = 1
	codeFindings   = 3
)

const checkUsage = `Usage: migrate-check [flags] PACKAGES

Finds the transactions, publications and subscriptions that are left in Go code,
which a proxy refuses: migrate-check ./...

`

const checkMore = `
Exit codes: 0 nothing found; 1 could not look at everything; 2 wrong usage;
3 something found.

It is a vet tool, too: go vet -vettool=$(which migrate-check) ./...
`

// analyzers are all of them.
func analyzers() []*analysis.Analyzer {
	return []*analysis.Analyzer{redistx.Analyzer, redispubsub.Analyzer}
}

// isPackages tells patterns of packages, and flags, from a subcommand that does not exist.
// What has an @ may be an address with a password, which no error may repeat.
func isPackages(word string) bool {
	if strings.Contains(word, "@") || strings.Contains(word, "://") {
		return false
	}
	return strings.HasPrefix(word, ".") || strings.HasPrefix(word, "-") || strings.HasSuffix(word, "...") || strings.Contains(word, "/")
}

// runCheck analyses packages.
func runCheck(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	tags := flags.String("tags", "", "build with these `TAGS`, separated by commas")
	tests := flags.Bool("tests", true, "look at tests, too")
	flags.Usage = func() {
		say(flags.Output(), "%s", checkUsage)
		flagTable(flags)
		say(flags.Output(), "%s", checkMore)
	}
	patterns, code, ok := parseAll(flags, args, stdout, stderr, "PACKAGES")
	if !ok {
		return code
	}
	pkgs, err := packages.Load(&packages.Config{
		Context: ctx, Tests: *tests, BuildFlags: []string{"-tags=" + *tags},
		Mode: packages.LoadSyntax | packages.NeedModule,
	}, patterns...)
	if err != nil {
		say(stderr, "%s", wrapped("migrate-check: "+err.Error()))
		return codeIncomplete
	}
	broken := complainOf(pkgs, stderr)
	graph, err := checker.Analyze(analyzers(), pkgs, nil)
	if err != nil {
		say(stderr, "%s", wrapped("migrate-check: "+err.Error()))
		return codeIncomplete
	}
	found, failed := findingsOf(graph)
	for _, err := range failed {
		say(stderr, "%s", wrapped("migrate-check: "+err.Error()))
	}
	for _, f := range found {
		say(stdout, "%s:%d:%d: %s\n", f.file, f.line, f.column, f.message)
	}
	say(stdout, "%s", summary(found, broken))
	switch {
	case broken > 0 || len(failed) > 0:
		return codeIncomplete
	case len(found) > 0:
		return codeFindings
	}
	return codeOK
}

// complainOf says which packages could not be type-checked, a line each.
func complainOf(pkgs []*packages.Package, stderr io.Writer) (broken int) {
	said := map[string]bool{}
	for _, pkg := range pkgs {
		if len(pkg.Errors) == 0 || said[pkg.PkgPath] {
			continue
		}
		said[pkg.PkgPath] = true
		broken++
		why := pkg.Errors[0]
		for _, e := range pkg.Errors {
			if e.Kind == packages.TypeError { // the go command's own is longer, and says no more
				why = e
				break
			}
		}
		say(stderr, "%s", wrapped(fmt.Sprintf("migrate-check: %s could not be looked at: %s", pkg.PkgPath, why.Msg)))
	}
	return broken
}

// finding is what is told of a place in the code.
type finding struct {
	file         string // relative to the working directory, if it is below
	line, column int
	rule         string
	message      string
}

// findingsOf returns what the analyzers have found, each once: of a package with tests
// there are two, with the same files.
func findingsOf(graph *checker.Graph) (found []finding, failed []error) {
	for _, act := range graph.Roots {
		if act.Err != nil {
			if len(act.Package.Errors) == 0 { // else it was said
				failed = append(failed, fmt.Errorf("%s: %w", act, act.Err))
			}
			continue
		}
		for _, d := range act.Diagnostics {
			at := act.Package.Fset.Position(d.Pos)
			found = append(found, finding{relative(at.Filename), at.Line, at.Column, d.Category, d.Message})
		}
	}
	slices.SortFunc(found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column),
			cmp.Compare(a.message, b.message))
	})
	return slices.Compact(found), failed
}

func relative(file string) string {
	dir, err := os.Getwd()
	if err != nil {
		return file
	}
	short, err := filepath.Rel(dir, file)
	if err != nil || strings.HasPrefix(short, ".."+string(filepath.Separator)+"..") {
		return file
	}
	return short
}

// summary counts, and says what was not seen.
func summary(found []finding, broken int) string {
	rules, files := map[string]int{}, map[string]bool{}
	for _, f := range found {
		rules[f.rule]++
		files[f.file] = true
	}
	var parts []string
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		parts = append(parts, fmt.Sprintf("%d %s", rules[rule], rule))
	}
	text := "0 findings"
	if len(found) > 0 {
		text = fmt.Sprintf("%s (%s) in %s", counted(len(found), "finding"), strings.Join(parts, ", "), counted(len(files), "file"))
	}
	if broken > 0 {
		text += fmt.Sprintf("; %s could not be looked at", counted(broken, "package"))
	}
	return text + "\n"
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
