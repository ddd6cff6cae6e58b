package observe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/docs/doccheck"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/lock/locktest"
	"github.com/unwatch/unwatch/lockupdate"
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
		store := rmw.Chain(rmwtest.NewMemory(), NewRecorder(m.open, Options{}).Updates("memory"))
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
			"update.wait{memory room/join} 0",
		}, m.take())

		refusal := errors.New("sold out")
		_, err = store.Update(t.Context(), key, returns(rmw.Value{}, refusal))
		require.Same(t, refusal, err)
		assert.Equal(t, []string{
			"update.attempts{memory room} 1", "update.duration{memory room fn} 0", "update.wait{memory room} 0",
		}, m.take())

		_, err = store.Update(t.Context(), rmw.Key{}, returns(rmw.Value{}, nil))
		require.ErrorIs(t, err, rmw.ErrInvalid)
		assert.Equal(t, []string{"update.duration{memory  invalid} 0", "update.wait{memory } 0"}, m.take())

		_, err = store.Read(ctx, key)
		require.NoError(t, err)
		_, err = store.Read(ctx, rmw.Key{Name: "k", Kind: rmw.KindHash})
		require.ErrorIs(t, err, rmw.ErrWrongKind)
		assert.Equal(t, []string{"read.duration{memory join wrong_kind} 0", "read.duration{memory room/join ok} 0"}, m.take())

		_, ok := rmw.As[*rmwtest.Memory](store)
		assert.True(t, ok)
	})
}

// A Transact is recorded with the operation of its first key and the number of its keys.
func TestTransacts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m memory
		store := rmw.Chain(rmwtest.NewMemory(), NewRecorder(m.open, Options{}).Updates("memory"))
		m.take()
		assert.NotContains(t, m.opened, "unwatch.transact.duration{memory  ok}", "until the first")
		ctx := rmw.WithOperation(t.Context(), "join")
		a, b, late := rmw.Key{Name: "a", Label: "room"}, rmw.Key{Name: "b", Label: "member"}, rmw.Key{Name: "c"}

		_, err := rmw.Transact(ctx, store, func(_ context.Context, tx *rmw.Tx) error {
			time.Sleep(2 * time.Second)
			tx.Put(late, rmw.String("x"))
			return nil
		}, a, b)
		require.NoError(t, err)
		assert.Equal(t, []string{
			"transact.attempts{memory room/join} 1", "transact.duration{memory room/join ok} 2",
			"transact.keys{memory room/join} 3", "transact.wait{memory room/join} 0",
		}, m.take())
		for _, reason := range Reasons() {
			assert.Contains(t, m.opened, "unwatch.transact.duration{memory  "+reason+"}")
		}

		refusal := errors.New("sold out")
		_, err = rmw.Transact(t.Context(), store, func(context.Context, *rmw.Tx) error { return refusal }, b, a)
		require.Same(t, refusal, err)
		assert.Equal(t, []string{
			"transact.attempts{memory member} 1", "transact.duration{memory member fn} 0",
			"transact.keys{memory member} 2", "transact.wait{memory member} 0",
		}, m.take())

		_, err = rmw.Transact(t.Context(), store, nil)
		require.ErrorIs(t, err, rmw.ErrInvalid)
		assert.Equal(t, []string{
			"transact.duration{memory  invalid} 0", "transact.keys{memory } 0", "transact.wait{memory } 0",
		}, m.take())

		assert.PanicsWithValue(t, "of fn", func() {
			_, _ = rmw.Transact(t.Context(), store, func(context.Context, *rmw.Tx) error { panic("of fn") }, b)
		})
		assert.Equal(t, []string{"transact.duration{memory member panic} 0", "transact.keys{memory member} 1"}, m.take())

		_, err = rmw.Transact(t.Context(), NewRecorder(m.open, Options{}).Updates("p")(fails{}), nil, a)
		require.ErrorIs(t, err, rmw.ErrUnsupported)
		assert.Contains(t, m.take(), "transact.duration{p room unsupported} 0")
	})
}

// unknown is a Store whose updates of several keys end in the error.
type unknown struct {
	rmw.Store
	err error
}

func (s unknown) Transact(context.Context, []rmw.Key, rmw.TxFunc) (rmw.TxResult, error) {
	return rmw.TxResult{Attempts: 3, Waited: time.Second}, s.err
}

func TestUnknownTransactsAreCounted(t *testing.T) {
	for of, want := range map[*rmw.Error]int{
		{Reason: rmw.ErrOutcomeUnknown, Op: "transact", Key: "late"}: 1,
		{Reason: rmw.ErrOutcomeUnknown, Op: "commit", Key: "b"}:      1,
		{Reason: rmw.ErrOutcomeUnknown, Op: "update", Key: "inner"}:  0,
		{Reason: rmw.ErrUnavailable, Op: "transact", Key: "a"}:       0,
	} {
		var m memory
		store := NewRecorder(m.open, Options{}).Updates("p")(unknown{err: of})
		m.take()
		_, err := rmw.Transact(t.Context(), store, nil, rmw.Key{Name: "a"}, rmw.Key{Name: "b"})
		require.Same(t, of, err)
		told := m.take()
		assert.Contains(t, told, "transact.attempts{p } 3")
		assert.Contains(t, told, "transact.wait{p } 1")
		assert.Equal(t, want == 1, slices.Contains(told, "updates.unknown{p} 1"), "%v", of)
	}
}

// The middleware keeps the contract of the Store.
func TestContract(t *testing.T) {
	rmwtest.RunFake(t, func(*testing.T) rmwtest.Target {
		m := rmwtest.NewMemory()
		measure := NewRecorder(new(memory).open, Options{}).Updates("p")
		return rmwtest.Target{Direct: m, Faults: m, Open: func() rmw.Store { return measure(m) }}
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
		store := NewRecorder(m.open, Options{}).Updates("p")(fails{err: &rmw.Error{Reason: rmw.ErrOutcomeUnknown}})
		assert.Equal(t, []string{"updates.unknown{p} 0"}, m.take(), "exists before the first")
		_, err := store.Update(t.Context(), rmw.Key{Name: "k"}, nil)
		require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
		assert.Equal(t, []string{
			"update.attempts{p } 3", "update.duration{p  outcome_unknown} 0", "update.wait{p } 1", "updates.unknown{p} 1",
		}, m.take())
	})
}

// A panic of fn, and the end of its goroutine, pass through and are counted.
func TestPanicIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m memory
		store := NewRecorder(m.open, Options{}).Updates("p")(rmwtest.NewMemory())
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
		locks := locktest.NewMemory(driver.Config{Observer: NewRecorder(m.open, Options{}).Locks("memory")})
		defer func() { _ = locks.Close() }()
		assert.Equal(t, []string{
			"lock.waiters{memory} 0", "locks.held{memory} 0", "locks.lost{memory expired} 0", "locks.lost{memory max_hold} 0",
			"locks.lost{memory other} 0", "locks.lost{memory session} 0", "locks.lost{memory taken} 0",
		}, m.take(), "exist before the first")
		ctx := rmw.WithOperation(t.Context(), "sale")
		require.NoError(t, locks.WithLock(ctx, "a", func(context.Context) error {
			time.Sleep(time.Second)
			return nil
		}))
		synctest.Wait()
		assert.Equal(t, []string{
			"lock.hold{memory sale} 1", "lock.wait{memory sale ok} 0", "locks.held{memory} -1", "locks.held{memory} 1",
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
			"lock.hold{memory } ", "lock.wait{memory  contended} 0", "lock.wait{memory  ok} 0", "locks.held{memory} -1",
			"locks.held{memory} 1", "locks.lost{memory taken} 1",
		} {
			assert.True(t, strings.HasPrefix(told[i], want), "%s, want %s", told[i], want)
		}
	})
}

func TestEventsOfLocksAreMeasured(t *testing.T) {
	var m memory
	observer := NewRecorder(m.open, Options{}).Locks("s")
	m.take()
	for _, e := range []lock.Event{
		{Kind: lock.EventJeopardy}, {Kind: lock.EventSafe, Took: 3 * time.Second}, {Kind: lock.EventWanted}, {Kind: 99},
		{Kind: lock.EventWaiting}, {Kind: lock.EventWaiting}, {Kind: lock.EventWaitEnded},
		{Kind: lock.EventLost, Loss: "unheard of", Took: time.Second},
	} {
		observer(t.Context(), e)
	}
	assert.Equal(t, []string{
		"lock.hold{s } 1", "lock.jeopardy{s} 3", "lock.waiters{s} -1", "lock.waiters{s} 1",
		"lock.waiters{s} 1", "locks.held{s} -1", "locks.lost{s other} 1",
	}, m.take())
}

// All middleware of a path, and all Observers of a lock service, share one budget.
func TestBudgetOfAPath(t *testing.T) {
	var m memory
	r := NewRecorder(m.open, Options{MaxOperations: 3})
	for i := range 20 {
		ctx := rmw.WithOperation(t.Context(), strconv.Itoa(i))
		store := r.Updates("p")(rmwtest.NewMemory())
		_, err := store.Update(ctx, rmw.Key{Name: "k"}, returns(rmw.String("x"), nil))
		require.NoError(t, err)
		_, err = store.Read(ctx, rmw.Key{Name: "k"})
		require.NoError(t, err)
		r.Locks("s")(ctx, lock.Event{Kind: lock.EventAcquired})
	}
	r.Updates("another path")
	for _, operation := range []string{"", "0", "1", "2", Overflow} {
		assert.Contains(t, m.opened, "unwatch.update.attempts{p "+operation+"}")
		assert.Contains(t, m.opened, "unwatch.read.duration{p "+operation+" ok}")
		assert.Contains(t, m.opened, "unwatch.lock.hold{s "+operation+"}")
	}
	assert.NotContains(t, m.opened, "unwatch.update.attempts{p 3}")
	assert.NotContains(t, m.opened, "unwatch.read.duration{p 3 ok}")
	assert.NotContains(t, m.opened, "unwatch.lock.hold{s 3}")
}

// statistics is a Store with fixed Stats.
type statistics lockupdate.Stats

func (s statistics) Stats() lockupdate.Stats { return lockupdate.Stats(s) }

// Each path has the Stats of one Store, until that is unregistered.
func TestStats(t *testing.T) {
	r := NewRecorder(new(memory).open, Options{})
	told := func() (told []string) {
		r.Stats(func(m *Metric, n uint64, values ...string) {
			if n > 0 {
				told = append(told, fmt.Sprint(m.Name, values, n))
			}
		})
		slices.Sort(told)
		return told
	}
	require.ErrorIs(t, r.Register("a", nil), rmw.ErrInvalid)
	require.ErrorIs(t, r.Register("a", (*lockupdate.Store)(nil)), rmw.ErrInvalid)
	require.NoError(t, r.Register("a", statistics{Polled: 3, CircuitOpen: true}))
	require.ErrorIs(t, r.Register("a", statistics{Polled: 4}), rmw.ErrInvalid)
	assert.Equal(t, []string{"unwatch.lock.polls[a] 3", "unwatch.store.circuit_open[a] 1"}, told())
	r.Unregister("a")
	r.Unregister("never registered")
	require.NoError(t, r.Register("a", statistics{Renewed: 1, RenewFailures: 2, Conflicted: 4, Combined: 5}))
	assert.Equal(t, []string{
		"unwatch.commit.conflicts[a] 4", "unwatch.lock.renewals[a failed] 2", "unwatch.lock.renewals[a renewed] 1",
		"unwatch.updates.combined[a] 5",
	}, told())
}

// The series of all reasons exist from the start, for listed operations and for calls without a name.
func TestSeriesExistFromTheStart(t *testing.T) {
	var m memory
	NewRecorder(m.open, Options{Operations: []string{"room/join"}}).Updates("p\xff")
	NewRecorder(m.open, Options{Operations: []string{"sale"}}).Locks("s")
	for _, reason := range Reasons() {
		for _, series := range []string{
			"unwatch.update.duration{p\uFFFD  %s}", "unwatch.update.duration{p\uFFFD room/join %s}",
			"unwatch.read.duration{p\uFFFD room/join %s}",
			"unwatch.lock.wait{s  %s}", "unwatch.lock.wait{s sale %s}",
		} {
			assert.Contains(t, m.opened, fmt.Sprintf(series, reason))
		}
	}
	for _, series := range []string{
		"unwatch.update.wait{p\uFFFD room/join}", "unwatch.update.attempts{p\uFFFD room/join}",
		"unwatch.lock.hold{s sale}", "unwatch.lock.jeopardy{s}",
	} {
		assert.Contains(t, m.opened, series)
	}
}

func TestPageHasTheTable(t *testing.T) {
	require.NoError(t, doccheck.HasLines("../../docs/observe.md", Table()))
}

// Each metric is on a panel or in an alert, and the picture has the panels.
func TestEachMetricIsShown(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile("../../docs/observe/" + name)
		require.NoError(t, err)
		return string(text)
	}
	dashboard, picture := read("dashboard.json"), read("dashboard.svg")
	queries := dashboard + read("alerts.yml")
	for _, m := range Metrics() {
		assert.True(t, regexp.MustCompile(`\b`+m.Prometheus()+`(_bucket|_count|_sum)?\b`).MatchString(queries), m.Prometheus())
	}
	var d struct{ Panels []struct{ Title string } }
	require.NoError(t, json.Unmarshal([]byte(dashboard), &d))
	var titles []string
	for _, p := range d.Panels {
		titles = append(titles, p.Title)
	}
	var drawn []string
	for _, m := range regexp.MustCompile(`font-weight="600"[^>]*>([^<]*)<`).FindAllStringSubmatch(picture, -1) {
		drawn = append(drawn, m[1])
	}
	assert.Equal(t, titles, drawn, "draw the picture again: make dashboard")
}

// The page explains each reason of an error, and of a loss.
func TestPageExplainsReasons(t *testing.T) {
	page, err := os.ReadFile("../../docs/observe.md")
	require.NoError(t, err)
	rows, _, _ := strings.Cut(string(page), "\nAn error of `fn` that wraps")
	_, rows, found := strings.Cut(rows, "| word | the call |\n|---|---|\n")
	require.True(t, found)
	var words []string
	for line := range strings.Lines(rows) {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(first, -1) {
			words = append(words, m[1])
		}
	}
	assert.ElementsMatch(t, Reasons(), words)
	_, losses, found := strings.Cut(string(page), "- `reason` is ")
	require.True(t, found)
	losses, _, _ = strings.Cut(losses, "\n- ")
	words = nil
	for _, m := range regexp.MustCompile(`\*(\w+)\*`).FindAllStringSubmatch(losses, -1) {
		words = append(words, m[1])
	}
	want := []string{Other}
	for _, loss := range lock.Losses() {
		want = append(want, string(loss))
	}
	assert.ElementsMatch(t, want, words)
}
