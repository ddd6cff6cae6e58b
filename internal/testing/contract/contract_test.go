package contract

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// naive reads and writes with two unguarded commands.
type naive struct{ rdb *redis.Client }

func (s naive) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	if key.Kind == rmw.KindHash {
		fields, err := s.rdb.HGetAll(ctx, key.Name).Result()
		return rmw.Hash(fields), err
	}
	text, err := s.rdb.Get(ctx, key.Name).Result()
	if errors.Is(err, redis.Nil) {
		return rmw.Value{}, nil
	}
	return rmw.String(text), err
}

func (s naive) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	cur, err := s.Read(ctx, key)
	if err != nil {
		return rmw.Result{}, err
	}
	next, err := fn(ctx, cur)
	if err != nil {
		return rmw.Result{Attempts: 1}, err
	}
	if key.Kind == rmw.KindHash {
		err = s.rdb.HSet(ctx, key.Name, next.Fields()).Err()
	} else {
		err = s.rdb.Set(ctx, key.Name, next.Text(), 0).Err()
	}
	return rmw.Result{Before: cur, After: next, Written: true, Attempts: 1}, err
}

func bench() Bench {
	return Bench{
		Proxy: proxytest.Config{Profile: proxycompat.Redis(), InMemory: true},
		Open:  func(rdb *redis.Client) rmw.Store { return naive{rdb} },
	}
}

// Negative control: through this bench, too, the suite fails a naive Store in the right clauses, and only
// there.
func TestNaiveStoreFailsTheSuite(t *testing.T) {
	failed := map[string]bool{}
	for _, clause := range rmwtest.Clauses() {
		synctest.Test(t, func(t *testing.T) {
			failed[clause.Name] = clause.Check(t.Context(), bench().Target(t)) != nil
		})
	}
	for name, want := range map[string]bool{
		"guard": true, "delete": true, "ttl-kept": true, "unchanged-writes-nothing": true, "hang": true,
		"create": false, "keys-are-apart": false, "ctx-values": false,
	} {
		got, known := failed[name]
		require.True(t, known, "there is no clause %q", name)
		assert.Equal(t, want, got, "%s fails", name)
	}
}

func TestStopWaitsForRunningDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := bench().Target(t)
		var done atomic.Bool
		stop := target.Faults.Arm(1, rmwtest.Fault{Do: func() { time.Sleep(time.Second); done.Store(true) }})
		read := make(chan error)
		go func() {
			_, err := target.Open().Read(t.Context(), rmw.Key{Name: "k"})
			read <- err
		}()
		synctest.Wait()
		require.False(t, done.Load())
		assert.True(t, stop())
		assert.True(t, done.Load())
		require.NoError(t, <-read)
	})
}

// Faults count the Stores' commands only: neither a handshake nor Direct.
func TestFaultsAffectTheNthCommandOfAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := bench().Target(t)
		ctx, key := t.Context(), rmw.Key{Name: "k"}
		write := func(s rmw.Store, text string) error {
			_, err := s.Update(ctx, key, func(context.Context, rmw.Value) (rmw.Value, error) { return rmw.String(text), nil })
			return err
		}
		done := 0
		stop := target.Faults.Arm(2, rmwtest.Fault{Kind: rmwtest.NoFault, Do: func() { done++ }})
		for range 5 {
			_, _, err := target.Direct.Get(ctx, "k")
			require.NoError(t, err)
		}
		s := target.Open() // its handshake does not count either
		_, err := s.Read(ctx, key)
		require.NoError(t, err)
		assert.Zero(t, done)
		require.NoError(t, write(s, "x"))
		assert.Equal(t, 1, done)
		assert.True(t, stop())

		stop = target.Faults.Arm(1, rmwtest.Fault{})
		assert.False(t, stop(), "that command never came")
		require.NoError(t, write(s, "y"))
		assert.Equal(t, 1, done)
	})
}

func TestEachFaultHasItsEffect(t *testing.T) {
	for kind, executed := range map[rmwtest.FaultKind]bool{rmwtest.RequestLost: false, rmwtest.ReplyLost: true, rmwtest.Hang: true} {
		synctest.Test(t, func(t *testing.T) {
			b := bench()
			b.Options = func(p *proxytest.Proxy) *redis.Options {
				opts := p.Options()
				opts.MaxRetries = -1
				return opts
			}
			target := b.Target(t)
			stop := target.Faults.Arm(2, rmwtest.Fault{Kind: kind})
			_, err := target.Open().Update(t.Context(), rmw.Key{Name: "k"}, func(context.Context, rmw.Value) (rmw.Value, error) {
				return rmw.String("x"), nil
			})
			require.Error(t, err, kind)
			assert.True(t, stop(), kind)
			v, _, err := target.Direct.Get(t.Context(), "k")
			require.NoError(t, err)
			assert.Equal(t, executed, v.Exists(), kind)
		})
	}
}
