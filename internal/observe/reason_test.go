package observe

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
)

func TestReason(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{nil, "ok"},
		{rmw.ErrContended, "contended"},
		{rmw.ErrLockLost, "lock_lost"},
		{rmw.ErrOutcomeUnknown, "outcome_unknown"},
		{rmw.ErrWrongKind, "wrong_kind"},
		{rmw.ErrUnsupported, "unsupported"},
		{rmw.ErrUnavailable, "unavailable"},
		{rmw.ErrInvalid, "invalid"},
		{rmw.ErrUndecodable, "undecodable"},
		{rmw.ErrClosed, "closed"},
		{context.Canceled, "canceled"},
		{context.DeadlineExceeded, "deadline"},
		{errors.New("sold out"), "fn"},
		{&rmw.Error{Reason: errors.New("not of the list")}, "other"},

		{&rmw.Error{Cause: context.Canceled}, "canceled"},
		{&rmw.Error{Reason: rmw.ErrContended, Cause: context.DeadlineExceeded}, "contended"},
		{&rmw.Error{Reason: rmw.ErrUnavailable, Cause: rmw.ErrClosed}, "closed"},
		{errors.Join(rmw.ErrInvalid, rmw.ErrOutcomeUnknown), "outcome_unknown"},
		{fmt.Errorf("%w: %w", context.Canceled, rmw.ErrLockLost), "lock_lost"},
	} {
		for _, err := range []error{tc.err, fmt.Errorf("wrapped: %w", tc.err)} {
			if tc.err == nil {
				err = nil
			}
			assert.Equal(t, tc.want, Reason(err), "%v", err)
			assert.Contains(t, Reasons(), Reason(err))
		}
	}
}

// Each error variable of package rmw has a word, so that a new one is noticed here.
func TestEachReasonHasALabel(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../rmw/errors.go", nil, 0)
	require.NoError(t, err)
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		if spec, ok := node.(*ast.ValueSpec); ok && len(spec.Names) == 1 && spec.Names[0].IsExported() {
			n++
		}
		return true
	})
	assert.Equal(t, n, len(sentinels)-2, "the errors of rmw/errors.go, and those of a ctx")
}
