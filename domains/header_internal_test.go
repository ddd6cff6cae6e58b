package domains

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Two futures of one state do not write into each other's memory.
func TestRecordCopies(t *testing.T) {
	var past Header
	past.record(Op{ID: "a"}, 0)
	past.Applied = append(make([]Applied, 0, 8), past.Applied...)
	one, other := past, past
	one.record(Op{ID: "one"}, 1)
	other.record(Op{ID: "other"}, 2)
	assert.Equal(t, []Applied{{ID: "a"}}, past.Applied)
	assert.Equal(t, []Applied{{ID: "a"}, {ID: "one", Number: 1}}, one.Applied)
	assert.Equal(t, []Applied{{ID: "a"}, {ID: "other", Number: 2}}, other.Applied)

	// Nor does a full list.
	for i := range Remembered {
		past.record(Op{ID: string(rune('A' + i))}, 0)
	}
	full := append([]Applied(nil), past.Applied...)
	one = past
	one.record(Op{ID: "one"}, 1)
	assert.Equal(t, full, past.Applied)
	assert.Len(t, one.Applied, Remembered)
	assert.Equal(t, full[1:], one.Applied[:Remembered-1])
}

// A change without an id counts, and takes no place in the list.
func TestRecordWithoutAnID(t *testing.T) {
	h := Header{Applied: []Applied{{ID: "a"}}, Version: 4}
	h.record(Op{ID: ""}, 9)
	assert.Equal(t, Header{Format: Format, Version: 5, Applied: []Applied{{ID: "a"}}}, h)
}
