package diff

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// end closes an array, an object or a hash.
const end = 'z'

// appendCanonical appends the canonical form of a node: a letter for its kind, then its
// content, with a length before each part of variable length. Two nodes have the same form
// if and only if they are equal.
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

// appendElements appends the elements that count. A set appends the sorted digests of its
// elements, so each byte is digested once for each set that contains it.
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

// sum is the digest of a canonical form. 128 bits suffice, as a forged digest has no use.
type sum [16]byte

func sumOf(canonical []byte) sum {
	full := sha256.Sum256(canonical)
	return sum(full[:len(sum{})])
}

func (s sum) compare(t sum) int { return bytes.Compare(s[:], t[:]) }

// digest returns the digest of all parts of n that count.
func digest(n *node, at *state) sum {
	var buf [512]byte
	return sumOf(appendCanonical(buf[:0], n, at))
}
