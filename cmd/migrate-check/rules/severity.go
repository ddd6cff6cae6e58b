package rules

// Severity says how much harm is to be expected.
type Severity string

// The severities, the gravest first.
const (
	// Critical is what a proxy carries out half: nobody is told, or too late.
	Critical Severity = "critical"
	// Error is what a proxy refuses, or answers wrongly.
	Error Severity = "error"
	// Warning is what goes wrong unless something holds that the code does not show.
	Warning Severity = "warning"
	// Note is what is good to know. A note alone lets nothing fail.
	Note Severity = "note"
)

// Severities are all of them, the gravest first.
func Severities() []Severity { return []Severity{Critical, Error, Warning, Note} }
