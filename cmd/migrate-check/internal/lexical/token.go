package lexical

import (
	"sort"
	"strings"
)

// kind says of what kind a token is.
type kind uint8

const (
	word  kind = iota // a name or keyword; with its sigil: $x, @x
	text              // a string
	num               // a number
	sign              // an operator
	open              // ( [ { and the beginning of an interpolation, "${"
	clos              // ) ] } of one of these
	endOf             // behind the last token
)

// token is one. Comments and blanks are none.
type token struct {
	kind kind
	// text is the source text; of a string its constant parts.
	text  string
	pos   int
	match int  // of a bracket: the index of its partner, or of the end of the tokens
	nl    bool // the first of its line
	holed bool // a string that something is put into
	space bool // blanks or comments stand before it
}

// tokens is a file that was taken apart.
type tokens struct {
	all   []token
	notes []note
	lines []int // where each line begins
}

// at is the token with an index, or one that is nothing.
func (t *tokens) at(i int) token {
	if i < 0 || i >= len(t.all) {
		return token{kind: endOf, nl: true}
	}
	return t.all[i]
}

// is reports whether the token is this sign, bracket or word.
func (t *tokens) is(i int, s string) bool {
	tok := t.at(i)
	return tok.kind != text && tok.kind != endOf && tok.text == s
}

// place is the line and the column of an offset, both from 1.
func (t *tokens) place(pos int) (line, column int) {
	line = sort.SearchInts(t.lines, pos+1)
	return line, pos - t.lines[line-1] + 1
}

// column is that of a token, from 1.
func (t *tokens) column(i int) int {
	_, column := t.place(t.at(i).pos)
	return column
}

// pair gives every bracket its partner. It skips brackets that are closed twice, or never.
func (t *tokens) pair() {
	var stack []int
	for i := range t.all {
		tok := &t.all[i]
		switch tok.kind {
		case open:
			tok.match = len(t.all)
			stack = append(stack, i)
		case clos:
			tok.match = -1
			if n := len(stack); n > 0 && strings.HasSuffix(partners.Replace(t.all[stack[n-1]].text), tok.text) {
				tok.match = stack[n-1]
				t.all[stack[n-1]].match = i
				stack = stack[:n-1]
			}
		}
	}
}

func lineStarts(src string) []int {
	lines := []int{0}
	for i := range len(src) {
		if src[i] == '\n' {
			lines = append(lines, i+1)
		}
	}
	return lines
}
