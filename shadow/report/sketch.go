package report

import (
	"math"
	"math/bits"
)

// KeySketch counts distinct keys, within a few percent up to about 10,000. Larger counts are lower
// bounds. It is a bitmap of 4 KB for linear counting (Whang et al., 1990), and sketches can be
// merged. Its JSON is base64.
type KeySketch []byte

const sketchBytes = 4 << 10

// Add counts a key by its hash.
func (k *KeySketch) Add(hash uint64) {
	if len(*k) != sketchBytes {
		*k = make(KeySketch, sketchBytes)
	}
	bit := (hash ^ hash>>32) % (8 * sketchBytes)
	(*k)[bit/8] |= 1 << (bit % 8)
}

// merge adds the keys of other. A key of both counts once.
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

// Count estimates the number of keys.
func (k KeySketch) Count() int64 {
	empty := 8 * sketchBytes
	for _, b := range k {
		empty -= bits.OnesCount8(b)
	}
	return int64(math.Round(-8 * sketchBytes * math.Log(float64(max(empty, 1))/(8*sketchBytes))))
}
