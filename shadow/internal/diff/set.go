package diff

import (
	"cmp"
	"slices"
)

// maxPaired bounds the elements of a set that are paired, each with each.
const maxPaired = 32

// single is an element of a set that the other side lacks.
type single struct {
	node   *node
	fields []named // of an object, those that count
}

// named is a field, by name and digest.
type named struct {
	name  string
	value sum
}

// sets compares arrays without regard to order. An element on one side only is a
// difference. It is paired with a similar element of the other side, if there is one: for an
// object that lost a field, the difference is that field.
func (w *walk) sets(a, b []node, below *state) {
	left, right := singles(a, b, below)
	here := hop{element: true, index: -1}
	for _, p := range pairs(left, right, below) {
		w.down(here, left[p.a].node, right[p.b].node, below)
		left[p.a].node, right[p.b].node = nil, nil
	}
	for _, s := range left {
		if s.node != nil {
			w.differ(leafOf(s.node, below), Leaf{}, here)
		}
	}
	for _, s := range right {
		if s.node != nil {
			w.differ(Leaf{}, leafOf(s.node, below), here)
		}
	}
}

// singles returns the elements of each side that the other side lacks.
func singles(a, b []node, below *state) (left, right []single) {
	right = make([]single, len(b))
	at := make(map[sum][]int, len(b)) // indexes in b, the first one last
	for i := len(b) - 1; i >= 0; i-- {
		right[i].node = &b[i]
		d := digest(&b[i], below)
		at[d] = append(at[d], i)
	}
	for i := range a {
		d := digest(&a[i], below)
		if same := at[d]; len(same) > 0 {
			right[same[len(same)-1]].node = nil
			at[d] = same[:len(same)-1]
			continue
		}
		left = append(left, single{node: &a[i]})
	}
	return left, slices.DeleteFunc(right, func(s single) bool { return s.node == nil })
}

// pair is a guess that two elements are states of one object.
type pair struct {
	a, b  int
	alike int // number of equal fields
}

// pairs returns the pairs, the most similar first. It is symmetric in both sides.
func pairs(left, right []single, below *state) []pair {
	if len(left) == 1 && len(right) == 1 && left[0].node.kind == right[0].node.kind {
		switch left[0].node.kind {
		case object, array:
			return []pair{{}}
		}
	}
	if max(len(left), len(right)) > maxPaired {
		return nil
	}
	for _, side := range [][]single{left, right} {
		for i := range side {
			side[i].fields = fieldsOf(side[i].node, below)
		}
	}
	var found []pair
	for i := range left {
		for j := range right {
			n := common(left[i].fields, right[j].fields)
			if n > 0 && 2*n >= max(len(left[i].fields), len(right[j].fields)) {
				found = append(found, pair{i, j, n})
			}
		}
	}
	slices.SortFunc(found, func(p, q pair) int {
		return cmp.Or(
			cmp.Compare(q.alike, p.alike),
			cmp.Compare(p.distance(), q.distance()),
			cmp.Compare(p.a+p.b, q.a+q.b), // if these are equal, too, the pairs are disjoint
		)
	})
	usedA, usedB := make([]bool, len(left)), make([]bool, len(right))
	return slices.DeleteFunc(found, func(p pair) bool {
		if usedA[p.a] || usedB[p.b] {
			return true
		}
		usedA[p.a], usedB[p.b] = true, true
		return false
	})
}

func (p pair) distance() int { return max(p.a, p.b) - min(p.a, p.b) }

// fieldsOf returns the fields of an object that count; other nodes have none.
func fieldsOf(n *node, at *state) []named {
	if n.kind != object {
		return nil
	}
	fields := make([]named, 0, len(n.items))
	for i := range n.items {
		if below := at.of(n.items[i].name); !below.ignored() {
			fields = append(fields, named{n.items[i].name, digest(&n.items[i], below)})
		}
	}
	return fields
}

// common counts the equal fields.
func common(a, b []named) int {
	n := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch c := cmp.Compare(a[i].name, b[j].name); {
		case c < 0:
			i++
		case c > 0:
			j++
		default:
			if a[i].value == b[j].value {
				n++
			}
			i, j = i+1, j+1
		}
	}
	return n
}
