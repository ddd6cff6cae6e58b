package lockupdate_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	locking "github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// Each kind of event is counted, reported once, and logged.
func TestStatsAndEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		events := map[lockupdate.EventKind]int{}
		observed := map[locking.EventKind]int{}
		var text bytes.Buffer
		cfg := lockupdate.Config{
			Lease:  10 * time.Second,
			Logger: slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug})),
			OnEvent: func(e lockupdate.Event) {
				mu.Lock()
				defer mu.Unlock()
				events[e.Kind]++
				assert.Positive(t, e.N, e.Kind)
			},
			Observer: func(_ context.Context, e locking.Event) {
				mu.Lock()
				defer mu.Unlock()
				observed[e.Kind]++
				assert.Equal(t, "s", e.Lock)
			},
		}
		f := newFixture(t, cfg)

		// Another process holds the lock while three calls queue up.
		f.takeAsOther(testKey, 50*time.Millisecond)
		var queue []*pendingCall
		for range 3 {
			queue = append(queue, start(t.Context(), f.store, testKey, appendText("x")))
		}
		succeed(t, queue...)
		f.waitReleases()
		s := f.store.Stats()
		assert.Positive(t, s.Polled)
		assert.Equal(t, lockupdate.Stats{Acquired: 1, Waited: 3, Polled: s.Polled, Combined: 2}, s, "three updates in one commit")

		// A slow fn with a failed and a successful renewal, and a foreign write.
		f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Action: proxytest.DropRequest})
		f.update(testKey, duringFirstCall(func() {
			time.Sleep(6 * time.Second)
			assert.Equal(t, 1, f.store.Stats().Held)
			f.writeBeside()
		}, appendText("y")))
		s = f.store.Stats()
		assert.EqualValues(t, 1, s.RenewFailures)
		assert.EqualValues(t, 2, s.Renewed, "the second in the flush of the repeated commit")
		assert.EqualValues(t, 1, s.Conflicted)

		// A lost lock, and a commit without a reply.
		_ = f.store.WithLock(t.Context(), "s", func(ctx context.Context) error {
			require.NoError(t, f.direct().Del(ctx, lock+"s").Err())
			<-ctx.Done()
			return nil
		})
		f.proxy.Inject(proxytest.Fault{Match: isScript("commit_string"), Action: proxytest.DropReply})
		require.ErrorIs(t, operations["update"](t.Context(), f.store), rmw.ErrOutcomeUnknown)
		s = f.store.Stats()
		assert.EqualValues(t, 1, s.Lost)
		assert.EqualValues(t, 1, s.Unknown)

		f.waitReleases()
		mu.Lock()
		defer mu.Unlock()
		for kind := lockupdate.EventWaited; kind <= lockupdate.EventUnknown; kind++ {
			assert.Positive(t, events[kind], kind.String())
			assert.Contains(t, text.String(), "lockupdate: "+kind.String())
		}
		for _, kind := range []locking.EventKind{
			locking.EventAcquired, locking.EventJeopardy, locking.EventSafe, locking.EventLost, locking.EventReleased,
		} {
			assert.Positive(t, observed[kind], kind.String())
			assert.Contains(t, text.String(), "lockupdate: "+kind.String()+`" lock=/lock/s`)
		}
		assert.Equal(t, observed[locking.EventAcquired], observed[locking.EventLost]+observed[locking.EventReleased])
		assert.Equal(t, "EventKind(99)", lockupdate.EventKind(99).String())
		assert.NotContains(t, text.String(), "theirs", "a value in the log")
	})
}

// callerHandler writes down the caller of each record, from its ctx.
type callerHandler struct {
	slog.Handler

	callers *sync.Map // of any, by the message
}

func (h callerHandler) Handle(ctx context.Context, r slog.Record) error {
	h.callers.Store(r.Message, ctx.Value(callKey{}))
	return h.Handler.Handle(ctx, r)
}

// Events of one call have its ctx and label, for OnEvent, Observer and Logger alike.
func TestEventsHaveTheirCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		log := callerHandler{slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}), &sync.Map{}}
		var told sync.Map // of string, by the kind
		f := newFixture(t, lockupdate.Config{
			Logger: slog.New(log),
			OnEvent: func(e lockupdate.Event) {
				told.Store(e.Kind.String(), fmt.Sprint(e.Ctx.Value(callKey{}), " ", e.Label))
			},
			Observer: func(ctx context.Context, e locking.Event) {
				told.Store(e.Kind.String(), fmt.Sprint(ctx.Value(callKey{}), " ", e.Label))
			},
		})
		key := rmw.Key{Name: "s", Label: "room"}
		f.warm(key)
		f.takeAsOther(key, time.Second)
		ctx := rmw.WithOperation(called(t, "call"), "join")
		f.proxy.Inject(proxytest.Fault{Match: isScript("commit_string"), Action: proxytest.DropReply, Skip: 1})
		_, err := f.store.Update(ctx, key, duringFirstCall(f.writeBeside, appendText("x")))
		require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
		f.waitReleases()
		for _, kind := range []string{"acquired", "released", "waited", "polled", "conflicted", "unknown"} {
			call, _ := told.Load(kind)
			assert.Equal(t, "call room", call, kind)
			call, _ = log.callers.Load("lockupdate: " + kind)
			assert.Equal(t, "call", call, kind)
		}
		assert.Contains(t, text.String(), `"lockupdate: acquired" lock=/lock/s label=room operation=join`)
	})
}

// An update whose caller left before the reply to the commit counts as unknown. Its release is sent after the commit. An error reply that
// quotes arguments puts no value into the log.
func TestUnknownIsCountedAndLogsNoValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		f := newFixture(t, lockupdate.Config{Logger: slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		key := f.warmKey()
		f.proxy.Inject(proxytest.Fault{Match: isScript("commit_string"), Action: proxytest.Delay, Delay: time.Second})
		_, err := f.store.Update(timeout(t.Context(), t, time.Millisecond), key, appendText("x"))
		require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
		assert.EqualValues(t, 1, f.store.Stats().Unknown)
		f.waitReleases()
		assert.Equal(t, []string{"acquire", "read", "commit_string", "release"}, f.calls())
		assert.Equal(t, "wwwx", f.text(key))

		const quoting = "ERR backend said: unknown command 'evalsha', with args beginning with: 'SECRET'"
		f.refuse("commit_string", 1, quoting)
		_, err = f.store.Update(t.Context(), key, appendText("SECRET"))
		require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
		assert.EqualValues(t, 2, f.store.Stats().Unknown)

		f.refuse("renew", 1, quoting)
		require.NoError(t, f.store.WithLock(t.Context(), "s", func(context.Context) error {
			time.Sleep(9 * time.Second)
			return nil
		}))
		synctest.Wait() // the keeper may still be logging
		assert.EqualValues(t, 1, f.store.Stats().RenewFailures)
		assert.NotContains(t, text.String(), "SECRET")
	})
}

// Stats.String contains every field by its name.
func TestStatsString(t *testing.T) {
	s := lockupdate.Stats{
		Acquired: 1, Waited: 2, Polled: 3, Renewed: 4, RenewFailures: 5, Lost: 6, Conflicted: 7, Combined: 8, Unknown: 9,
		CircuitOpened: 11, Held: 10, CircuitOpen: true,
	}
	text, v := strings.ReplaceAll(s.String(), "_", ""), reflect.ValueOf(s)
	for i := range v.NumField() {
		assert.Contains(t, text, fmt.Sprintf("%s=%v", strings.ToLower(v.Type().Field(i).Name), v.Field(i).Interface()))
	}
}

func TestEventString(t *testing.T) {
	e := lockupdate.Event{Kind: lockupdate.EventCombined, Lock: "lock:{room:7}", Ctx: t.Context(), Label: "room",
		N: 3, Took: time.Millisecond}
	assert.Equal(t, `lockupdate combined "lock:{room:7}" label="room" n=3 took=1ms`, e.String())
	e = lockupdate.Event{Kind: lockupdate.EventRenewFailed, N: 1, Err: rmw.ErrUnavailable}
	assert.Equal(t, `lockupdate renew failed n=1 err="store unavailable"`, e.String())
}

// A function of the Config that panics, ends its goroutine or returns nil harms no update. Stats count
// each time, and the first one is logged.
func TestFunctionsOfTheConfigAreContained(t *testing.T) {
	type ender = func(error)
	none := func(error) {}
	harms := map[string]func(){"panic": func() { panic("boom") }, "goexit": runtime.Goexit}
	cfgs := map[string]lockupdate.Config{
		"nil ctx": {BatchContext: func([]context.Context) (context.Context, ender) { return nil, none }},
		"nil end": {BatchContext: func(callers []context.Context) (context.Context, ender) { return callers[0], nil }},
	}
	for name, harm := range harms {
		cfgs["Observer "+name] = lockupdate.Config{Observer: func(context.Context, locking.Event) { harm() }}
		cfgs["OnEvent "+name] = lockupdate.Config{OnEvent: func(lockupdate.Event) { harm() }}
		cfgs["BatchContext "+name] = lockupdate.Config{
			BatchContext: func([]context.Context) (context.Context, ender) { harm(); return t.Context(), none },
		}
		cfgs["end "+name] = lockupdate.Config{
			BatchContext: func([]context.Context) (context.Context, ender) { return t.Context(), func(error) { harm() } },
		}
	}
	for name, cfg := range cfgs {
		bubble(t, name, func(t *testing.T) {
			var log bytes.Buffer
			cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
			f := newFixture(t, cfg)
			for range 2 { // each time one commit for all, and a wait
				succeed(t, f.runBatch(testKey, appendText("a"), appendText("b"), appendText("c"))...)
			}
			f.waitReleases()
			assert.Equal(t, "abcabc", f.text(testKey))
			assert.Greater(t, f.store.Stats().ObserverPanics, uint64(1))
			assert.Equal(t, 1, strings.Count(log.String(), "level=ERROR"), log.String())
			if !strings.HasPrefix(name, "nil") {
				assert.Contains(t, log.String(), "TestFunctionsOfTheConfigAreContained", "the stack")
			}
		})
	}
}

// Updates of several keys are among the events, as those of one key are.
func TestEventsOfTransacts(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		runs := 0
		f.transact(func(ctx context.Context, tx *rmw.Tx) error {
			if runs++; runs == 2 { // the first was too slow to keep its keys sealed
				require.NoError(t, f.direct().Set(ctx, to.Name, "5", 0).Err())
			}
			defer time.Sleep(time.Second)
			return transfer(ctx, tx)
		}, from, to)
		assert.Equal(t, 3, runs)
		assert.EqualValues(t, 1, f.store.Stats().Conflicted)
		assert.Zero(t, f.store.Stats().Unknown)

		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		f.proxy.Inject(proxytest.Fault{Command: "HSETNX", Action: proxytest.DropReply})
		heal := f.proxy.Inject(proxytest.Fault{Match: isScript("decided"), Times: -1, Action: proxytest.DropRequest})
		_, err := f.store.Transact(ctx, []rmw.Key{{Name: "k"}}, func(_ context.Context, tx *rmw.Tx) error {
			tx.Put(rmw.Key{Name: "k"}, rmw.String("v"))
			return nil
		})
		heal()
		require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
		assert.EqualValues(t, 1, f.store.Stats().Unknown)
	})
}
