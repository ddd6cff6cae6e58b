package output

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/internal/wrap"
)

// jsonLines prints an object a line: the findings, and last {"summary": {...}}.
func jsonLines(w io.Writer, r *finding.Report, _ Options) error {
	buffer := bufio.NewWriter(w)
	for i := range r.Findings {
		if err := encode(buffer, "", &r.Findings[i]); err != nil {
			return err
		}
	}
	if err := encode(buffer, "", map[string]*finding.Summary{"summary": &r.Summary}); err != nil {
		return err
	}
	return buffer.Flush()
}

// encode writes a value as JSON that no terminal and no CI runner acts on, with a line end.
func encode(w io.Writer, indent string, v any) error {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, wrap.JSON(text.String()))
	return err
}
