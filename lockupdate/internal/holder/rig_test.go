package holder

import (
	"cmp"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/lockupdate/internal/lease"
	"github.com/unwatch/unwatch/lockupdate/internal/transport"
	"github.com/unwatch/unwatch/lockupdate/internal/values"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// rig has the Queues of one process, and a server with the compare-and-set of Redis 8.4.
type rig struct {
	*Queues
	proxy *proxytest.Proxy
}

const (
	testKey   = "k"
	testLock  = "/lock/k"
	testLease = 200 * time.Millisecond
)

// newRig returns a rig. Call it within the synctest bubble.
func newRig(t *testing.T, o Options) *rig {
	p, err := proxytest.Start(proxytest.Config{Store: proxytest.Redis84, InMemory: true})
	require.NoError(t, err)
	rdb := redis.NewClient(p.Options())
	gate := redisx.NewGate()
	o.Expiry, o.MaxAttempts = testLease, cmp.Or(o.MaxAttempts, 100)
	o.Poll = rmw.Backoff{Base: time.Millisecond, Max: 64 * time.Millisecond}
	emit := func(event.Event) {}
	d := driver.New(driver.Options{Kind: driver.IFEQ, MasterReads: true})
	tr := transport.New(rdb, d, gate, transport.Options{MaxOutage: time.Second})
	v := values.New(tr, o.MaxAttempts, func(context.Context, rmw.Key, time.Duration) {})
	k := lease.NewKeeper(tr, v, gate, emit, lease.Options{Lease: o.Expiry, Expiry: o.Expiry, MaxHold: time.Minute})
	t.Cleanup(func() {
		for gate.Close() != nil {
			time.Sleep(time.Second) // the test has panicked under the lock, which ends after MaxHold
			synctest.Wait()
		}
		require.Zero(t, k.Len())
		require.NoError(t, rdb.Close())
		require.NoError(t, p.Close())
	})
	return &rig{NewQueues(tr, v, k, gate, emit, o), p}
}

// set writes a value without the lock.
func (r *rig) set(t *testing.T, key, value string) {
	require.NoError(t, r.proxy.Engine(r.proxy.BackendOf(key)).Set(key, value))
}

// get returns a stored value, or "".
func (r *rig) get(key string) string {
	value, _ := r.proxy.Engine(r.proxy.BackendOf(key)).Get(key)
	return value
}

func (r *rig) remove(key string) { r.proxy.Engine(r.proxy.BackendOf(key)).Del(key) }

// update runs Store.Update.
func (r *rig) update(ctx context.Context, fn rmw.UpdateFunc) (rmw.Result, error) {
	if err := r.gate.Enter(); err != nil {
		return rmw.Result{}, err
	}
	defer r.gate.Leave()
	return r.NewUpdate(ctx, rmw.Key{Name: testKey}, testLock, fn).UpdateUnderLock()
}

func appendText(text string) rmw.UpdateFunc {
	return func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return rmw.String(cur.Text() + text), nil }
}

// once runs do in the first call of fn, before fn itself.
func once(do func(), fn rmw.UpdateFunc) rmw.UpdateFunc {
	called := false
	return func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		if !called {
			called = true
			do()
		}
		return fn(ctx, cur)
	}
}
