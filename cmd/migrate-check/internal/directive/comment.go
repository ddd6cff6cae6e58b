package directive

import (
	"regexp"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
)

// Comment is a comment of another language, or of a Go file that was not type-checked.
type Comment struct {
	Text  string // with its signs: "# migratecheck:ignore MC202 reason"
	Place finding.Place
	Line  int // the line of a directive in it
	// Unsure marks a place where only some rules apply: a directive that ignores nothing is no finding there.
	Unsure bool
}

// marks matches the beginning of a comment in any language.
var marks = regexp.MustCompile(`^(?://+|#+|--(?:\[=*\[)?|/\*+)`)

// InComment returns the directive that a comment is, or nil. Only migratecheck:ignore is one:
// the others are those of Go's linters.
func InComment(c Comment) *Directive {
	mark := marks.FindString(c.Text)
	if mark == "" {
		return nil
	}
	body := strings.TrimSpace(c.Text[len(mark):])
	if !strings.HasPrefix(body, "migratecheck:ignore") {
		return nil
	}
	for _, end := range []string{"*/", "]]", "?>"} {
		body = strings.TrimSpace(strings.TrimSuffix(body, end))
	}
	body, _, _ = strings.Cut(body, "\n")
	d := parse("//" + strings.TrimSpace(body))
	if d != nil {
		d.Place, d.Line, d.unsure = c.Place, c.Line, c.Unsure
	}
	return d
}
