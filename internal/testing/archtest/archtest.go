// Package archtest tests the rules of this repository that no linter has. The other rules are in
// .golangci.yml: permitted imports, no global state, documented packages, a limit on file size.
package archtest

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	programs   = []string{"\x7fELF", "MZ\x90\x00", "\xcf\xfa\xed\xfe"} // the first bytes on Linux, Windows and macOS
	setsExpiry = regexp.MustCompile(`'(PX|EX|P?EXPIRE(AT)?|P?SETEX|RESTORE)'`)
	firstCall  = regexp.MustCompile(`(?s)^(.*?)redis\.p?call\(`)
	cgo        = regexp.MustCompile(`(?m)^(import|\t)\s*(_ )?"C"$`)
	unwraps    = regexp.MustCompile(`(?m)^func \((?:\w+ )?\*?(\w+)\) Unwrap\(\) (?:rmw\.)?Store `)
	transacts  = regexp.MustCompile(`(?m)^func \((?:\w+ )?\*?(\w+)\) Transact\(`)
	indirect   = regexp.MustCompile(`(?m)^.*// indirect$`)
	required   = regexp.MustCompile(`(?m)^(?:require)?\s+(\S+) v\d`)
	justified  = regexp.MustCompile("(?m)^\\| `([a-z0-9-]+\\.\\S+)` \\| \\S")
)

// checkFiles returns a finding for each file that breaks a rule. The go command ignores testdata, and so do the rules
// on Go and Lua.
func checkFiles(root fs.FS) (findings []string, err error) {
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "bin", "dist"}, d.Name()): // as in .gitignore
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		if why := broken(name, string(text)); why != "" {
			findings = append(findings, name+": "+why)
		}
		return nil
	})
	return findings, err
}

// broken returns the reason why a file must not be as it is, or "".
func broken(name, text string) string {
	fixture := strings.Contains("/"+name, "/testdata/")
	switch ext := path.Ext(name); {
	// go build leaves a program in the folder of a main package, and the next commit would include it.
	case ext != ".test" && slices.ContainsFunc(programs, func(begin string) bool { return strings.HasPrefix(text, begin) }):
		return "a built program: delete it, and build with -o elsewhere"

	// A sleep in a synctest bubble costs nothing and advances the time. No linter asks what else a file imports.
	case strings.HasSuffix(name, "_test.go") && !fixture &&
		strings.Contains(text, "time.Sleep(") && !strings.Contains(text, `"testing/synctest"`):
		return "a test that sleeps is slow if it passes and flaky if it fails: wait for the event, or use testing/synctest"

	// depguard reads what cgo has made of a file. A service may be built without a C compiler.
	case ext == ".go" && !fixture && !strings.HasSuffix(name, "_test.go") && cgo.MatchString(text):
		return "cgo: a service may be built without a C compiler"

	// Redis before 5 writes a script itself to its log and to replicas, and a restart then starts the expiry anew.
	case ext == ".lua" && !fixture && setsExpiry.MatchString(text):
		before := firstCall.FindStringSubmatch(text)
		if before != nil && !strings.Contains(before[1], "redis.replicate_commands()") {
			return "sets an expiry, and must call redis.replicate_commands before its first command"
		}
	}
	return ""
}

// checkMiddleware returns a finding for each middleware that rmw.As sees through and that has no Transact: an update of
// several keys would pass it unseen. Tests and examples may have such middleware.
func checkMiddleware(root fs.FS) (findings []string, err error) {
	wrappers, seen := map[string][]string{}, map[string][]string{} // types by folder
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "testdata", "examples"}, d.Name()):
			return fs.SkipDir
		case path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(root, name)
		folder := path.Dir(name)
		wrappers[folder] = append(wrappers[folder], names(unwraps, string(text))...)
		seen[folder] = append(seen[folder], names(transacts, string(text))...)
		return err
	})
	for folder, types := range wrappers {
		for _, of := range types {
			if !slices.Contains(seen[folder], of) {
				findings = append(findings, folder+": "+of+" has Unwrap but no Transact: a Transact would pass it unseen")
			}
		}
	}
	slices.Sort(findings)
	return findings, err
}

// countLines counts the lines of Go in a folder and the folders below it. Tests and except do not count.
func countLines(root fs.FS, folder string, except ...string) (lines int, err error) {
	err = fs.WalkDir(root, folder, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || slices.Contains(except, path.Dir(name)) || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(root, name)
		lines += strings.Count(string(text), "\n")
		return err
	})
	return lines, err
}

// checkRequirements compares the modules that a go.mod requires directly with the table of reasons in CONTRIBUTING.md.
func checkRequirements(gomod, contributing string) (findings []string) {
	have, want := names(required, indirect.ReplaceAllString(gomod, "")), names(justified, contributing)
	for _, module := range have {
		if !slices.Contains(want, module) {
			findings = append(findings, fmt.Sprintf(
				"go.mod requires %s: a dependency is a decision: add it with its reason to CONTRIBUTING.md", module))
		}
	}
	for _, module := range want {
		if !slices.Contains(have, module) {
			findings = append(findings, fmt.Sprintf("CONTRIBUTING.md: %s is no longer required", module))
		}
	}
	return findings
}

func names(pattern *regexp.Regexp, text string) (names []string) {
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	return names
}
