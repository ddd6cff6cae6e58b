package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/unwatch/unwatch/internal/wrap"
)

// WriteJSON writes the Report as indented JSON, with p as "policy", or r.Policy if p is zero, and the
// verdict under it as "verdict". The order of all fields is fixed. [Read] ignores "policy" and "verdict".
func (r *Report) WriteJSON(w io.Writer, p Policy) error {
	err := wrap.WriteJSON(w, struct {
		*Report
		Policy  Policy  `json:"policy"`
		Verdict Verdict `json:"verdict"`
	}{r, r.under(p).withDefaults(), r.Judge(p)})
	if err != nil {
		return fmt.Errorf("report: writing JSON: %w", err)
	}
	return nil
}

// mostJSON is more than the report of a fleet of a thousand processes.
const mostJSON = 256 << 20

// Read reads a Report from the JSON of [Report.WriteJSON]. It ignores unknown fields. It does not
// check the Report: see [Report.Check].
func Read(r io.Reader) (*Report, error) { return read(r, mostJSON) }

func read(r io.Reader, most int64) (*Report, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("report: reading: %w", err)
	case int64(len(text)) > most:
		return nil, fmt.Errorf("report: the file is longer than %d MB: this is no report", most>>20)
	case len(bytes.TrimSpace(text)) == 0:
		return nil, errors.New("report: the file is empty")
	}
	// The schema comes first: fields of a later one may have other types and meanings.
	var head struct {
		Schema *int `json:"schema"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, unreadable(err, len(text))
	}
	switch {
	case head.Schema == nil:
		return nil, errors.New(`report: this is no report: the field "schema" is missing`)
	case *head.Schema > Schema:
		return nil, fmt.Errorf("report: the file has schema %d, this program reads %d: use a later version of the program", *head.Schema, Schema)
	case *head.Schema < Schema:
		return nil, fmt.Errorf("report: the file has schema %d, this program reads %d: an earlier version has written it. "+
			"Save the report again from a service of this version, or read it with a program of that version", *head.Schema, Schema)
	}
	out := struct {
		*Report
		Own writtenPolicy `json:"configPolicy"`
	}{Report: new(Report)}
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, unreadable(err, len(text))
	}
	out.Policy = Policy(out.Own)
	return out.Report, nil
}

// unreadable distinguishes a truncated report from a file that is no report.
func unreadable(err error, length int) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok && syntax.Offset >= int64(length) {
		return fmt.Errorf("report: the file ends early, after %d bytes: was it copied completely? (%w)", length, err)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("report: this is no report: %q is a JSON %s: %w", strings.TrimPrefix(wrong.Field, "Report."), wrong.Value, err)
	}
	return fmt.Errorf("report: this is no report: %w", err)
}
