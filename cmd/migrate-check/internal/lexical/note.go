package lexical

import (
	"bytes"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/directive"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
)

// note is a comment: where it begins, and where it ends.
type note struct{ from, to int }

// Directives returns those in the comments of a file, of whichever language it is by its name.
// One that stands alone in its line is for the next that has something else in it.
func Directives(path string, src []byte) (all []*directive.Directive) {
	lang := LanguageOf(path)
	if lang == None || !bytes.Contains(src, []byte("migratecheck:ignore")) {
		return nil
	}
	text := string(src)
	t := lex(lang, text)
	code := map[int]bool{}
	for i := range t.all {
		line, _ := t.place(t.all[i].pos)
		code[line] = true
	}
	noted := map[int]bool{}
	for _, n := range t.notes {
		first, _ := t.place(n.from)
		last, _ := t.place(max(n.from, n.to-1))
		for line := first; line <= last; line++ {
			noted[line] = true
		}
	}
	for _, n := range t.notes {
		line, column := t.place(n.from)
		goal := line
		if !code[line] {
			last, _ := t.place(max(n.from, n.to-1))
			for goal = last + 1; noted[goal] && !code[goal]; goal++ {
			}
		}
		at := finding.Place{Path: path, Line: line, Column: column}
		if d := directive.InComment(text[n.from:n.to], at, goal, lang == Go); d != nil {
			all = append(all, d)
		}
	}
	return all
}
