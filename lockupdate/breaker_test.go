package lockupdate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// The breaker fails calls at once while the store is down, and detects the recovery within a
// second. The control runs without the breaker.
func TestDeadStoreFailsFast(t *testing.T) {
	fail := func(t *testing.T, cfg lockupdate.Config) (f *fixture, took time.Duration, restore func()) {
		f = newFixture(t, cfg)
		key := f.warmKey()
		restore = f.proxy.Inject(proxytest.Fault{Times: -1, Action: proxytest.HangRequest})
		for range 20 {
			began := time.Now()
			_, err := f.store.Update(t.Context(), key, appendText("y"))
			require.ErrorIs(t, err, rmw.ErrUnavailable)
			assert.True(t, rmw.Retryable(err))
			took = time.Since(began)
		}
		return f, took, restore
	}
	synctest.Test(t, func(t *testing.T) {
		var opened []error
		f, took, restore := fail(t, lockupdate.Config{MaxOutage: -1, OnEvent: func(e lockupdate.Event) {
			if e.Kind == lockupdate.EventCircuitOpened {
				opened = append(opened, e.Err)
			}
		}})
		assert.Zero(t, took)
		assert.True(t, f.store.Stats().CircuitOpen)
		_, err := f.store.Read(t.Context(), rmw.Key{Name: "s"})
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		require.ErrorContains(t, err, "tried again every 1s")
		restore()
		time.Sleep(time.Minute)
		assert.Equal(t, "www", f.text(rmw.Key{Name: "s"}))
		assert.False(t, f.store.Stats().CircuitOpen)
		require.Len(t, opened, 1, "an outage opens it once, also if tries fail")
		require.Error(t, opened[0])
		assert.EqualValues(t, 1, f.store.Stats().CircuitOpened)
	})
	synctest.Test(t, func(t *testing.T) {
		f, took, restore := fail(t, lockupdate.Config{NoBreaker: true})
		assert.Greater(t, took, time.Second, "control")
		assert.False(t, f.store.Stats().CircuitOpen)
		restore()
		time.Sleep(time.Minute) // until no command hangs
	})
}

// Contention, error replies and canceled calls do not open the breaker.
func TestBreakerIgnoresContentionAndRefusals(t *testing.T) {
	withFixture(t, lockupdate.Config{MaxWait: time.Millisecond}, func(t *testing.T, f *fixture) {
		key := rmw.Key{Name: "s"}
		f.takeAsOther(key, 0)
		for range 50 {
			_, err := f.store.Update(t.Context(), key, appendText("x"))
			require.ErrorIs(t, err, rmw.ErrContended)
		}
		f.proxy.Inject(proxytest.Fault{
			Match: isScript("read"), Action: proxytest.RefuseWith, Text: "ERR handle response, backend conn reset", Times: 50,
		})
		for range 50 {
			_, err := f.store.Read(t.Context(), key)
			_ = err // after three attempts, some reads fail
		}
		remove := f.proxy.Inject(proxytest.Fault{Match: isScript("read"), Times: -1, Action: proxytest.Delay, Delay: time.Second})
		for range 50 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			_, err := f.store.Read(ctx, key)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			cancel()
		}
		remove()
		assert.False(t, f.store.Stats().CircuitOpen)
		time.Sleep(time.Minute)
	})
}

// An open breaker does not stop renewals and releases.
func TestBreakerLetsRenewalsAndReleasesPass(t *testing.T) {
	withFixture(t, lockupdate.Config{Lease: 10 * time.Second}, func(t *testing.T, f *fixture) {
		l, err := f.store.Lock(t.Context(), "held")
		require.NoError(t, err)
		remove := f.proxy.Inject(proxytest.Fault{Match: isScript("read"), Times: -1, Action: proxytest.DropRequest})
		for range 20 {
			_, err := f.store.Read(t.Context(), rmw.Key{Name: "s"})
			require.ErrorIs(t, err, rmw.ErrUnavailable)
		}
		require.True(t, f.store.Stats().CircuitOpen)
		require.NoError(t, l.Unlock())
		f.waitReleases()
		assert.Zero(t, f.direct().Exists(t.Context(), lock+"held").Val())
		remove()
	})
}
