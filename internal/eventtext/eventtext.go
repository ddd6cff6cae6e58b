// Package eventtext writes an event as a line of text, for logs.
package eventtext

import (
	"fmt"
	"strings"
)

// Line returns the kind and the name of an event, then its label, the attributes, which are
// pairs of a word and a value, and err. It leaves out everything that is zero.
func Line(kind, name, label string, err error, attrs ...any) string {
	var b strings.Builder
	b.WriteString(kind)
	if name != "" {
		fmt.Fprintf(&b, " %q", name)
	}
	if label != "" {
		fmt.Fprintf(&b, " label=%q", label)
	}
	for i := 0; i < len(attrs); i += 2 {
		if v := fmt.Sprint(attrs[i+1]); v != "" && v != "0" && v != "0s" {
			fmt.Fprintf(&b, " %v=%s", attrs[i], v)
		}
	}
	if err != nil {
		fmt.Fprintf(&b, " err=%q", err.Error())
	}
	return b.String()
}
