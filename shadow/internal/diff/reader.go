package diff

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// parse returns the JSON object or array that s is, and false if it is none, or one that
// readers disagree about.
//
// encoding/json judges the grammar, and limits the depth to 10,000. It cannot build the
// tree, though: it takes the last of two fields of one name, and replaces what is not
// Unicode, so that documents that differ would become the same.
func parse(s string) (node, bool) {
	start := strings.TrimLeft(s, " \t\r\n")
	if start == "" || start[0] != '{' && start[0] != '[' || !utf8.ValidString(s) || !json.Valid([]byte(s)) {
		return node{}, false
	}
	r := reader{rest: start}
	root := r.value()
	return root, !r.ambiguous
}

// reader builds the tree of a text whose grammar has been checked.
type reader struct {
	rest      string
	ambiguous bool
}

// next skips white space and returns the byte that follows.
func (r *reader) next() byte {
	i := 0
	for r.rest[i] == ' ' || r.rest[i] == '\t' || r.rest[i] == '\r' || r.rest[i] == '\n' {
		i++
	}
	r.rest = r.rest[i:]
	return r.rest[0]
}

// take returns the next n bytes and moves behind them.
func (r *reader) take(n int) string {
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) value() node {
	switch r.next() {
	case '{':
		return r.object()
	case '[':
		return r.array()
	case '"':
		return node{kind: text, text: r.string()}
	case 'n':
		r.take(len("null"))
		return node{kind: null}
	case 't':
		r.take(len("true"))
		return node{kind: trueWord}
	case 'f':
		r.take(len("false"))
		return node{kind: falseWord}
	default:
		return node{kind: number, text: r.take(strings.IndexAny(r.rest, " \t\r\n,]}"))}
	}
}

func (r *reader) object() node {
	n := node{kind: object}
	r.take(1)
	for r.next() != '}' {
		if r.rest[0] == ',' {
			r.take(1)
			r.next()
		}
		name := r.string()
		r.next()
		r.take(1) // the colon
		field := r.value()
		field.name = name
		n.items = append(n.items, field)
	}
	r.take(1)
	n.sort()
	r.ambiguous = r.ambiguous || n.ambiguous()
	return n
}

func (r *reader) array() node {
	n := node{kind: array}
	r.take(1)
	for r.next() != ']' {
		if r.rest[0] == ',' {
			r.take(1)
		}
		n.items = append(n.items, r.value())
	}
	r.take(1)
	return n
}

func (r *reader) string() string {
	r.take(1)
	end := strings.IndexAny(r.rest, `"\`)
	if r.rest[end] == '"' {
		s := r.take(end)
		r.take(1)
		return s
	}
	var b strings.Builder
	for {
		b.WriteString(r.take(strings.IndexAny(r.rest, `"\`)))
		if r.take(1) == `"` {
			return b.String()
		}
		b.WriteRune(r.escape())
	}
}

// escape reads what follows a backslash.
func (r *reader) escape() rune {
	switch c := r.take(1)[0]; c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'u':
		return r.unit()
	default:
		return rune(c)
	}
}

// unit reads the digits of a \u, and the other half if that is one of a pair.
func (r *reader) unit() rune {
	high := r.hex()
	if !utf16.IsSurrogate(high) {
		return high
	}
	if strings.HasPrefix(r.rest, `\u`) {
		r.take(2)
		if pair := utf16.DecodeRune(high, r.hex()); pair != utf8.RuneError {
			return pair
		}
	}
	r.ambiguous = true // so what it is made of here does not matter
	return utf8.RuneError
}

func (r *reader) hex() rune {
	v, _ := strconv.ParseUint(r.take(4), 16, 32)
	return rune(v)
}
