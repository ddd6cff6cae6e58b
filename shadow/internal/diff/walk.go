package diff

import (
	"fmt"
	"slices"
	"strings"
)

// walk goes over two trees at once.
type walk struct {
	probe bool // whether there is any difference is all that matters
	none  node // stands in for a field that one side does not have

	path   []hop
	count  int
	listed []Difference
}

// decided reports whether nothing that follows can matter.
func (w *walk) decided() bool { return w.probe && w.count > 0 }

// differ notes a difference here, or below here at hops.
func (w *walk) differ(a, b Leaf, note string, hops ...hop) {
	w.count++
	if w.probe || len(w.listed) == maxListed {
		return
	}
	path := slices.Concat(w.path, hops)
	at := &path
	w.listed = append(w.listed, Difference{Template: template(path), A: a, B: b, Note: note, path: &at})
}

// compare compares what is here on both sides.
func (w *walk) compare(a, b *node, at *state) {
	switch {
	case a.kind != b.kind:
		w.differ(leafOf(a, at), leafOf(b, at), "")
	case a.kind.named():
		w.fields(a, b, at)
	case a.kind == array:
		w.elements(a, b, at)
	case a.text == b.text:
	case a.kind == number && decimal(a.text) == decimal(b.text):
	case w.probe:
		w.count++
	case a.kind == plainBytes:
		w.differ(leafOf(a, at), leafOf(b, at), bytesNote(a.text, b.text))
	default:
		w.differ(leafOf(a, at), leafOf(b, at), "")
	}
}

// bytesNote tells what can be told of bytes without showing them.
func bytesNote(a, b string) string {
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	return fmt.Sprintf("%d and %d bytes, which differ from offset %d", len(a), len(b), same)
}

// down compares a and b, which are at h from here.
func (w *walk) down(h hop, a, b *node, at *state) {
	w.path = append(w.path, h)
	w.compare(a, b, at)
	w.path = w.path[:len(w.path)-1]
}

// fields merges two lists of fields, which are in order.
func (w *walk) fields(a, b *node, at *state) {
	isMap := max(len(a.items), len(b.items)) > maxNames
	w.none.kind = absent
	for i, j := 0, 0; (i < len(a.items) || j < len(b.items)) && !w.decided(); {
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
		w.differ(leafOf(a, at), leafOf(b, at), fmt.Sprintf("%d and %d elements", len(left), len(right)), hop{element: true, index: -1})
		// One element more or less in the middle does not make all that follow differ.
		for len(left) > 0 && len(right) > 0 && !w.decided() && alike(&left[len(left)-1], &right[len(right)-1], below) {
			left, right = left[:len(left)-1], right[:len(right)-1]
		}
	}
	for i := 0; i < min(len(left), len(right)) && !w.decided(); i++ {
		w.down(hop{element: true, index: i}, &left[i], &right[i], below)
	}
}
