package output

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/unwatch/unwatch/cmd/migrate-check/finding"
)

// jsonLines prints an object a line: the findings, and last {"summary": {...}}.
func jsonLines(w io.Writer, r *finding.Report, _ Options) error {
	buffer := bufio.NewWriter(w)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	for i := range r.Findings {
		if err := encoder.Encode(&r.Findings[i]); err != nil {
			return err
		}
	}
	if err := encoder.Encode(map[string]*finding.Summary{"summary": &r.Summary}); err != nil {
		return err
	}
	return buffer.Flush()
}
