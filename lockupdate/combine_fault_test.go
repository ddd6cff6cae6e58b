package lockupdate_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// runTwoBatches runs the first fns as one batch, and the second fns as the next batch, while the
// commit of the first is in flight. meanwhile runs before that commit.
func (f *fixture) runTwoBatches(key rmw.Key, first, second []rmw.UpdateFunc, meanwhile func()) (calls []*pendingCall) {
	unblock := f.block("commit_string")
	proceed, calls := f.enqueue(key, first...)
	go proceed()
	synctest.Wait()
	for _, fn := range second {
		calls = append(calls, start(f.t.Context(), f.store, key, fn))
	}
	meanwhile()
	unblock()
	for _, call := range calls {
		<-call.done
	}
	return calls
}

// A foreign write before a commit refuses the batch, and the next batch that was built on it. All
// fns run again on the foreign value.
func TestRefusedBatchRunsAgain(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		other := f.direct()
		calls := f.runTwoBatches(key, []rmw.UpdateFunc{appendText("a"), keep, abort, appendText("b")},
			[]rmw.UpdateFunc{appendText("c"), keep, appendText("d")},
			func() { require.NoError(t, other.Set(t.Context(), key.Name, "theirs", 0).Err()) })
		for i, after := range []string{"theirsa", "theirsa", "", "theirsab", "theirsabc", "theirsabc", "theirsabcd"} {
			if i == 2 {
				require.Equal(t, errRoomFull, calls[i].err)
			} else {
				require.NoError(t, calls[i].err)
			}
			assert.Equal(t, after, calls[i].res.After.Text(), i)
			assert.Equal(t, 2, calls[i].res.Attempts, i)
		}
		f.waitReleases()
		assert.Equal(t, 1, f.sent()["read"], "the reply to a refused commit contains the value")
		assert.Equal(t, 2, f.sent()["commit_string"])
		assert.Equal(t, "theirsabcd", f.text(key))
	})
}

// A commit without a reply leaves the outcome of its writers unknown. Other calls of the batch, and
// the next batch, run again on the stored value.
func TestLostCommitOfABatch(t *testing.T) {
	for name, fault := range map[string]proxytest.Fault{
		"request lost": {Action: proxytest.DropRequest},
		"reply lost":   {Action: proxytest.DropReply},
		"hangs":        {Action: proxytest.HangReply},
		"late":         {Action: proxytest.ExecuteLater, Delay: 5 * time.Second, Text: "ERR handle response, backend conn reset"},
		"not executed": {Action: proxytest.RefuseWith, Text: "LOADING Redis is loading the dataset in memory"},
	} {
		bubble(t, name, func(t *testing.T) {
			f, key := warmFixture(t, lockupdate.Config{})
			gate := make(chan struct{})
			fault.Match, fault.Do = isScript("commit_string"), func() { <-gate }
			f.proxy.Inject(fault)
			proceed, calls := f.enqueue(key, appendText("a,"), abort, keep, appendText("b,"))
			go proceed()
			synctest.Wait()
			for _, fn := range []rmw.UpdateFunc{appendText("c,"), keep, abort} {
				calls = append(calls, start(t.Context(), f.store, key, fn))
			}
			close(gate)
			for _, call := range calls {
				<-call.done
			}
			reason := rmw.ErrOutcomeUnknown
			if name == "not executed" {
				reason = rmw.ErrUnavailable
			}
			for _, i := range []int{0, 3} {
				require.ErrorIs(t, calls[i].err, reason)
			}
			base := "www"
			if name == "reply lost" || name == "hangs" {
				base = "wwwa,b,"
			}
			assert.Equal(t, errRoomFull, calls[1].err)
			require.NoError(t, calls[2].err)
			assert.Equal(t, base, calls[2].res.After.Text())
			require.NoError(t, calls[4].err)
			assert.Equal(t, base+"c,", calls[4].res.After.Text())
			assert.Equal(t, 2, calls[4].res.Attempts)
			assert.Equal(t, base+"c,", calls[5].res.Before.Text())
			assert.Equal(t, errRoomFull, calls[6].err)
			time.Sleep(20 * time.Second)
			assert.Equal(t, base+"c,", f.text(key), "the late commit finds another value")
		})
	}
}

// A caller may leave at any time. Its error is rmw.ErrOutcomeUnknown only if its write may be
// committed, and no other call waits for it.
func TestCallersLeave(t *testing.T) {
	type starter = func(fn rmw.UpdateFunc) *pendingCall
	for name, tc := range map[string]struct {
		unknown bool
		final   string
		// leave starts a call by run, and ends its ctx by cancel.
		leave func(f *fixture, key rmw.Key, run starter, cancel func()) *pendingCall
	}{
		"queued": {final: "wwwab", leave: func(f *fixture, key rmw.Key, run starter, cancel func()) *pendingCall {
			proceed, _ := f.enqueue(key, appendText("a"))
			call := run(appendText("x"))
			cancel()
			<-call.done
			proceed()
			return call
		}},
		"in fn": {final: "wwwab", leave: func(f *fixture, key rmw.Key, run starter, cancel func()) *pendingCall {
			call := run(func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				cancel()
				<-ctx.Done()
				assert.Equal(f.t, context.Canceled, context.Cause(ctx))
				return appendText("x")(ctx, cur)
			})
			f.runBatch(key, appendText("a"))
			return call
		}},
		"waiting for later calls": {unknown: true, final: "wwwxab", leave: func(
			f *fixture, key rmw.Key, run starter, cancel func(),
		) *pendingCall {
			gate := make(chan struct{})
			start(f.t.Context(), f.store, key, until(gate, keep))
			call := run(appendText("x"))
			start(f.t.Context(), f.store, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				time.Sleep(500 * time.Microsecond)
				cancel()
				time.Sleep(time.Minute / 6)
				return appendText("a")(ctx, cur)
			})
			close(gate)
			<-call.done
			return call
		}},
		"commit in flight": {unknown: true, final: "wwwxab", leave: func(f *fixture, key rmw.Key, run starter, cancel func()) *pendingCall {
			unblock := f.block("commit_string")
			call := run(appendText("x"))
			next := start(f.t.Context(), f.store, key, appendText("a"))
			cancel()
			<-call.done
			assert.False(f.t, next.ended())
			unblock()
			<-next.done
			return call
		}},
		"failed, commit in flight": {final: "wwwab", leave: func(f *fixture, key rmw.Key, run starter, cancel func()) *pendingCall {
			unblock := f.block("commit_string")
			start(f.t.Context(), f.store, key, appendText("a"))
			call := run(keep)
			cancel()
			<-call.done
			unblock()
			return call
		}},
	} {
		bubble(t, name, func(t *testing.T) {
			f, key := warmFixture(t, lockupdate.Config{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			call := tc.leave(f, key, func(fn rmw.UpdateFunc) *pendingCall { return start(ctx, f.store, key, fn) }, cancel)
			<-call.done
			require.ErrorIs(t, call.err, context.Canceled)
			assert.Equal(t, tc.unknown, errors.Is(call.err, rmw.ErrOutcomeUnknown))
			began := time.Now()
			f.update(key, appendText("b"))
			assert.Less(t, time.Since(began), 11*time.Second)
			assert.Equal(t, tc.final, f.text(key))
		})
	}
}
