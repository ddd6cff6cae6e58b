package lockupdate_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/unguarded"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// guardClauses are the clauses that must fail without the guard.
var guardClauses = map[string]bool{
	"guard": true, "guard-every-byte": true, "guard-delete": true, "large-value": true,
	"no-lost-update": true, "no-immortal-key": true, "hash-fields-survive": true,
}

// Negative control of the package: without the guard, exactly the clauses in guardClauses fail.
func TestGuardOff(t *testing.T) {
	long.Repeats(t)
	for name, cfg := range map[string]lockupdate.Config{"with the lock": {}, "on demand": onDemand} {
		b := newBench(proxycompat.Codis32(), cfg)
		open := b.Open
		b.Open = func(rdb *redis.Client) rmw.Store {
			rdb.AddHook(unguarded.Hook{})
			return open(rdb)
		}
		for _, clause := range rmwtest.Clauses() {
			bubble(t, name+"/"+clause.Name, func(t *testing.T) {
				err := clause.Check(t.Context(), b.Target(t))
				switch {
				case guardClauses[clause.Name]:
					assert.Error(t, err, "this clause passes without the guard")
				case !cfg.LockOnDemand: // with it, further clauses may fail
					assert.NoError(t, err)
				}
			})
		}
	}
}

// stalled delays some commits past the lease, and counts acknowledged and lost updates.
func stalled(t *testing.T, guard bool) (acked, lost int) {
	t.Helper()
	const writers, each, lease = 4, 25, 100 * time.Millisecond
	f := newFixture(t, lockupdate.Config{Lease: lease})
	if !guard {
		f.unguard()
	}
	// A stalled process sends no renewals either.
	f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Times: -1, Action: proxytest.Delay, Delay: 3 * lease})
	var nth atomic.Int64
	f.proxy.Inject(proxytest.Fault{
		Match: func(args []string) bool {
			if !isScript("commit_string")(args) {
				return false
			}
			return nth.Add(1)%5 == 0
		},
		Times: -1, Action: proxytest.Delay, Delay: 3 * lease,
	})
	key := rmw.Key{Name: "s"}
	var acks ackLog
	var wg sync.WaitGroup
	for w := range writers {
		s := f.another(lockupdate.Config{Lease: lease})
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("w%d-%d,", w, i)
				if _, err := s.Update(t.Context(), key, appendText(id)); err == nil {
					acks.add(id)
				}
			}
		})
	}
	wg.Wait()
	return acks.audit(f.text(key))
}

// A commit that arrives after its lease finds the value of another holder. The guard refuses it.
// Without the guard, the other update is lost.
func TestStallsPastTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acked, lost := stalled(t, true)
		assert.Positive(t, acked)
		assert.Zero(t, lost)
	})
	synctest.Test(t, func(t *testing.T) {
		acked, lost := stalled(t, false)
		assert.Positive(t, lost, "control: of %d updates without the guard none was lost, so this test proves nothing", acked)
	})
}

// mixed runs WATCH writers and lockupdate writers on one key of one server.
func mixed(t *testing.T, guard bool) (acked, lost int) {
	t.Helper()
	const writers, each = 3, 20
	p, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Redis(), InMemory: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	client := func() *redis.Client {
		rdb := redis.NewClient(p.Options())
		t.Cleanup(func() { require.NoError(t, rdb.Close()) })
		return rdb
	}
	key := rmw.Key{Name: "s"}
	var acks ackLog
	var wg sync.WaitGroup
	run := func(name string, s rmw.Store) {
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("%s-%d,", name, i)
				_, err := s.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
					time.Sleep(time.Duration(i%3) * time.Millisecond) // so that the updates overlap
					return appendText(id)(ctx, cur)
				})
				if err == nil {
					acks.add(id)
				}
			}
		})
	}
	for w := range writers {
		legacy := cas.New(client(), cas.Config{})
		t.Cleanup(func() { require.NoError(t, legacy.Close()) })
		run(fmt.Sprint("watch", w), legacy)
		rdb := client()
		if !guard {
			rdb.AddHook(unguarded.Hook{})
		}
		lock := lockupdate.New(rdb, lockupdate.Config{})
		t.Cleanup(func() { require.NoError(t, lock.Close()) })
		run(fmt.Sprint("lock", w), lock)
	}
	wg.Wait()
	v, err := cas.New(client(), cas.Config{}).Read(t.Context(), key)
	require.NoError(t, err)
	return acks.audit(v.Text())
}

// No update is lost while some processes use WATCH and others use lockupdate.
func TestMixedFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acked, lost := mixed(t, true)
		assert.Positive(t, acked)
		assert.Zero(t, lost)
	})
	synctest.Test(t, func(t *testing.T) {
		acked, lost := mixed(t, false)
		assert.Positive(t, lost, "control: of %d updates without the guard none was lost", acked)
	})
}
