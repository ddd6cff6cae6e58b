// Package directive reads comments that suppress findings.
//
//	//migratecheck:ignore MC201 a Redis of its own, not behind the proxy until 2027-03-31
//	//nolint:migratecheck // reason
//	//lint:ignore MC201 reason
//
// In other languages it is the first of these, behind the signs of a comment there:
//
//	# migratecheck:ignore MC202 reason
//	-- migratecheck:ignore MC504 reason
//
// A directive applies to its own line, or, if it stands alone, to the next one. It must
// give a reason. A date is the last day on which it applies. A bare
// //nolint, or one for other linters, does not count: its author did not know the finding that it
// would hide. A directive that ignores nothing, has expired, or gives no reason, is a finding itself.
package directive

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/internal/rules"
)

// Rule is the rule for wrong directives.
const Rule = "MC001"

// Directive is a comment that suppresses findings.
type Directive struct {
	Rules  []string // none: all of them
	Reason string
	Until  time.Time // its last day; zero: it does not expire
	Place  finding.Place
	Line   int    // the line that it applies to
	wrong  string // the mistake in it
	used   bool
	unsure bool // as in InComment
}

var (
	own    = regexp.MustCompile(`^//\s?migratecheck:ignore\b(.*)$`)
	lint   = regexp.MustCompile(`^//\s?lint:ignore\s+((?:MC\d+)(?:,MC\d+)*)\b(.*)$`)
	nolint = regexp.MustCompile(`^//nolint:([\w,-]+)(.*)$`)
	until  = regexp.MustCompile(`^(.*?)\s*\buntil\s+(\S+)\s*$`)
	rule   = regexp.MustCompile(`^MC\d+$`)
)

// Linter is the name of the plugin in golangci-lint.
const Linter = "migratecheck"

// InFile returns the directives of a file. The path is that of the findings.
func InFile(fset *token.FileSet, file *ast.File, path string) (all []*Directive) {
	code := lines(fset, file)
	for _, group := range file.Comments {
		for _, comment := range group.List {
			d := parse(comment.Text)
			if d == nil {
				continue
			}
			at := fset.Position(comment.Pos())
			d.Place = finding.Place{Path: path, Line: at.Line, Column: at.Column}
			d.Line = at.Line
			if !code[at.Line] {
				d.Line = fset.Position(group.End()).Line + 1
			}
			all = append(all, d)
		}
	}
	return all
}

// lines returns the lines with code in them.
func lines(fset *token.FileSet, file *ast.File) map[int]bool {
	code := map[int]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n.(type) {
		case nil, *ast.Comment, *ast.CommentGroup:
			return false
		}
		code[fset.Position(n.Pos()).Line] = true
		code[fset.Position(n.End()).Line] = true
		return true
	})
	return code
}

// parse reads a comment; nil if it is no directive of this tool.
func parse(text string) *Directive {
	d := &Directive{}
	rest := ""
	if match := own.FindStringSubmatch(text); match != nil {
		first, behind, _ := strings.Cut(strings.TrimSpace(match[1]), " ")
		for id := range strings.SplitSeq(first, ",") {
			if !rule.MatchString(id) {
				d.wrong = fmt.Sprintf("names no rule: want //migratecheck:ignore MC101 and a reason, not %q", first)
				return d
			}
			d.Rules = append(d.Rules, id)
		}
		rest = behind
	} else if match := lint.FindStringSubmatch(text); match != nil {
		d.Rules, rest = strings.Split(match[1], ","), match[2]
	} else if match := nolint.FindStringSubmatch(text); match != nil {
		if !slices.Contains(strings.Split(match[1], ","), Linter) {
			return nil
		}
		rest = strings.TrimLeft(match[2], " /")
	} else {
		return nil
	}
	d.Reason = strings.TrimSpace(rest)
	if match := until.FindStringSubmatch(d.Reason); match != nil {
		day, err := time.Parse(time.DateOnly, match[2])
		if err != nil {
			d.wrong = fmt.Sprintf("has an expiry that is no day: want until 2027-03-31, not %q", match[2])
			return d
		}
		d.Reason, d.Until = match[1], day
	}
	if d.Reason == "" {
		d.wrong = "gives no reason: write behind the rule why the finding is right as it is"
	}
	return d
}

// Apply suppresses findings, and returns a finding for each wrong directive. A directive expires by today. looked
// selects the rules of the check, nil for all: a directive for another rule may be of use.
func Apply(all []finding.Finding, directives []*Directive, looked func(id string) bool, today time.Time) (more []finding.Finding) {
	type line struct {
		path string
		line int
	}
	byLine := map[line][]*Directive{}
	for _, d := range directives {
		byLine[line{d.Place.Path, d.Line}] = append(byLine[line{d.Place.Path, d.Line}], d)
	}
	for i := range all {
		f := &all[i]
		here := byLine[line{f.Path, f.Line}]
		if f.Began > 0 {
			here = append(slices.Clone(here), byLine[line{f.Path, f.Began}]...)
		}
		for _, d := range here {
			if len(d.Rules) > 0 && !slices.Contains(d.Rules, f.Rule) {
				continue
			}
			d.used = true
			if d.wrong == "" && !d.expired(today) && f.Suppressed == nil {
				f.Suppressed = &finding.Suppression{By: "directive", Reason: d.Reason}
			}
		}
	}
	for _, d := range directives {
		why := d.wrong
		switch {
		case why != "":
		case d.expired(today):
			why = "has expired on " + d.Until.Format(time.DateOnly)
		case !d.used && !d.unsure && d.meant(looked):
			why = "ignores nothing: remove it"
		default:
			continue
		}
		at := d.Place
		at.Message = "the directive " + why + " (" + Rule + ")"
		more = append(more, finding.Finding{
			Rule: Rule, Severity: rules.Warning, Confidence: finding.High, Place: at, Statement: at.Message,
		})
	}
	return more
}

// meant reports whether the check has all rules of a directive.
func (d *Directive) meant(looked func(id string) bool) bool {
	if looked == nil {
		return true
	}
	return len(d.Rules) > 0 && !slices.ContainsFunc(d.Rules, func(id string) bool { return !looked(id) })
}

func (d *Directive) expired(today time.Time) bool {
	return !d.Until.IsZero() && !today.Before(d.Until.AddDate(0, 0, 1))
}
