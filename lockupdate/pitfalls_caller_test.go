package lockupdate_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// One error for a lock that is taken, lost, unreachable or abandoned does not tell callers how to
// react (redsync#81, redsync#98, redsync#164, node-redlock#65, node-redlock#131, node-redlock#168,
// redisson#5000). Errors of lockupdate match exactly their reasons.
func TestPitfall16ErrorsThatHideTheReason(t *testing.T) {
	key := rmw.Key{Name: "s"}
	update := func(ctx context.Context, f *fixture) error {
		_, err := f.store.Update(ctx, key, appendText("x"))
		return err
	}
	refused := func(script, text string) func(ctx context.Context, f *fixture) error {
		return func(ctx context.Context, f *fixture) error {
			f.proxy.Inject(proxytest.Fault{Match: isScript(script), Times: -1, Action: proxytest.RefuseWith, Text: text})
			return update(ctx, f)
		}
	}
	const (
		notAllowed = "ERR handle request, command 'EVALSHA' is not allowed" // by Codis
		noPerm     = "NOPERM this user has no permissions to run the 'evalsha' command"
		reset      = "ERR handle response, backend conn reset"
	)
	for name, tc := range map[string]struct {
		do  func(ctx context.Context, f *fixture) error
		are []error
		op  string
	}{
		"waited for MaxWait": {func(ctx context.Context, f *fixture) error {
			f.takeAsOther(key, 0)
			return update(ctx, f)
		}, []error{rmw.ErrContended}, "acquire"},
		"waited until the deadline": {func(ctx context.Context, f *fixture) error {
			f.takeAsOther(key, 0)
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			return update(ctx, f)
		}, []error{rmw.ErrContended, context.DeadlineExceeded}, "acquire"},
		"waited and left": {func(ctx context.Context, f *fixture) error {
			f.takeAsOther(key, 0)
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return update(ctx, f)
		}, []error{rmw.ErrContended, context.Canceled}, "acquire"},
		"left before": {func(ctx context.Context, f *fixture) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return update(ctx, f)
		}, []error{context.Canceled}, "update"},
		"did not wait": {func(ctx context.Context, f *fixture) error {
			f.takeAsOther(key, 0)
			return f.store.TryLock(ctx, "s", nothing)
		}, []error{rmw.ErrContended}, "lock"},
		"lost": {func(ctx context.Context, f *fixture) error {
			return f.store.WithLock(ctx, "s", func(ctx context.Context) error {
				assert.NoError(t, f.direct().Del(ctx, lock+"s").Err())
				<-ctx.Done()
				return nil
			})
		}, []error{rmw.ErrLockLost}, "unlock"},
		"in doubt":              {refused("commit_string", reset), []error{rmw.ErrOutcomeUnknown}, "commit"},
		"refused by the server": {refused("acquire", noPerm), []error{rmw.ErrUnsupported}, "acquire"},
		"refused by the proxy":  {refused("acquire", notAllowed), []error{rmw.ErrUnsupported}, "acquire"},
		"unreachable":           {refused("acquire", reset), []error{rmw.ErrUnavailable}, "acquire"},
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
		bubble(t, name, func(t *testing.T) {
			err := tc.do(t.Context(), newFixture(t, lockupdate.Config{MaxWait: 5 * time.Second}))
			var own *rmw.Error
			require.ErrorAs(t, err, &own)
			assert.Equal(t, []string{"lockupdate", tc.op, "s"}, []string{own.Path, own.Op, own.Key})
			for _, reason := range []error{
				rmw.ErrContended, rmw.ErrLockLost, rmw.ErrOutcomeUnknown, rmw.ErrWrongKind, rmw.ErrUnsupported,
				rmw.ErrUnavailable, rmw.ErrInvalid, rmw.ErrClosed, context.Canceled, context.DeadlineExceeded,
			} {
				if assert.ObjectsAreEqual(tc.are[0], reason) || len(tc.are) > 1 && assert.ObjectsAreEqual(tc.are[1], reason) {
					assert.ErrorIs(t, err, reason)
				} else {
					assert.NotErrorIs(t, err, reason)
				}
			}
		})
	}
}
