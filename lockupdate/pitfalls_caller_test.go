package lockupdate_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// One error for a lock that is taken, lost, unreachable or abandoned does not tell callers how to
// react (redsync#81, redsync#98, redsync#164, node-redlock#65, node-redlock#131, node-redlock#168,
// redisson#5000). Errors of lockupdate match exactly their reasons.
func TestPitfall16ErrorsThatHideTheReason(t *testing.T) {
	type doer = func(ctx context.Context, f *fixture) error
	update := func(ctx context.Context, f *fixture) error { return operations["update"](ctx, f.store) }
	taken := func(do doer) doer {
		return func(ctx context.Context, f *fixture) error { f.takeAsOther(testKey, 0); return do(ctx, f) }
	}
	left := func(after time.Duration) doer {
		return func(ctx context.Context, f *fixture) error {
			ctx, cancel := context.WithCancel(ctx)
			if after == 0 {
				cancel()
			}
			time.AfterFunc(after, cancel)
			return update(ctx, f)
		}
	}
	refused := func(script, text string) doer {
		return func(ctx context.Context, f *fixture) error { f.refuse(script, -1, text); return update(ctx, f) }
	}
	for name, tc := range map[string]struct {
		do  doer
		are []error
		op  string
	}{
		"waited for MaxWait": {taken(update), []error{rmw.ErrContended}, "acquire"},
		"waited until the deadline": {taken(func(ctx context.Context, f *fixture) error {
			return update(timeout(ctx, f.t, time.Second), f)
		}), []error{rmw.ErrContended, context.DeadlineExceeded}, "acquire"},
		"waited and left": {taken(left(time.Second)), []error{rmw.ErrContended, context.Canceled}, "acquire"},
		"left before":     {left(0), []error{context.Canceled}, "update"},
		"did not wait": {taken(func(ctx context.Context, f *fixture) error {
			return f.store.TryLock(ctx, "s", nothing)
		}), []error{rmw.ErrContended}, "lock"},
		"lost": {func(ctx context.Context, f *fixture) error {
			return f.store.WithLock(ctx, "s", func(ctx context.Context) error {
				assert.NoError(t, f.direct().Del(ctx, lock+"s").Err())
				<-ctx.Done()
				return nil
			})
		}, []error{rmw.ErrLockLost}, "unlock"},
		"in doubt":              {refused("commit_string", connReset), []error{rmw.ErrOutcomeUnknown}, "commit"},
		"refused by the server": {refused("acquire", "NOPERM this user has no permissions"), []error{rmw.ErrUnsupported}, "acquire"},
		"refused by the proxy": {
			refused("acquire", "ERR handle request, command 'EVALSHA' is not allowed"), // by Codis
			[]error{rmw.ErrUnsupported}, "acquire",
		},
		"unreachable": {refused("acquire", connReset), []error{rmw.ErrUnavailable}, "acquire"},
		"wrong kind of lock": {func(ctx context.Context, f *fixture) error {
			assert.NoError(t, f.direct().Set(ctx, lock+"s", "", 0).Err())
			return update(ctx, f)
		}, []error{rmw.ErrWrongKind}, "acquire"},
		"wrong kind of value": {func(ctx context.Context, f *fixture) error {
			assert.NoError(t, f.direct().HSet(ctx, "s", "f", "v").Err())
			return update(ctx, f)
		}, []error{rmw.ErrWrongKind}, "read"},
		"closed": {func(ctx context.Context, f *fixture) error {
			assert.NoError(t, f.store.Close())
			return update(ctx, f)
		}, []error{rmw.ErrClosed}, "update"},
	} {
		bubbleWith(t, name, lockupdate.Config{MaxWait: 5 * time.Second}, func(t *testing.T, f *fixture) {
			err := tc.do(t.Context(), f)
			var own *rmw.Error
			require.ErrorAs(t, err, &own)
			assert.Equal(t, []string{"lockupdate", tc.op, "s"}, []string{own.Path, own.Op, own.Key})
			for _, reason := range []error{
				rmw.ErrContended, rmw.ErrLockLost, rmw.ErrOutcomeUnknown, rmw.ErrWrongKind, rmw.ErrUnsupported,
				rmw.ErrUnavailable, rmw.ErrInvalid, rmw.ErrClosed, context.Canceled, context.DeadlineExceeded,
			} {
				assert.Equal(t, slices.Contains(tc.are, reason), errors.Is(err, reason), reason)
			}
		})
	}
}
