package diff

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// end closes what is between an array's or object's letter and its end.
const end = 'z'

// appendCanonical appends the form that exactly those nodes share which are the same:
// a letter for what it is, and whatever is of variable length behind its length.
func appendCanonical(to []byte, n *node, at *state) []byte {
	switch n.kind {
	case number:
		return appendText(append(to, byte(number)), decimal(n.text))
	case text, plainBytes:
		return appendText(append(to, byte(n.kind)), n.text)
	case array:
		return appendElements(append(to, byte(array)), n, at)
	case object, hash:
		to = append(to, byte(n.kind))
		for i := range n.items {
			field := &n.items[i]
			if below := at.of(field.name); !below.ignored() {
				to = appendText(append(to, '.'), field.name)
				to = appendCanonical(to, field, below)
			}
		}
		return append(to, end)
	default:
		return append(to, byte(n.kind))
	}
}

func appendText(to []byte, s string) []byte {
	to = binary.AppendUvarint(to, uint64(len(s)))
	return append(to, s...)
}

// appendElements appends what of the elements counts. Those of a set are represented by
// their digests, in order: so each byte is digested once for each set that it is in.
func appendElements(to []byte, n *node, at *state) []byte {
	below := at.elements()
	switch {
	case below.ignored():
	case at.isSet():
		start := len(to)
		sums := make([]sum, len(n.items))
		for i := range n.items {
			to = appendCanonical(to[:start], &n.items[i], below)
			sums[i] = sumOf(to[start:])
		}
		to = to[:start]
		slices.SortFunc(sums, sum.compare)
		to = binary.AppendUvarint(to, uint64(len(sums)))
		for _, s := range sums {
			to = append(to, s[:]...)
		}
	default:
		for i := range n.items {
			to = appendCanonical(to, &n.items[i], below)
		}
	}
	return append(to, end)
}

// sum is the digest of a canonical form. 128 bits are enough where nobody gains by
// forging one.
type sum [16]byte

func sumOf(canonical []byte) sum {
	full := sha256.Sum256(canonical)
	return sum(full[:len(sum{})])
}

func (s sum) compare(t sum) int { return bytes.Compare(s[:], t[:]) }

// digest returns the digest of what counts of n.
func digest(n *node, at *state) sum {
	var buf [512]byte
	return sumOf(appendCanonical(buf[:0], n, at))
}
