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
}
