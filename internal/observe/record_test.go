package observe

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/doccheck"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/lock/locktest"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// memory is an exporter that keeps all measurements, as "name{values} measurement".
type memory struct {
	mu     sync.Mutex
	told   []string
	opened map[string]int
}

func (m *memory) open(of *Metric, values ...string) Record {
	if len(values) != len(of.Attributes) {
		panic(of.Name)
	}
	series := of.Name + "{" + strings.Join(values, " ") + "}"
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.opened == nil {
		m.opened = map[string]int{}
	}
	m.opened[series]++
	return func(_ context.Context, v float64) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.told = append(m.told, fmt.Sprintf("%s %v", strings.TrimPrefix(series, "unwatch."), v))
	}
}

// take returns the measurements since the last call, sorted.
func (m *memory) take() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	told := slices.Sorted(slices.Values(m.told))
	m.told = nil
	return told
}

func returns(v rmw.Value, err error) rmw.UpdateFunc {
	return func(context.Context, rmw.Value) (rmw.Value, error) { return v, err }
}

func TestUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m memory
		store := rmw.Chain(rmwtest.NewMemory(), Updates(m.open, "memory", Options{}))
		m.take()
		ctx, key := rmw.WithOperation(t.Context(), "join"), rmw.Key{Name: "k", Label: "room"}

		_, err := store.Update(ctx, key, func(context.Context, rmw.Value) (rmw.Value, error) {
			time.Sleep(2 * time.Second)
			return rmw.String("x"), nil
		})
		require.NoError(t, err)
		assert.Equal(t, []string{
			"update.attempts{memory room/join} 1",
			"update.duration{memory room/join ok} 2",
			"update.wait.duration{memory room/join} 0",
		}, m.take())

		refusal := errors.New("sold out")
		_, err = store.Update(t.Context(), key, returns(rmw.Value{}, refusal))
		require.Same(t, refusal, err)
		assert.Equal(t, []string{
			"update.attempts{memory room} 1", "update.duration{memory room fn} 0", "update.wait.duration{memory room} 0",
		}, m.take())

		_, err = store.Update(t.Context(), rmw.Key{}, returns(rmw.Value{}, nil))
		require.ErrorIs(t, err, rmw.ErrInvalid)
		assert.Equal(t, []string{"update.duration{memory  invalid} 0", "update.wait.duration{memory } 0"}, m.take())

		_, err = store.Read(ctx, key)
		require.NoError(t, err)
		_, err = store.Read(ctx, rmw.Key{Name: "k", Kind: rmw.KindHash})
		require.ErrorIs(t, err, rmw.ErrWrongKind)
		assert.Equal(t, []string{"read.duration{memory join wrong_kind} 0", "read.duration{memory room/join ok} 0"}, m.take())

		_, ok := rmw.As[*rmwtest.Memory](store)
		assert.True(t, ok)
	})
}

// fails is a Store whose updates fail.
type fails struct {
	rmw.Store
	err error
}

func (s fails) Update(context.Context, rmw.Key, rmw.UpdateFunc) (rmw.Result, error) {
	return rmw.Result{Attempts: 3, Waited: time.Second}, s.err
}

func TestUnknownOutcomesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m memory
		store := Updates(m.open, "p", Options{})(fails{err: &rmw.Error{Reason: rmw.ErrOutcomeUnknown}})
		assert.Equal(t, []string{"update.unknown{p} 0"}, m.take(), "exists before the first")
		_, err := store.Update(t.Context(), rmw.Key{Name: "k"}, nil)
		require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
		assert.Equal(t, []string{
			"update.attempts{p } 3", "update.duration{p  outcome_unknown} 0", "update.unknown{p} 1", "update.wait.duration{p } 1",
		}, m.take())
	})
}

// A panic of fn, and the end of its goroutine, pass through and are counted.
func TestPanicIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m memory
		store := Updates(m.open, "p", Options{})(rmwtest.NewMemory())
		m.take()
		assert.PanicsWithValue(t, "of fn", func() {
			_, _ = store.Update(t.Context(), rmw.Key{Name: "k"}, func(context.Context, rmw.Value) (rmw.Value, error) { panic("of fn") })
		})
		assert.Equal(t, []string{"update.duration{p  panic} 0"}, m.take())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = store.Update(t.Context(), rmw.Key{Name: "k"}, func(context.Context, rmw.Value) (rmw.Value, error) {
				runtime.Goexit()
				return rmw.Value{}, nil
			})
		}()
		<-done
		assert.Equal(t, []string{"update.duration{p  panic} 0"}, m.take())
	})
}

func TestLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m memory
		locks := locktest.NewMemory(driver.Config{Observer: Locks(m.open, "memory", Options{})})
		defer func() { _ = locks.Close() }()
		assert.Equal(t, []string{
			"lock.held{memory} 0", "lock.lost{memory expired} 0", "lock.lost{memory max_hold} 0", "lock.lost{memory session} 0",
			"lock.lost{memory taken} 0", "lock.waiting{memory} 0",
		}, m.take(), "exist before the first")
		ctx := rmw.WithOperation(t.Context(), "sale")
		require.NoError(t, locks.WithLock(ctx, "a", func(context.Context) error {
			time.Sleep(time.Second)
			return nil
		}))
		synctest.Wait()
		assert.Equal(t, []string{
			"lock.held{memory} -1", "lock.held{memory} 1", "lock.hold.duration{memory sale} 1", "lock.wait.duration{memory sale ok} 0",
		}, m.take())

		require.ErrorIs(t, locks.WithLock(t.Context(), "b", func(ctx context.Context) error {
			require.ErrorIs(t, locks.Peer().TryLock(ctx, "b", func(context.Context) error { return nil }), rmw.ErrContended)
			require.NoError(t, locks.TakeAway(ctx, "b"))
			<-ctx.Done()
			return nil
		}), rmw.ErrLockLost)
		synctest.Wait()
		told := m.take()
		assert.Len(t, told, 6)
		for i, want := range []string{
			"lock.held{memory} -1", "lock.held{memory} 1", "lock.hold.duration{memory } ", "lock.lost{memory taken} 1",
			"lock.wait.duration{memory  contended} 0", "lock.wait.duration{memory  ok} 0",
		} {
			assert.True(t, strings.HasPrefix(told[i], want), "%s, want %s", told[i], want)
		}
	})
}

func TestEventsOfLocksAreMeasured(t *testing.T) {
	var m memory
	observer := Locks(m.open, "s", Options{})
	m.take()
	for _, e := range []lock.Event{
		{Kind: lock.EventJeopardy}, {Kind: lock.EventSafe, Took: 3 * time.Second}, {Kind: lock.EventWanted}, {Kind: 99},
		{Kind: lock.EventWaiting}, {Kind: lock.EventWaiting}, {Kind: lock.EventWaitEnded},
		{Kind: lock.EventLost, Loss: "unheard of", Took: time.Second},
	} {
		observer(t.Context(), e)
	}
	assert.Equal(t, []string{
		"lock.held{s} -1", "lock.hold.duration{s } 1", "lock.jeopardy.duration{s} 3", "lock.lost{s other} 1",
		"lock.waiting{s} -1", "lock.waiting{s} 1", "lock.waiting{s} 1",
	}, m.take())
}

// The series of all reasons exist from the start, for listed operations and for calls without a name.
func TestSeriesExistFromTheStart(t *testing.T) {
	var m memory
	Updates(m.open, "p\xff", Options{Operations: []string{"room/join"}})
	Locks(m.open, "s", Options{Operations: []string{"sale"}})
	for _, reason := range Reasons() {
		for _, series := range []string{
			"unwatch.update.duration{p\uFFFD  %s}", "unwatch.update.duration{p\uFFFD room/join %s}",
			"unwatch.read.duration{p\uFFFD room/join %s}",
			"unwatch.lock.wait.duration{s  %s}", "unwatch.lock.wait.duration{s sale %s}",
		} {
			assert.Contains(t, m.opened, fmt.Sprintf(series, reason))
		}
	}
	for _, series := range []string{
		"unwatch.update.wait.duration{p\uFFFD room/join}", "unwatch.update.attempts{p\uFFFD room/join}",
		"unwatch.lock.hold.duration{s sale}", "unwatch.lock.jeopardy.duration{s}",
	} {
		assert.Contains(t, m.opened, series)
	}
}

func TestPageHasTheTable(t *testing.T) {
	require.NoError(t, doccheck.HasLines("../../docs/observe.md", Table()))
}
