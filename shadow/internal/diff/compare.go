package diff

import "github.com/unwatch/unwatch/rmw"

// maxListed is how many differences a Result lists. Whoever looks at a finding needs
// some; the verdict does not depend on it.
const maxListed = 32

// Comparer compares values by compiled Rules. It never changes and is safe for
// concurrent use.
type Comparer struct{ root *state }

// Result is what a comparison found.
type Result struct {
	// Same means: all that counts is the same.
	Same bool
	// EncodingOnly means: the same, in other bytes.
	EncodingOnly bool
	// ByRules means: the same only because the Rules leave out a part or an order that
	// differs.
	ByRules bool

	// Differences has the first 32, in the order of the document; empty if Same.
	Differences []Difference
	// More counts the rest.
	More int
}

// Difference is a place where two values differ.
type Difference struct {
	// Template is where, without anything that is a user's: "members[].name". It is
	// empty for the value as a whole. Of templates there are few.
	Template string
	// A and B are what the two sides have there. If the lengths of two arrays differ, they
	// are the arrays and Template is that of the elements; if an element of a set is on one
	// side only, it is absent on the other.
	A, B Leaf
	// Note tells more in a few words, numbers only: lengths, or from where bytes differ.
	Note string

	// path is behind two pointers for the same reason as the content of a Leaf.
	path **[]hop
}

// Compare tells whether a and b are the same, and where they are not. It takes any bytes.
func (c *Comparer) Compare(a, b rmw.Value) Result {
	if a.Equal(b) {
		return Result{Same: true}
	}
	left, right := tree(a), tree(b)
	w := walk{}
	w.compare(&left, &right, c.root)
	if w.count == 0 {
		return Result{Same: true, EncodingOnly: true, ByRules: c.root != nil && !alike(&left, &right, nil)}
	}
	return Result{Differences: w.listed, More: w.count - len(w.listed)}
}

// Digest returns a digest of all that counts: two values have the same one if, and only
// if, they are the same. It is not redacted: short content can be guessed by it.
func (c *Comparer) Digest(v rmw.Value) [16]byte {
	root := tree(v)
	return digest(&root, c.root)
}

// alike reports whether all that counts of two nodes is the same. It stops at the first
// difference.
func alike(a, b *node, at *state) bool {
	w := walk{probe: true}
	w.compare(a, b, at)
	return w.count == 0
}
