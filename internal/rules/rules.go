// Package rules has the rules of migrate-check: a page each. The head of a page has the data for programs.
package rules

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed pages
var pages embed.FS

// Rule is a rule of migrate-check.
type Rule struct {
	ID       string // "MC101"
	Name     string // "watch"
	Severity Severity
	Summary  string // one line, lower case
	Off      bool   // only looked for on request
	Page     string // Markdown: why, an example, what to do
}

// Advice returns the first sentence of the page's advice.
func (r Rule) Advice() string {
	_, text, _ := strings.Cut(r.Page, "\n## What to do\n")
	text = strings.Join(strings.Fields(text), " ")
	for i := 1; i < len(text); i++ {
		if text[i-1] == '.' && text[i] == ' ' {
			return text[:i-1]
		}
	}
	return strings.TrimSuffix(text, ".")
}

// URL returns the address of the page.
func (r Rule) URL() string {
	return "https://github.com/unwatch/unwatch/blob/main/internal/rules/pages/" + r.ID + ".md"
}

var all = read(pages)

// All returns the rules, by their ID.
func All() []Rule { return slices.Clone(all) }

// Of returns the rule with an ID, in upper or lower case.
func Of(id string) (Rule, bool) {
	for _, r := range all {
		if strings.EqualFold(r.ID, id) {
			return r, true
		}
	}
	return Rule{}, false
}

// SeverityOf returns the severity of a rule; Error for an unknown rule.
func SeverityOf(id string) Severity {
	if r, ok := Of(id); ok {
		return r.Severity
	}
	return Error
}

// read reads all embedded pages. It panics on a malformed page, which any test finds.
func read(fsys fs.FS) (all []Rule) {
	names, err := fs.Glob(fsys, "pages/*.md")
	if err != nil {
		panic(err)
	}
	slices.Sort(names)
	for _, name := range names {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			panic(err)
		}
		rule, err := parse(string(text))
		if err != nil {
			panic(fmt.Errorf("%s: %w", name, err))
		}
		all = append(all, rule)
	}
	return all
}

// parse reads a page: its title is "# ID: summary", and in the line below stand its name, its
// severity, and whether it is off: "`watch` · error · off".
func parse(text string) (Rule, error) {
	lines := strings.SplitN(text, "\n", 4)
	if len(lines) < 4 || lines[1] != "" {
		return Rule{}, fmt.Errorf("a title, an empty line, and a line of facts are wanted, not %q", text)
	}
	id, summary, ok := strings.Cut(strings.TrimPrefix(lines[0], "# "), ": ")
	facts := strings.Split(lines[2], " · ")
	if !ok || len(facts) < 2 {
		return Rule{}, fmt.Errorf("a title and facts are wanted, not %q and %q", lines[0], lines[2])
	}
	r := Rule{
		ID: id, Summary: summary, Name: strings.Trim(facts[0], "`"),
		Severity: Severity(facts[1]), Off: slices.Contains(facts[2:], "off"), Page: text,
	}
	if !slices.Contains(Severities(), r.Severity) {
		return Rule{}, fmt.Errorf("there is no severity %q", facts[1])
	}
	return r, nil
}
