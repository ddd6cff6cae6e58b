package diff

import (
	"slices"
	"strings"

	"github.com/unwatch/unwatch/rmw"
)

// maxListed bounds the differences in a Result. The verdict does not depend on it.
const maxListed = 32

// Comparer compares values by compiled Rules. It is safe for concurrent use.
type Comparer struct{ root *state }

// Result is the result of a comparison.
type Result struct {
	// Same means that all places that count are equal.
	Same bool
	// EncodingOnly means that only the bytes differ.
	EncodingOnly bool

	// Differences has the first 32 differences, in the order of the document.
	Differences []Difference
	// More counts the rest.
	More int
}

// Difference is a place where two values differ.
type Difference struct {
	// Template is the place, without any data of users: "members[].name". It is empty for
	// the value as a whole. The number of templates is small.
	Template string
	// A and B are the values of both sides at that place. If the lengths of two arrays
	// differ, they are the arrays, and Template is that of the elements. If only one side
	// has an element of a set, it is absent on the other.
	A, B Leaf

	// path is behind two pointers for the same reason as the content of a Leaf.
	path **[]hop
}

// Compare compares two values. Any bytes are valid.
func (c *Comparer) Compare(a, b rmw.Value) Result {
	if a.Equal(b) {
		return Result{Same: true}
	}
	left, right := tree(a), tree(b)
	w := walk{}
	w.compare(&left, &right, c.root)
	if w.count == 0 {
		return Result{Same: true, EncodingOnly: true}
	}
	return Result{Differences: w.listed, More: w.count - len(w.listed)}
}

// walk compares two trees.
type walk struct {
	none   node // for a field that one side lacks
	path   []hop
	count  int
	listed []Difference
}

// differ adds a difference at the current place, or at hops below it.
func (w *walk) differ(a, b Leaf, hops ...hop) {
	w.count++
	if len(w.listed) == maxListed {
		return
	}
	path := slices.Concat(w.path, hops)
	at := &path
	w.listed = append(w.listed, Difference{Template: template(path), A: a, B: b, path: &at})
}

// compare compares two nodes at the current place.
func (w *walk) compare(a, b *node, at *state) {
	switch {
	case a.kind != b.kind:
		w.differ(leafOf(a, at), leafOf(b, at))
	case a.kind.named():
		w.fields(a, b, at)
	case a.kind == array:
		w.elements(a, b, at)
	case a.text == b.text:
	case a.kind == number && decimal(a.text) == decimal(b.text):
	default:
		w.differ(leafOf(a, at), leafOf(b, at))
	}
}

// down compares two nodes one hop below the current place.
func (w *walk) down(h hop, a, b *node, at *state) {
	w.path = append(w.path, h)
	w.compare(a, b, at)
	w.path = w.path[:len(w.path)-1]
}

// fields compares two sorted lists of fields.
func (w *walk) fields(a, b *node, at *state) {
	isMap := max(len(a.items), len(b.items)) > maxNames
	w.none.kind = absent
	for i, j := 0, 0; i < len(a.items) || j < len(b.items); {
		left, right := &w.none, &w.none
		order := 0
		switch {
		case j == len(b.items):
			order = -1
		case i == len(a.items):
			order = 1
		default:
			order = strings.Compare(a.items[i].name, b.items[j].name)
		}
		name := ""
		if order <= 0 {
			left, name = &a.items[i], a.items[i].name
			i++
		}
		if order >= 0 {
			right, name = &b.items[j], b.items[j].name
			j++
		}
		if below := at.of(name); !below.ignored() {
			w.down(hop{name: name, data: isMap || below.isKey()}, left, right, below)
		}
	}
}

// elements compares two arrays.
func (w *walk) elements(a, b *node, at *state) {
	below := at.elements()
	switch {
	case below.ignored():
		return
	case at.isSet():
		w.sets(a.items, b.items, below)
		return
	}
	left, right := a.items, b.items
	if len(left) != len(right) {
		w.differ(leafOf(a, at), leafOf(b, at), hop{element: true, index: -1})
		// An element more or less in the middle must not make all later ones differ.
		for len(left) > 0 && len(right) > 0 && digest(&left[len(left)-1], below) == digest(&right[len(right)-1], below) {
			left, right = left[:len(left)-1], right[:len(right)-1]
		}
	}
	for i := range min(len(left), len(right)) {
		w.down(hop{element: true, index: i}, &left[i], &right[i], below)
	}
}
