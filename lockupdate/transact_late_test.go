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

// takeLate updates two keys, and lets a take arrive 70 s later. kind is the type of the first key.
func (f *fixture) takeLate() (kind func() string) {
	f.transact(transfer, from, to)
	f.settle()
	f.proxy.Inject(proxytest.Fault{Match: isScript("take"), Action: proxytest.ExecuteLater, Delay: 70 * time.Second, Text: connReset})
	f.transact(transfer, from, to)
	return func() string { return f.direct().Type(f.t.Context(), from.Name).Val() }
}

// A take that arrives long after its update leaves a seal that no process may ever meet. The sweep of its own process opens it.
func TestLateTakeIsOpened(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		kind := f.takeLate()
		time.Sleep(time.Minute)
		assert.Equal(t, "string", kind())
		time.Sleep(11 * time.Second)
		assert.Equal(t, "list", kind(), "the take has not arrived")
		time.Sleep(time.Minute)
		assert.Equal(t, "string", kind())
		assert.Equal(t, "2", f.text(to))
	})
}

// A sweep that cannot open such a key leaves it to the next one.
func TestLateTakeIsOpenedAfterAnOutage(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		kind := f.takeLate()
		over := f.refuse("look", -1, connReset)
		time.Sleep(5 * time.Minute)
		assert.Equal(t, "list", kind())
		over()
		time.Sleep(2 * time.Minute)
		assert.Equal(t, "string", kind())
	})
}

// A caller that leaves in the instant of the decision does not report that nothing was stored.
func TestTransactLeftAsItIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		var calls []*pendingCall
		f := newFixture(t, lockupdate.Config{OnEvent: func(e lockupdate.Event) {
			if e.Kind == lockupdate.EventCombined {
				leave()
				wait(calls...)
			}
		}})
		unblock := f.block("take")
		for range 3 {
			calls = append(calls, startCall(func() (rmw.Result, error) {
				_, err := rmw.Transact(ctx, f.store, transfer, from, to)
				return rmw.Result{}, err
			}))
		}
		unblock()
		succeed(t, calls...)
		assert.Equal(t, "3", f.text(to))
	})
}

// A decision without a known outcome is reported as that, also in the last run of fn.
func TestTransactUnknownInTheLastRun(t *testing.T) {
	withFixture(t, lockupdate.Config{MaxAttempts: 1}, func(t *testing.T, f *fixture) {
		f.transact(transfer, from, to)
		f.settle()
		f.proxy.Inject(proxytest.Fault{Match: isRequest("HSETNX"), Action: proxytest.DropReply})
		ask := f.proxy.Inject(proxytest.Fault{Match: isScript("decided"), Times: -1, Action: proxytest.DropRequest})
		_, err := f.store.Transact(t.Context(), []rmw.Key{from, to}, transfer)
		require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
		ask()
		assert.Equal(t, "2", f.text(to))
	})
}
