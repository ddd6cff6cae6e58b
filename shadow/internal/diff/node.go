package diff

import (
	"slices"
	"strings"

	"github.com/unwatch/unwatch/rmw"
)

// kind is the kind of a node, by its letter in the canonical form.
type kind byte

const (
	absent     kind = 'A' // the zero node is not valid
	null       kind = 'n'
	falseWord  kind = 'f'
	trueWord   kind = 't'
	number     kind = 'd'
	text       kind = 's' // a JSON string
	plainBytes kind = 'b' // not JSON, or ambiguous
	array      kind = 'a'
	object     kind = 'o'
	hash       kind = 'h'
)

var kindNames = map[kind]string{
	absent: "absent", null: "null", falseWord: "false", trueWord: "true", number: "number",
	text: "string", plainBytes: "bytes", array: "array", object: "object", hash: "hash",
}

// String returns the first word of a token.
func (k kind) String() string { return kindNames[k] }

func (k kind) named() bool { return k == object || k == hash }

// node is a value, or a part of one.
type node struct {
	kind kind
	name string // of the field, in an object or hash
	// text is a number as written, a decoded JSON string, or the bytes.
	text  string
	items []node // elements in order, fields by name
}

func tree(v rmw.Value) node {
	switch {
	case !v.Exists():
		return node{kind: absent}
	case v.Kind() != rmw.KindHash:
		return read(v.Text())
	}
	root := node{kind: hash, items: make([]node, 0, v.Len())}
	for name, value := range v.All() {
		field := read(value)
		field.name = name
		root.items = append(root.items, field)
	}
	root.sort()
	return root
}

// read parses a document; any other text is bytes.
func read(s string) node {
	if document, ok := parse(s); ok {
		return document
	}
	return node{kind: plainBytes, text: s}
}

func (n *node) sort() {
	slices.SortFunc(n.items, func(a, b node) int { return strings.Compare(a.name, b.name) })
}

// ambiguous reports whether two of the sorted fields have the same name.
func (n *node) ambiguous() bool {
	for i := 1; i < len(n.items); i++ {
		if n.items[i].name == n.items[i-1].name {
			return true
		}
	}
	return false
}
