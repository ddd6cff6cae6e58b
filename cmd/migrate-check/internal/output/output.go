// Package output prints a report: for terminals, for programs, and for code reviews. All formats have the same content.
package output

import (
	"io"
	"maps"
	"slices"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
)

// Options configure Write.
type Options struct {
	Colour bool // for a terminal
	Traces bool // all of a stack, not only its ends
	// Shown maps a path of the report to one relative to the working directory.
	Shown func(path string) string
}

func (o Options) path(path string) string {
	if o.Shown == nil {
		return path
	}
	return o.Shown(path)
}

var formats = map[string]func(w io.Writer, r *finding.Report, o Options) error{
	"text":   text,
	"json":   jsonLines,
	"sarif":  sarif,
	"github": github,
}

// Formats are the names of all formats.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }

// Write prints a report in one of the Formats.
func Write(w io.Writer, format string, r *finding.Report, o Options) error {
	return formats[format](w, r, o)
}
