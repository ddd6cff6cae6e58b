package diff

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
)

// maxShown bounds the characters of a value that a token shows.
const maxShown = 64

// Redactor makes tokens of values. With one key, equal values have equal tokens. Without the
// key, a value cannot be found by trying, which takes seconds for a plain digest of a phone
// number. A Redactor is safe for concurrent use.
type Redactor struct{ key []byte }

// NewRedactor returns a Redactor with a secret key; an empty key is replaced by a random
// one. The tokens of several processes are comparable if they have the same key.
func NewRedactor(key []byte) *Redactor {
	if len(key) == 0 {
		key = make([]byte, sha256.Size)
		_, _ = rand.Read(key) // never fails
	}
	return &Redactor{key: append([]byte(nil), key...)}
}

// Token returns the kind of a Leaf, its length and 32 bits of an HMAC-SHA-256:
// "string(12)#a1b2c3d4", "number#0f3e9a77", "array(3)#5c21d0ee". The HMAC is of the
// canonical form, so 1 and 1.0 have the same token.
//
// Token shows absent, null, true, false, 0, "" and "0": they are no secrets, and to confuse
// them is the most common mistake. It shows up to 64 characters of the scalars and bytes
// that Rules.Show lists.
func (r *Redactor) Token(l Leaf) string {
	n, at := l.get()
	switch n.kind {
	case absent, null, falseWord, trueWord:
		return n.kind.String()
	case number:
		if decimal(n.text) == "0" {
			return "0"
		}
		if at.shown() {
			short, rest := cut(n.text)
			return short + rest
		}
	case text, plainBytes:
		if n.text == "" || n.text == "0" || at.shown() {
			// Quoted, it neither looks like the report's own words, nor moves the terminal's cursor.
			short, rest := cut(n.text)
			return strconv.Quote(short) + rest
		}
	}
	return l.String() + "#" + r.mac(appendCanonical(nil, n, at))
}

// Path returns the place of a Difference, with indexes, and with tokens for names that are
// data: "members[17].unread.{#a1b2c3d4}".
func (r *Redactor) Path(d Difference) string {
	if d.path == nil {
		return d.Template
	}
	return render(**d.path, func(h hop) string {
		switch {
		case h.element && h.index >= 0:
			return "[" + strconv.Itoa(h.index) + "]"
		case h.element:
			return "[]"
		case h.hidden():
			return "{#" + r.mac([]byte("name:"+h.name)) + "}"
		}
		return h.name
	})
}

// Text makes a token of a text, like a key's name: "string(12)#a1b2c3d4". The same text in a
// document has the same token.
func (r *Redactor) Text(s string) string { return r.Token(leafOf(&node{kind: text, text: s}, nil)) }

func (r *Redactor) mac(data []byte) string {
	h := hmac.New(sha256.New, r.key)
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil)[:4])
}

func cut(s string) (short, rest string) {
	n := 0
	for i := range s {
		if n++; n > maxShown {
			return s[:i], ellipsis
		}
	}
	return s, ""
}

// Leaf is the value of one side where two values differ. It never prints its content; a
// [Redactor] makes a token of it. It keeps its whole document in memory.
type Leaf struct {
	_ [0]func() // == would compare pointers

	// A pointer to a pointer, as in rmw.Value: fmt does not follow it in an unexported
	// field, where fmt would not call String. nil: absent.
	at **leaf
}

type leaf struct {
	node  *node
	state *state
}

func leafOf(n *node, at *state) Leaf {
	if n == nil || n.kind == absent {
		return Leaf{}
	}
	l := &leaf{n, at}
	return Leaf{at: &l}
}

func (l Leaf) get() (*node, *state) {
	if l.at == nil {
		return &node{kind: absent}, nil
	}
	return (*l.at).node, (*l.at).state
}

// String returns the kind and the length: "string(12)", "number", "array(3)", "absent".
func (l Leaf) String() string {
	n, _ := l.get()
	switch n.kind {
	case text, plainBytes:
		return fmt.Sprintf("%v(%d)", n.kind, len(n.text))
	case array, object, hash:
		return fmt.Sprintf("%v(%d)", n.kind, len(n.items))
	default:
		return n.kind.String()
	}
}

// GoString keeps %#v from showing the content.
func (l Leaf) GoString() string { return "diff.Leaf(" + l.String() + ")" }

// LogValue keeps slog from showing the content.
func (l Leaf) LogValue() slog.Value { return slog.StringValue(l.String()) }

const (
	maxLevels = 16 // of a template
	maxNames  = 64 // an object with more fields is a map
	maxName   = 32 // a longer name is data
)

const ellipsis = "…"

// hop is one step of a path, to a field or to an element.
type hop struct {
	name    string
	data    bool // the name is data
	element bool
	index   int // of an element; -1 in a set
}

// template renders a path without data.
func template(path []hop) string {
	return render(path, func(h hop) string {
		switch {
		case h.element:
			return "[]"
		case h.hidden():
			return "*"
		}
		return h.name
	})
}

func (h hop) hidden() bool { return h.data || looksLikeData(h.name) }

func render(path []hop, show func(hop) string) string {
	var b strings.Builder
	for i, h := range path {
		if !h.element && i > 0 {
			b.WriteByte('.')
		}
		if i == maxLevels {
			b.WriteString(ellipsis)
			break
		}
		b.WriteString(show(h))
	}
	return b.String()
}

// looksLikeData reports whether a field's name is probably data, by the rule in the
// package's description.
func looksLikeData(name string) bool {
	if name == "" || len(name) > maxName || isDigit(name[0]) || name[0] == '-' {
		return true
	}
	digits, hexRun, changes := 0, 0, 0
	for i := range len(name) {
		c := name[i]
		if !isDigit(c) && !isLetter(c) && c != '_' && c != '-' {
			return true
		}
		if isDigit(c) {
			digits++
		}
		if isHex(c) {
			hexRun++
		} else {
			hexRun = 0
		}
		if i > 0 && (isDigit(c) && isLetter(name[i-1]) || isLetter(c) && isDigit(name[i-1])) {
			changes++
		}
		if digits >= 4 || hexRun >= 8 || changes > 3 {
			return true
		}
	}
	return false
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isHex(c byte) bool    { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
