// Command prose measures the comments of Go code, tests left out:
//
//	go run ./prose [-v] FOLDER
//
// It counts headless clauses ("what it is given") and people in place of code ("who asks") in 10,000
// words. log/slog has about 1 and 5. It fails above a ceiling; -v prints the lines.
package main

import (
	"errors"
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// The ceilings only fall.
const (
	maxHeadless = 3
	maxPeople   = 6
)

var (
	headless = regexp.MustCompile(`(?i)\bwhat(?:ever)? (?:is|was|are|were|it|they|an?|the|has|had|have|does|did|do|came|comes|there|fn|this|that|we|you|one|` +
		`nobody|somebody|others?|each|can|could|will|would|may|must|belongs|follows|stands|happens|happened)\b`)
	people = regexp.MustCompile(`(?i)\b(?:who|whoever|whom|whose|somebody|nobody|anybody|everybody)\b`)
)

func main() {
	verbose := flag.Bool("v", false, "print the lines that count")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: prose [-v] FOLDER")
		os.Exit(2)
	}
	if err := check(flag.Arg(0), *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(1)
	}
}

func check(root string, verbose bool) error {
	words, clauses, persons := 0, 0, 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, group := range file.Comments {
			for _, comment := range group.List {
				text := strings.TrimPrefix(comment.Text, "//")
				words += len(strings.Fields(text))
				c, p := len(headless.FindAllString(text, -1)), len(people.FindAllString(text, -1))
				clauses, persons = clauses+c, persons+p
				if verbose && c+p > 0 {
					fmt.Printf("%s:%s\n", files.Position(comment.Pos()), text)
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if words == 0 {
		return errors.New("no comments found")
	}
	rate := func(n int) float64 { return 1e4 * float64(n) / float64(words) }
	fmt.Printf("of 10,000 words in comments: %.1f headless clauses (at most %d), %.1f people for code (at most %d)\n",
		rate(clauses), maxHeadless, rate(persons), maxPeople)
	if rate(clauses) > maxHeadless || rate(persons) > maxPeople {
		return errors.New("more than the ceiling: give the clauses a subject, and name the part of the code; -v prints the lines")
	}
	return nil
}
