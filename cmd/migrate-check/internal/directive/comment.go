package directive

import (
	"regexp"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
)

// Comment is one of a language other than Go, or of a Go file that was not type-checked.
type Comment struct {
	Text  string // with its signs: "# migratecheck:ignore MC202 reason"
	Place finding.Place
	Line  int // that a directive in it is for
	// Unsure says that not all rules were looked for there: that it ignores nothing is then no
	// finding.
	Unsure bool
}

// marks are the signs with which a comment begins, in whichever language.
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
