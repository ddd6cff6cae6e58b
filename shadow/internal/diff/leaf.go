package diff

import (
	"fmt"
	"log/slog"
)

// Leaf is what one side has where two values differ. It never prints its content; a
// [Redactor] makes a token of it. It keeps the document it is of alive.
type Leaf struct {
	_ [0]func() // == would compare pointers

	// A pointer to a pointer, as in rmw.Value: fmt follows neither in somebody's
	// unexported field, where it would not ask Leaf how to print it. nil: absent.
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

// get returns the node, and what the rules say of it.
func (l Leaf) get() (*node, *state) {
	if l.at == nil {
		return &node{kind: absent}, nil
	}
	return (*l.at).node, (*l.at).state
}

// String says what the leaf is, and how long: "string(12)", "number", "array(3)", "absent".
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
