package output

import (
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/internal/rules"
)

// The objects of SARIF 2.1.0.
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
type (
	object  = map[string]any
	objects = []object
)

const srcRoot = "%SRCROOT%"

// sarif prints a log with one run. Its notifications list the code that the check could not analyze.
func sarif(w io.Writer, r *finding.Report, o Options) error {
	l := &locator{o: o, root: r.Root, lines: map[string][]string{}}
	results := objects{}
	for i := range r.Findings {
		results = append(results, l.result(&r.Findings[i]))
	}
	run := object{
		"tool":               object{"driver": driver(o.Version)},
		"columnKind":         "utf16CodeUnits",
		"originalUriBaseIds": object{srcRoot: object{"description": object{"text": "the root of the repository"}}},
		"results":            results,
		"invocations":        objects{invocation(&r.Summary)},
	}
	return encode(w, " ", object{
		"$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		"version": "2.1.0",
		"runs":    objects{run},
	})
}

func driver(version string) object {
	descriptions := objects{}
	for _, rule := range rules.All() {
		descriptions = append(descriptions, object{
			"id": rule.ID, "name": rule.Name, "helpUri": rule.URL(),
			"shortDescription":     object{"text": rule.Summary},
			"help":                 object{"text": rule.Page, "markdown": rule.Page},
			"defaultConfiguration": object{"level": level(rule.Severity), "enabled": !rule.Off},
		})
	}
	d := object{"name": "migrate-check", "informationUri": "https://github.com/unwatch/unwatch", "rules": descriptions}
	if version != "" {
		d["version"] = version
	}
	return d
}

func level(s rules.Severity) string {
	switch s {
	case rules.Warning:
		return "warning"
	case rules.Note:
		return "note"
	}
	return "error"
}

func (l *locator) result(f *finding.Finding) object {
	message := f.Message
	if f.Advice != "" {
		message += ". " + f.Advice
	}
	at := l.location(f.Place)
	if f.EndLine > 0 {
		region := at["physicalLocation"].(object)["region"].(object)
		region["endLine"], region["endColumn"] = f.EndLine, l.column(f.Path, f.EndLine, f.EndColumn)
	}
	res := object{
		"ruleId": f.Rule, "ruleIndex": ruleIndex(f.Rule), "level": level(f.Severity),
		"message": object{"text": message}, "locations": objects{at},
		"properties": object{"severity": f.Severity, "confidence": f.Confidence, "labels": append([]finding.Label{}, f.Labels...)},
	}
	if f.Fingerprint != "" {
		res["partialFingerprints"] = object{"migratecheck/v1": f.Fingerprint}
	}
	if s := f.Suppressed; s != nil {
		kind := "external"
		if s.By == "directive" {
			kind = "inSource"
		}
		res["suppressions"] = objects{{"kind": kind, "justification": s.Reason}}
	}
	var related objects
	for _, p := range f.Related {
		related = append(related, l.location(p))
	}
	if related != nil {
		res["relatedLocations"] = related
	}
	if len(f.Stack) > 0 {
		steps := objects{}
		for _, p := range f.Stack {
			steps = append(steps, object{"location": l.location(p)})
		}
		res["codeFlows"] = objects{{"threadFlows": objects{{"locations": steps}}}}
	}
	if f.Change != nil {
		res["properties"].(object)["change"] = f.Change
	}
	return res
}

// ruleIndex is the place of a rule among those of the driver; -1, the default of SARIF, for none.
func ruleIndex(id string) int {
	return slices.IndexFunc(rules.All(), func(r rules.Rule) bool { return r.ID == id })
}

// locator makes the locations of a log. It reads the files of the findings, because SARIF counts columns in UTF-16.
type locator struct {
	o     Options
	root  string
	lines map[string][]string // by path
}

func (l *locator) location(p finding.Place) object {
	at := object{"physicalLocation": object{
		"artifactLocation": l.artifact(p.Path),
		"region":           object{"startLine": max(1, p.Line), "startColumn": l.column(p.Path, p.Line, p.Column)},
	}}
	if p.Message != "" {
		at["message"] = object{"text": p.Message}
	}
	return at
}

func (l *locator) artifact(path string) object {
	path = l.o.repository(path)
	a := object{"uri": (&url.URL{Path: path}).EscapedPath()}
	if !strings.HasPrefix(path, "/") {
		a["uriBaseId"] = srcRoot
	}
	return a
}

// column counts a column in UTF-16 units. One of a file that is not readable stays in bytes.
func (l *locator) column(path string, line, column int) int {
	lines, read := l.lines[path]
	if !read {
		file := filepath.FromSlash(path)
		if !filepath.IsAbs(file) {
			file = filepath.Join(l.root, file)
		}
		text, _ := os.ReadFile(file)
		lines = strings.Split(string(text), "\n")
		l.lines[path] = lines
	}
	if line < 1 || line > len(lines) || column < 1 || column-1 > len(lines[line-1]) {
		return max(1, column)
	}
	return 1 + len(utf16.Encode([]rune(lines[line-1][:column-1])))
}

func invocation(s *finding.Summary) object {
	notes := objects{}
	for _, u := range s.Unseen {
		notes = append(notes, object{"level": "warning", "message": object{"text": u.Path + " could not be looked at: " + u.Reason}})
	}
	return object{
		"executionSuccessful":        len(s.Unseen) == 0 && !s.Interrupted,
		"exitCode":                   s.Exit,
		"toolExecutionNotifications": notes,
	}
}
