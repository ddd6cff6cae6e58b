package lockupdate_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// A caller may leave at any time. Its error is rmw.ErrOutcomeUnknown only if its write may be
// committed, and no other call waits for it.
func TestCallersLeave(t *testing.T) {
	type starter = func(fn rmw.UpdateFunc) *pendingCall
	for name, tc := range map[string]struct {
		unknown bool
		final   string
		// leave starts a call by run, and ends its ctx by cancel.
		leave func(f *fixture, run starter, cancel func())
	}{
		"queued": {final: "wwwab", leave: func(f *fixture, run starter, cancel func()) {
			proceed, _ := f.enqueue(testKey, appendText("a"))
			call := run(appendText("x"))
			cancel()
			wait(call)
			proceed()
		}},
		"in fn": {final: "wwwab", leave: func(f *fixture, run starter, cancel func()) {
			run(within(func(ctx context.Context) {
				cancel()
				<-ctx.Done()
				assert.Equal(f.t, context.Canceled, context.Cause(ctx))
			}, appendText("x")))
			f.runBatch(testKey, appendText("a"))
		}},
		"waiting for later calls": {unknown: true, final: "wwwxab", leave: func(f *fixture, run starter, cancel func()) {
			gate := make(chan struct{})
			start(f.t.Context(), f.store, testKey, until(gate, keep))
			call := run(appendText("x"))
			start(f.t.Context(), f.store, testKey, within(func(context.Context) {
				time.Sleep(500 * time.Microsecond)
				cancel()
				time.Sleep(time.Minute / 6)
			}, appendText("a")))
			close(gate)
			wait(call)
		}},
		"commit in flight": {unknown: true, final: "wwwxab", leave: func(f *fixture, run starter, cancel func()) {
			unblock := f.block("commit_string")
			call := run(appendText("x"))
			next := start(f.t.Context(), f.store, testKey, appendText("a"))
			cancel()
			wait(call)
			assert.False(f.t, next.ended())
			unblock()
			wait(next)
		}},
		"failed, commit in flight": {final: "wwwab", leave: func(f *fixture, run starter, cancel func()) {
			unblock := f.block("commit_string")
			start(f.t.Context(), f.store, testKey, appendText("a"))
			call := run(keep)
			cancel()
			wait(call)
			unblock()
		}},
	} {
		bubbleWithKey(t, name, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var call *pendingCall
			tc.leave(f, func(fn rmw.UpdateFunc) *pendingCall { call = start(ctx, f.store, key, fn); return call }, cancel)
			wait(call)
			require.ErrorIs(t, call.err, context.Canceled)
			assert.Equal(t, tc.unknown, errors.Is(call.err, rmw.ErrOutcomeUnknown))
			began := time.Now()
			f.update(key, appendText("b"))
			assert.Less(t, time.Since(began), 11*time.Second)
			assert.Equal(t, tc.final, f.text(key))
		})
	}
}

// A foreign write refuses the commit of a batch, and so the next batch that was built on it: all fns run again
// on the foreign value. A commit without a reply leaves the outcome of its writers unknown. Other calls of the
// batch, and the next batch, run again on the stored value.
func TestFailedCommitOfABatch(t *testing.T) {
	for name, tc := range map[string]struct {
		commit proxytest.Fault
		reason error  // of the writers of the first batch; nil: a foreign write
		base   string // on which all other calls run again
	}{
		"refused":      {proxytest.Fault{Action: proxytest.Delay}, nil, "theirs"},
		"request lost": {proxytest.Fault{Action: proxytest.DropRequest}, rmw.ErrOutcomeUnknown, "www"},
		"reply lost":   {proxytest.Fault{Action: proxytest.DropReply}, rmw.ErrOutcomeUnknown, "wwwa,b,"},
		"hangs":        {proxytest.Fault{Action: proxytest.HangReply}, rmw.ErrOutcomeUnknown, "wwwa,b,"},
		"late":         {executedLate("commit_string", 5*time.Second), rmw.ErrOutcomeUnknown, "www"},
		"not executed": {proxytest.Fault{Action: proxytest.RefuseWith, Text: "LOADING Redis is loading"}, rmw.ErrUnavailable, "www"},
	} {
		bubbleWithKey(t, name, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
			gate := make(chan struct{})
			tc.commit.Match, tc.commit.Do = isScript("commit_string"), func() { <-gate }
			f.proxy.Inject(tc.commit)
			proceed, calls := f.enqueue(key, appendText("a,"), abort, keep, appendText("b,"))
			go proceed()
			synctest.Wait()
			for _, fn := range []rmw.UpdateFunc{appendText("c,"), keep, abort, appendText("d,")} {
				calls = append(calls, start(t.Context(), f.store, key, fn))
			}
			if tc.reason == nil {
				f.writeBeside()
			}
			close(gate)
			wait(calls...)
			var text strings.Builder
			text.WriteString(tc.base)
			for i, added := range []string{"a,", "", "", "b,", "c,", "", "", "d,"} {
				res, err := calls[i].res, calls[i].err
				switch {
				case tc.reason != nil && (i == 0 || i == 3):
					require.ErrorIs(t, err, tc.reason)
					continue
				case i == 1 || i == 6:
					assert.Equal(t, errRoomFull, err)
				default:
					require.NoError(t, err)
					text.WriteString(added)
					assert.Equal(t, text.String(), res.After.Text(), i)
				}
				assert.Equal(t, 2, res.Attempts, i)
			}
			f.waitReleases()
			if tc.reason == nil {
				assert.Equal(t, 1, f.sent()["read"], "the reply to a refused commit contains the value")
				assert.Equal(t, 2, f.sent()["commit_string"])
			}
			time.Sleep(20 * time.Second)
			assert.Equal(t, text.String(), f.text(key), "the late commit finds another value")
		})
	}
}
