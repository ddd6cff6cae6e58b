package rules

// Severity is the harm that a finding does.
type Severity string

// The severities, the gravest first.
const (
	// Critical marks commands that a proxy carries out half, with a late error or none.
	Critical Severity = "critical"
	// Error marks commands that a proxy refuses, or answers wrongly.
	Error Severity = "error"
	// Warning marks code that works only under a condition that it does not show.
	Warning Severity = "warning"
	// Note marks hints. A note alone fails no check.
	Note Severity = "note"
)

// Severities returns all severities, the gravest first.
func Severities() []Severity { return []Severity{Critical, Error, Warning, Note} }
