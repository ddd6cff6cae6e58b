package lockupdate_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

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
	const lease = 100 * time.Millisecond
	delay := func(p *proxytest.Proxy, match func(args []string) bool) {
		p.Inject(proxytest.Fault{Match: match, Times: -1, Action: proxytest.Delay, Delay: 3 * lease})
	}
	acked, lost, _ = runWriters(t, proxytest.Config{Engines: 2}, []string{"s"}, 25, func(_ *testing.T, p *proxytest.Proxy) (end func()) {
		delay(p, isScript("renew")) // a stalled process sends no renewals either
		var nth atomic.Int64
		delay(p, func(args []string) bool { return isScript("commit_string")(args) && nth.Add(1)%5 == 0 })
		return func() {}
	}, func(rdb *redis.Client) rmw.Updater {
		if !guard {
			rdb.AddHook(unguarded.Hook{})
		}
		return opener(t, lockupdate.Config{Lease: lease})(rdb)
	})
	return acked, lost
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
