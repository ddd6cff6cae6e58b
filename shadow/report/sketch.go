package report

import (
	"math"
	"math/bits"
)

// KeySketch counts distinct keys, within a few percent up to some ten thousand and as "at
// least" beyond, in 4 KB that add up: a bitmap for linear counting (Whang et al., 1990).
// As JSON it is base64.
type KeySketch []byte

const sketchBytes = 4 << 10

// Add counts a key by a hash of it.
func (k *KeySketch) Add(hash uint64) {
	if len(*k) != sketchBytes {
		*k = make(KeySketch, sketchBytes)
	}
	bit := (hash ^ hash>>32) % (8 * sketchBytes)
	(*k)[bit/8] |= 1 << (bit % 8)
}

// merge counts the keys of another, those of both once.
func (k *KeySketch) merge(other KeySketch) {
	if len(other) != sketchBytes {
		return
	}
	if len(*k) != sketchBytes {
		*k = make(KeySketch, sketchBytes)
	}
	for i, b := range other {
		(*k)[i] |= b
	}
}

// Count estimates how many keys there were.
func (k KeySketch) Count() int64 {
	empty := 8 * sketchBytes
	for _, b := range k {
		empty -= bits.OnesCount8(b)
	}
	return int64(math.Round(-8 * sketchBytes * math.Log(float64(max(empty, 1))/(8*sketchBytes))))
}
