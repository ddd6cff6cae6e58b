package output

import (
	"fmt"
	"io"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/internal/rules"
	"github.com/unwatch/unwatch/internal/wrap"
)

// github prints the workflow commands by which GitHub Actions annotates lines, and then
// the summary of the text format.
// https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
func github(w io.Writer, r *finding.Report, o Options) error {
	var b strings.Builder
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Suppressed != nil {
			continue
		}
		level := "notice" // of a note, and of a finding that does not count
		switch {
		case !f.Counts():
		case f.Severity == rules.Warning:
			level = "warning"
		default:
			level = "error"
		}
		message := f.Message
		if f.Advice != "" {
			message += "\n" + f.Advice
		}
		fmt.Fprintf(&b, "::%s file=%s,line=%d,col=%d,title=%s::%s\n", level, property(o.repository(f.Path)),
			f.Line, f.Column, property("migrate-check "+f.Rule), data(message))
	}
	for _, u := range r.Summary.Unseen {
		fmt.Fprintf(&b, "::warning title=migrate-check::%s\n", data(u.Path+" could not be looked at: "+u.Reason))
	}
	b.WriteString(summary(r, o))
	_, err := io.WriteString(w, b.String())
	return err
}

// data escapes the message of a workflow command.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", "\t", " ").Replace(wrap.Lines(s))
}

// property escapes a property of a workflow command.
func property(s string) string {
	return strings.NewReplacer("%", "%25", ":", "%3A", ",", "%2C").Replace(wrap.Printable(s))
}
