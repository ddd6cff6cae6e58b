// Command prose measures the English of a tree:
//
//	go run ./prose [-v] FOLDER
//
// It counts headless clauses ("what it is given") and people in place of code ("who asks") in 10,000
// words of comments, of string literals and of Markdown. Tests, test data and the code in Markdown
// are left out. log/slog has about 1 and 5. It fails above a ceiling; -v prints the lines.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// kind is a kind of text. Its ceilings only fall.
type kind struct {
	name                    string
	maxHeadless, maxPeople  float64
	words, headless, people int
}

var (
	headless = regexp.MustCompile(`(?i)\bwhat(?:ever)? (?:is|was|are|were|it|they|an?|the|has|had|have|does|did|do|came|comes|there|fn|this|that|we|you|one|` +
		`nobody|somebody|others?|each|can|could|will|would|may|must|belongs|follows|stands|happens|happened)\b`)
	people = regexp.MustCompile(`(?i)\b(?:who|whoever|whom|whose|somebody|nobody|anybody|everybody)\b`)
	inline = regexp.MustCompile("`[^`]*`")
)

// count adds a text. It reports whether the text has a clause that counts.
func (k *kind) count(text string) bool {
	h, p := len(headless.FindAllString(text, -1)), len(people.FindAllString(text, -1))
	k.words, k.headless, k.people = k.words+len(strings.Fields(text)), k.headless+h, k.people+p
	return h+p > 0
}

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
	comments := &kind{name: "comments", maxHeadless: 3, maxPeople: 6}
	literals := &kind{name: "strings", maxHeadless: 10, maxPeople: 10}
	pages := &kind{name: "Markdown", maxHeadless: 10, maxPeople: 10}
	say := func(counts bool, at, text string) {
		if verbose && counts {
			fmt.Printf("%s: %s\n", at, strings.TrimSpace(text))
		}
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git"):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".md"):
			return markdown(path, func(line int, text string) { say(pages.count(text), fmt.Sprintf("%s:%d", path, line), text) })
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
				say(comments.count(text), files.Position(comment.Pos()).String(), text)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					say(literals.count(text), files.Position(lit.Pos()).String(), text)
				}
			}
			return true
		})
		return nil
	})
	for _, k := range []*kind{comments, literals, pages} {
		if k.words == 0 {
			return errors.Join(err, fmt.Errorf("no %s found", k.name))
		}
		rate := func(n int) float64 { return 1e4 * float64(n) / float64(k.words) }
		fmt.Printf("of 10,000 words in %s: %.1f headless clauses (at most %.0f), %.1f people for code (at most %.0f)\n",
			k.name, rate(k.headless), k.maxHeadless, rate(k.people), k.maxPeople)
		if rate(k.headless) > k.maxHeadless || rate(k.people) > k.maxPeople {
			err = errors.Join(err, fmt.Errorf("%s are above the ceiling: give the clauses a subject, and name the part of the code; -v prints the lines", k.name))
		}
	}
	return err
}

// markdown yields the lines of a page without its code.
func markdown(path string, yield func(line int, text string)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	code := false
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		text := lines.Text()
		if strings.HasPrefix(strings.TrimSpace(text), "```") {
			code = !code
		} else if !code {
			yield(n, inline.ReplaceAllString(text, "code"))
		}
	}
	return errors.Join(lines.Err(), file.Close())
}
