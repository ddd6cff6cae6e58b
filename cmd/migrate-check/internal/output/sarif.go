package output

import (
	"io"
	"net/url"
	"path/filepath"
	"strings"

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
func sarif(w io.Writer, r *finding.Report, _ Options) error {
	results := objects{}
	for i := range r.Findings {
		results = append(results, result(&r.Findings[i]))
	}
	run := object{
		"tool":        object{"driver": driver()},
		"columnKind":  "utf16CodeUnits",
		"results":     results,
		"invocations": objects{invocation(&r.Summary)},
	}
	if r.Root != "" {
		root := url.URL{Scheme: "file", Path: filepath.ToSlash(r.Root) + "/"}
		run["originalUriBaseIds"] = object{srcRoot: object{"uri": root.String()}}
	}
	return encode(w, " ", object{
		"$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		"version": "2.1.0",
		"runs":    objects{run},
	})
}

func driver() object {
	descriptions := objects{}
	for _, rule := range rules.All() {
		descriptions = append(descriptions, object{
			"id": rule.ID, "name": rule.Name, "helpUri": rule.URL(),
			"shortDescription":     object{"text": rule.Summary},
			"help":                 object{"text": rule.Page, "markdown": rule.Page},
			"defaultConfiguration": object{"level": level(rule.Severity), "enabled": !rule.Off},
		})
	}
	return object{
		"name": "migrate-check", "informationUri": "https://github.com/unwatch/unwatch", "rules": descriptions,
	}
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

func result(f *finding.Finding) object {
	message := f.Message
	if f.Advice != "" {
		message += ". " + f.Advice
	}
	at := location(f.Place)
	if f.EndLine > 0 {
		region := at["physicalLocation"].(object)["region"].(object)
		region["endLine"], region["endColumn"] = f.EndLine, f.EndColumn
	}
	res := object{
		"ruleId": f.Rule, "level": level(f.Severity), "message": object{"text": message}, "locations": objects{at},
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
		related = append(related, location(p))
	}
	if related != nil {
		res["relatedLocations"] = related
	}
	if len(f.Stack) > 0 {
		steps := objects{}
		for _, p := range f.Stack {
			steps = append(steps, object{"location": location(p)})
		}
		res["codeFlows"] = objects{{"threadFlows": objects{{"locations": steps}}}}
	}
	if f.Change != nil {
		res["properties"].(object)["change"] = f.Change
	}
	return res
}

func location(p finding.Place) object {
	l := object{"physicalLocation": object{
		"artifactLocation": artifact(p.Path),
		"region":           object{"startLine": max(1, p.Line), "startColumn": max(1, p.Column)},
	}}
	if p.Message != "" {
		l["message"] = object{"text": p.Message}
	}
	return l
}

func artifact(path string) object {
	a := object{"uri": (&url.URL{Path: path}).EscapedPath()}
	if !strings.HasPrefix(path, "/") {
		a["uriBaseId"] = srcRoot
	}
	return a
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
