package lockupdate_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// Each kind of event is counted, told once, and logged.
func TestStatsAndEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		told := map[lockupdate.EventKind]int{}
		var text bytes.Buffer
		cfg := lockupdate.Config{
			Lease:  10 * time.Second,
			Logger: slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug})),
			OnEvent: func(e lockupdate.Event) {
				mu.Lock()
				defer mu.Unlock()
				told[e.Kind]++
				assert.Positive(t, e.N, e.Kind)
			},
		}
		f := newFixture(t, cfg)
		key := rmw.Key{Name: "s"}
		other := f.direct()

		// Somebody else has the lock for a while; meanwhile two more join the line.
		f.taken(key, 50*time.Millisecond)
		var line sync.WaitGroup
		for range 3 {
			line.Go(func() {
				_, err := f.store.Update(t.Context(), key, appendText("x"))
				assert.NoError(t, err)
			})
		}
		line.Wait()
		f.waitReleases()
		s := f.store.Stats()
		assert.EqualValues(t, 1, s.Acquired)
		assert.EqualValues(t, 3, s.Waited)
		assert.Positive(t, s.Polled)
		assert.EqualValues(t, 2, s.Combined, "three updates in one commit")
		assert.Zero(t, s.Conflicted+s.Renewed+s.RenewFailures+s.Lost+s.Unknown)
		assert.Zero(t, s.Held)

		// A slow fn, a renewal that fails, one that works, and a WATCH writer.
		f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Action: proxytest.DropRequest})
		_, err := f.store.Update(t.Context(), key, behindItsBack(func() {
			time.Sleep(6 * time.Second)
			assert.Equal(t, 1, f.store.Stats().Held)
			require.NoError(t, other.Set(t.Context(), "s", "theirs", 0).Err())
		}, appendText("y")))
		require.NoError(t, err)
		s = f.store.Stats()
		assert.EqualValues(t, 1, s.RenewFailures)
		assert.EqualValues(t, 2, s.Renewed, "the second along with the commit that follows the refused one")
		assert.EqualValues(t, 1, s.Conflicted)

		// A lock that is taken away, and a commit without an answer.
		_ = f.store.WithLock(t.Context(), "s", func(ctx context.Context) error {
			require.NoError(t, other.Del(ctx, lock+"s").Err())
			<-ctx.Done()
			return nil
		})
		f.proxy.Inject(proxytest.Fault{Match: isScript("commit_string"), Action: proxytest.DropReply})
		_, err = f.store.Update(t.Context(), key, appendText("z"))
		require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
		s = f.store.Stats()
		assert.EqualValues(t, 1, s.Lost)
		assert.EqualValues(t, 1, s.Unknown)

		f.waitReleases()
		mu.Lock()
		defer mu.Unlock()
		for kind := lockupdate.EventAcquired; kind <= lockupdate.EventUnknown; kind++ {
			assert.Positive(t, told[kind], kind.String())
			assert.Contains(t, text.String(), "lockupdate: "+kind.String())
		}
		assert.Equal(t, "EventKind(99)", lockupdate.EventKind(99).String())
		assert.NotContains(t, text.String(), "theirs", "a value in the log")
	})
}

// An update whose caller left while the commit was on its way ended in doubt as well,
// and is counted; and a server that quotes the arguments of a command does not bring a
// value into the log.
func TestUnknownIsCountedAndTellsNoValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		f := newFixture(t, lockupdate.Config{
			Logger: slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		f.proxy.Inject(proxytest.Fault{Match: isScript("commit_string"), Action: proxytest.Delay, Delay: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := f.store.Update(ctx, key, appendText("x"))
		require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
		assert.EqualValues(t, 1, f.store.Stats().Unknown)
		f.waitReleases()

		f.proxy.Inject(proxytest.Fault{
			Match: isScript("commit_string"), Action: proxytest.RefuseWith,
			Text: "ERR backend said: unknown command 'evalsha', with args beginning with: 'SECRET'",
		})
		_, err = f.store.Update(t.Context(), key, appendText("SECRET"))
		require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
		assert.EqualValues(t, 2, f.store.Stats().Unknown)

		f.proxy.Inject(proxytest.Fault{
			Match: isScript("renew"), Action: proxytest.RefuseWith,
			Text: "ERR backend said: unknown command 'evalsha', with args beginning with: 'SECRET'",
		})
		require.NoError(t, f.store.WithLock(t.Context(), "s", func(context.Context) error {
			time.Sleep(9 * time.Second)
			return nil
		}))
		synctest.Wait() // the watchdog may be logging yet
		assert.EqualValues(t, 1, f.store.Stats().RenewFailures)
		assert.NotContains(t, text.String(), "SECRET")
	})
}

// A log line shows every count by its name.
func TestStatsString(t *testing.T) {
	s := lockupdate.Stats{
		Acquired: 1, Waited: 2, Polled: 3, Renewed: 4, RenewFailures: 5, Lost: 6, Conflicted: 7, Combined: 8, Unknown: 9,
		Held: 10, CircuitOpen: true,
	}
	text, v := strings.ReplaceAll(s.String(), "_", ""), reflect.ValueOf(s)
	for i := range v.NumField() {
		assert.Contains(t, text, fmt.Sprintf("%s=%v", strings.ToLower(v.Type().Field(i).Name), v.Field(i).Interface()))
	}
}
