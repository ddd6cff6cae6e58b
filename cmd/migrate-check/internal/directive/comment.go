package directive

import (
	"regexp"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
)

// marks matches the beginning of a comment in any language.
var marks = regexp.MustCompile(`^(?://+|#+|--(?:\[=*\[)?|/\*+)`)

// InComment returns the directive of a comment in another language, or in a Go file that was not type-checked; nil if it
// is none. The text has its signs: "# migratecheck:ignore MC202 reason". The directive applies to a line. Only
// migratecheck:ignore is one: the others are those of Go's linters. If unsure is set, a directive that ignores nothing is
// no finding, because only some rules apply there.
func InComment(text string, at finding.Place, line int, unsure bool) *Directive {
	mark := marks.FindString(text)
	if mark == "" {
		return nil
	}
	body := strings.TrimSpace(text[len(mark):])
	if !strings.HasPrefix(body, "migratecheck:ignore") {
		return nil
	}
	for _, end := range []string{"*/", "]]", "?>"} {
		body = strings.TrimSpace(strings.TrimSuffix(body, end))
	}
	body, _, _ = strings.Cut(body, "\n")
	d := parse("//" + strings.TrimSpace(body))
	if d != nil {
		d.Place, d.Line, d.unsure = at, line, unsure
	}
	return d
}
