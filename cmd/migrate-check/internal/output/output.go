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
	Terminal bool // wrap lines, and print the details of a finding below it
	Colour   bool // for a terminal
	Traces   bool // print all details of a finding, also off a terminal
	// Shown maps a path of the report to one relative to the working directory.
	Shown func(path string) string
	// Repository maps a path of the report to one relative to the root of the repository.
	Repository func(path string) string
	Version    string // of this program
}

func (o Options) path(path string) string {
	if o.Shown == nil {
		return path
	}
	return o.Shown(path)
}

func (o Options) repository(path string) string {
	if o.Repository == nil {
		return path
	}
	return o.Repository(path)
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
