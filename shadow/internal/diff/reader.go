package diff

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const space = " \t\r\n" // that JSON permits

// parse parses a JSON object or array. It returns false for any other text, and for a
// document that JSON readers interpret in different ways.
//
// encoding/json checks the grammar, and limits the depth to 10,000. It does not build the
// tree: it keeps only the last of two fields with one name, and replaces half a surrogate
// pair and invalid UTF-8, so documents that differ would become equal.
func parse(s string) (node, bool) {
	start := strings.TrimLeft(s, space)
	if start == "" || start[0] != '{' && start[0] != '[' || !utf8.ValidString(s) || !json.Valid([]byte(s)) {
		return node{}, false
	}
	r := reader{rest: start}
	root := r.value()
	return root, !r.ambiguous
}

// reader builds the tree of a valid JSON text.
type reader struct {
	rest      string
	ambiguous bool
}

// next skips white space and returns the byte that follows.
func (r *reader) next() byte {
	r.rest = strings.TrimLeft(r.rest, space)
	return r.rest[0]
}

// take consumes and returns the next n bytes.
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
		return node{kind: number, text: r.take(strings.IndexAny(r.rest, space+",]}"))}
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
		r.escape(&b)
	}
}

// escape reads an escape sequence without its backslash.
func (r *reader) escape(b *strings.Builder) {
	c := r.take(1)[0]
	switch i := strings.IndexByte("bfnrt", c); {
	case c == 'u':
		r.unit(b)
	case i >= 0:
		b.WriteByte("\b\f\n\r\t"[i])
	default:
		b.WriteByte(c)
	}
}

// unit reads the digits of a \u escape, and of the next one if both form a surrogate pair.
// Half a pair, which JavaScript leaves where it cuts an emoji in two, becomes three bytes
// that UTF-8 does not permit, and so stays different from all other text.
func (r *reader) unit(b *strings.Builder) {
	unit := codeUnit(r.take(4))
	if !utf16.IsSurrogate(unit) {
		b.WriteRune(unit)
		return
	}
	if strings.HasPrefix(r.rest, `\u`) {
		if pair := utf16.DecodeRune(unit, codeUnit(r.rest[2:6])); pair != utf8.RuneError {
			r.take(6)
			b.WriteRune(pair)
			return
		}
	}
	b.Write([]byte{0xE0 | byte(unit>>12), 0x80 | byte(unit>>6)&0x3F, 0x80 | byte(unit)&0x3F})
}

func codeUnit(digits string) rune {
	v, _ := strconv.ParseUint(digits, 16, 32)
	return rune(v)
}
