package lockupdate_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// holdLocks keeps n updates in fn until unblock, which waits for their end.
func (f *fixture) holdLocks(n int) (unblock func()) {
	rdb := redis.NewClient(f.opts)
	store := lockupdate.New(rdb, lockupdate.Config{Lease: 10 * time.Second})
	gate := make(chan struct{})
	running := make(chan struct{})
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() {
			_, err := store.Update(f.t.Context(), rmw.Key{Name: fmt.Sprint("held", i)},
				func(ctx context.Context, _ rmw.Value) (rmw.Value, error) {
					running <- struct{}{}
					<-gate
					return rmw.String("x"), ctx.Err()
				})
			assert.NoError(f.t, err)
		})
		<-running // one after the other, for a small pool
	}
	return func() {
		close(gate)
		done.Wait()
		assert.NoError(f.t, store.Close())
		assert.NoError(f.t, rdb.Close())
	}
}

// Renewals that are due together share flushes. A flush that hangs loses no lease.
func TestRenewalsShareFlushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 600
		f := newFixture(t, lockupdate.Config{})
		unblock := f.holdLocks(n)
		const cycle = 5*time.Second + 100*time.Millisecond
		time.Sleep(cycle) // the first time fills the script caches
		synctest.Wait()
		before := f.meter.Read().RoundTrips
		f.proxy.ResetCalls()
		time.Sleep(cycle)
		synctest.Wait()
		assert.Equal(t, n, f.sent()["renew"])
		assert.EqualValues(t, 3, f.meter.Read().RoundTrips-before, "600 in flushes of at most 256")
		f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Action: proxytest.HangRequest})
		time.Sleep(30 * time.Second)
		unblock() // asserts that no fn's ctx has ended
	})
}

// All leases of a Store share one goroutine, and a held lock has none. The goroutine of the leases ends with the last lease, and
// starts again with the next.
func TestLeaseLoopEnds(t *testing.T) {
	withFixture(t, lockupdate.Config{Lease: 10 * time.Second}, func(t *testing.T, f *fixture) {
		for _, l := range f.lockAll("a", "b", "c", "d") {
			synctest.Wait()
			assert.Equal(t, 1, strings.Count(stacks(), "lease.(*Keeper).loop("))
			assert.NotContains(t, stacks(), "holder.(*holder)")
			require.NoError(t, l.Unlock())
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.NotContains(t, stacks(), "lease.(*Keeper).loop(")
		f.update(rmw.Key{Name: "s"}, after(time.Minute/2, appendText("x")))
		assert.Equal(t, "x", f.text(rmw.Key{Name: "s"}))
	})
}
