package rmw_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/rmw"
)

func TestOperationOf(t *testing.T) {
	assert.Empty(t, rmw.OperationOf(t.Context()))
	join := rmw.WithOperation(t.Context(), "join")
	assert.Equal(t, "join", rmw.OperationOf(join))
	assert.Equal(t, "leave", rmw.OperationOf(rmw.WithOperation(join, "leave")), "the innermost one counts")
}
