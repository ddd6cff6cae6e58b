package lockupdate_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// sealedAllTheTime has each commit of the key meet a seal, so that the next Update seals the key itself.
func (f *fixture) sealedAllTheTime(key rmw.Key) {
	f.during("commit_string", 0, -1, func() {
		if f.rdb.Type(f.t.Context(), key.Name).Val() == "string" {
			f.leave(func(string) string { return seal.Aborted }, key)
		}
	})
}

// An Update that seals its key keeps the promises of any other.
func TestUpdateThatSeals(t *testing.T) {
	own := errors.New("an error of fn")
	for name, tc := range map[string]struct {
		cfg   lockupdate.Config
		fn    func(ctx context.Context, f *fixture, cur rmw.Value) (rmw.Value, error) // once the key is sealed by it
		check func(t *testing.T, f *fixture, res rmw.Result, err error)
	}{
		"stores": {
			fn: func(_ context.Context, _ *fixture, cur rmw.Value) (rmw.Value, error) {
				return rmw.String(cur.Text() + "x"), nil
			},
			check: func(t *testing.T, f *fixture, res rmw.Result, err error) {
				require.NoError(t, err)
				assert.True(t, res.Written)
				assert.Equal(t, "5x", f.text(from))
			},
		},
		"an error of fn": {
			fn: func(context.Context, *fixture, rmw.Value) (rmw.Value, error) { return rmw.Value{}, own },
			check: func(t *testing.T, f *fixture, _ rmw.Result, err error) {
				assert.Equal(t, own, err)
				assert.Equal(t, "5", f.text(from))
			},
		},
		"a value of another kind": {
			fn: func(context.Context, *fixture, rmw.Value) (rmw.Value, error) {
				return rmw.Hash(map[string]string{"a": "b"}), nil
			},
			check: func(t *testing.T, f *fixture, _ rmw.Result, err error) {
				require.ErrorIs(t, err, rmw.ErrWrongKind)
				var e *rmw.Error
				require.ErrorAs(t, err, &e)
				assert.Equal(t, "update", e.Op)
				assert.Equal(t, "5", f.text(from))
			},
		},
		"MaxAttempts": {
			cfg: lockupdate.Config{MaxAttempts: 7},
			fn: func(_ context.Context, f *fixture, cur rmw.Value) (rmw.Value, error) {
				f.abort(from)
				return rmw.String(cur.Text() + "x"), nil
			},
			check: func(t *testing.T, f *fixture, res rmw.Result, err error) {
				require.ErrorIs(t, err, rmw.ErrContended)
				var e *rmw.Error
				require.ErrorAs(t, err, &e)
				assert.Equal(t, "update", e.Op)
				assert.Equal(t, 7, e.Attempts)
				assert.Equal(t, 7, res.Attempts, "runs of fn")
				assert.Equal(t, "5", f.text(from))
			},
		},
		"a slow fn": {
			cfg: lockupdate.Config{MaxWait: 100 * time.Millisecond},
			fn: func(ctx context.Context, _ *fixture, cur rmw.Value) (rmw.Value, error) {
				time.Sleep(400 * time.Millisecond)
				return rmw.String(cur.Text() + "x"), ctx.Err()
			},
			check: func(t *testing.T, f *fixture, _ rmw.Result, err error) {
				require.NoError(t, err, "MaxWait does not bound fn")
				assert.Equal(t, "5x", f.text(from))
			},
		},
		"calls within": {
			fn: func(ctx context.Context, f *fixture, cur rmw.Value) (rmw.Value, error) {
				_, err := f.store.Update(ctx, from, appendText("y"))
				require.ErrorIs(f.t, err, rmw.ErrInvalid, "an Update of the key")
				_, err = f.store.Transact(ctx, []rmw.Key{to, from}, transfer)
				require.ErrorIs(f.t, err, rmw.ErrInvalid, "a Transact of the key")
				_, err = f.store.Transact(ctx, []rmw.Key{to}, func(_ context.Context, tx *rmw.Tx) error {
					tx.Put(to, rmw.String("inner"))
					return nil
				})
				require.NoError(f.t, err, "a Transact of others, as in any Update")
				return rmw.String(cur.Text() + "x"), nil
			},
			check: func(t *testing.T, f *fixture, _ rmw.Result, err error) {
				require.NoError(t, err)
				assert.Equal(t, "5x", f.text(from))
				assert.Equal(t, "inner", f.text(to))
			},
		},
		"Close": {
			fn: func(_ context.Context, f *fixture, cur rmw.Value) (rmw.Value, error) {
				go func() { assert.NoError(f.t, f.store.Close()) }()
				time.Sleep(time.Millisecond)
				return rmw.String(cur.Text() + "x"), nil
			},
			check: func(t *testing.T, f *fixture, _ rmw.Result, err error) {
				require.NoError(t, err, "it finishes, as fn has run")
				synctest.Wait()
				assert.Equal(t, "5x", f.direct().Get(t.Context(), from.Name).Val())
			},
		},
	} {
		for with, change := range map[string]func(cfg *lockupdate.Config){
			"":               func(*lockupdate.Config) {},
			", on demand":    func(cfg *lockupdate.Config) { cfg.LockOnDemand = true },
			", not combined": func(cfg *lockupdate.Config) { cfg.NoCombining = true },
		} {
			cfg := tc.cfg
			change(&cfg)
			bubbleWith(t, name+with, cfg, func(t *testing.T, f *fixture) {
				require.NoError(t, f.rdb.Set(t.Context(), from.Name, "5", 0).Err())
				f.sealedAllTheTime(from)
				sealing, runs := false, 0
				res, err := f.store.Update(t.Context(), from, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
					runs++
					if f.direct().Type(ctx, from.Name).Val() == "list" {
						sealing = true
					}
					if sealing {
						return tc.fn(ctx, f, cur)
					}
					return rmw.String(cur.Text() + "x"), nil
				})
				assert.True(t, sealing, "the key was not sealed: %v", err)
				assert.Equal(t, runs, res.Attempts)
				tc.check(t, f, res, err)
			})
		}
	}
}

// abort decides, as another process, that the update which has sealed the key is aborted.
func (f *fixture) abort(key rmw.Key) {
	m, err := f.rdb.LRange(f.t.Context(), key.Name, 0, 3).Result()
	require.NoError(f.t, err)
	require.Len(f.t, m, 4)
	require.NoError(f.t, f.rdb.HSetNX(f.t.Context(), m[3], seal.IDOf(m[2]), seal.Aborted).Err())
}

// With Config.NoCombining, each Transact has a decision of its own.
func TestTransactWithoutCombining(t *testing.T) {
	withFixture(t, lockupdate.Config{NoCombining: true}, func(t *testing.T, f *fixture) {
		unblock := f.block("take")
		const callers = 8
		var all sync.WaitGroup
		for range callers {
			all.Go(func() { f.transact(transfer, from, to) })
		}
		synctest.Wait()
		unblock()
		all.Wait()
		assert.Zero(t, f.store.Stats().Combined)
		assert.Equal(t, "8", f.text(to))
	})
}

// Config.MaxWait ends the wait for other updates, and tells a key that is taken from a store that does not answer. It does not end
// the wait for a decision.
func TestMaxWaitOfTransact(t *testing.T) {
	const limit = 200 * time.Millisecond
	for name, tc := range map[string]struct {
		prepare func(f *fixture)
		want    error
		took    time.Duration
	}{
		"a key of another process": {func(f *fixture) { f.leave(nil, from) }, rmw.ErrContended, limit},
		"a key of this process": {
			func(f *fixture) {
				inside := make(chan struct{})
				go f.transact(func(context.Context, *rmw.Tx) error { close(inside); time.Sleep(240 * time.Millisecond); return nil }, from)
				<-inside
			}, rmw.ErrContended, limit,
		},
		"a store that does not answer": {func(f *fixture) { f.t.Cleanup(f.block("take")) }, rmw.ErrUnavailable, limit},
		"a late reply to the decision": {
			func(f *fixture) { f.during("HSETNX", 0, 1, func() { time.Sleep(2 * limit) }) }, nil, 2 * limit,
		},
	} {
		bubbleWith(t, name, lockupdate.Config{MaxWait: limit}, func(t *testing.T, f *fixture) {
			tc.prepare(f)
			began := time.Now()
			_, err := f.store.Transact(t.Context(), []rmw.Key{from, to}, transfer)
			require.ErrorIs(t, err, tc.want)
			assert.InDelta(t, tc.took, time.Since(began), float64(50*time.Millisecond))
			time.Sleep(time.Second) // until the others have ended
		})
	}
}
