package promunwatch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/observe/promunwatch"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// newMetrics returns Metrics and their registry.
func newMetrics(t *testing.T, cfg promunwatch.Config) (*promunwatch.Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	m, err := promunwatch.New(registry, cfg)
	require.NoError(t, err)
	return m, registry
}

// exposition returns the text that Prometheus scrapes.
func exposition(t *testing.T, registry *prometheus.Registry) string {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	var text bytes.Buffer
	for _, f := range families {
		_, err := expfmt.MetricFamilyToText(&text, f)
		require.NoError(t, err)
	}
	return text.String()
}

// nonzero leaves out comments, series that are 0, and those buckets of a histogram that are not the last.
func nonzero(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		bucket := strings.Contains(line, `le="`) && !strings.Contains(line, `le="+Inf"`)
		if !strings.HasPrefix(line, "#") && !strings.HasSuffix(line, " 0\n") && !bucket {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// newStore returns a Store behind an in-memory proxy, and its client.
func newStore(t *testing.T, cfg lockupdate.Config) (*lockupdate.Store, *redis.Client) {
	t.Helper()
	proxy, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Codis32(), InMemory: true})
	require.NoError(t, err)
	rdb := redis.NewClient(proxy.Options())
	store := lockupdate.New(rdb, cfg)
	t.Cleanup(func() {
		require.NoError(t, store.Close())
		require.NoError(t, rdb.Close())
		require.NoError(t, proxy.Close())
	})
	return store, rdb
}

func set(text string) rmw.UpdateFunc {
	return func(context.Context, rmw.Value) (rmw.Value, error) { return rmw.String(text), nil }
}

// A whole run on fake time, compared with the exposition. No name of a key or of a lock is in it.
func TestExposition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, registry := newMetrics(t, promunwatch.Config{Operations: []string{"room/join"}})
		locks, rdb := newStore(t, lockupdate.Config{Observer: m.Locks("redis"), MaxWait: 2 * time.Second})
		require.NoError(t, m.Stats("lockupdate", locks))
		store := rmw.Chain(locks, m.Updates("lockupdate"))
		key := rmw.Key{Name: "secret-key", Label: "room"}
		ctx := rmw.WithOperation(t.Context(), "join")

		for range 2 {
			_, err := store.Update(ctx, key, set("x"))
			require.NoError(t, err)
			synctest.Wait() // until the lock is released
		}
		_, err := store.Update(ctx, key, func(context.Context, rmw.Value) (rmw.Value, error) {
			time.Sleep(6 * time.Second) // a renewal
			return rmw.Value{}, errors.New("refused")
		})
		require.Error(t, err)
		synctest.Wait()
		assert.Panics(t, func() {
			_, _ = store.Update(ctx, key, func(context.Context, rmw.Value) (rmw.Value, error) { panic("of fn") })
		})
		synctest.Wait()
		conflict := true
		_, err = store.Update(ctx, key, func(ctx context.Context, _ rmw.Value) (rmw.Value, error) {
			if conflict {
				conflict = false
				require.NoError(t, rdb.Set(ctx, key.Name, "theirs", 0).Err())
			}
			return rmw.String("ours"), nil
		})
		require.NoError(t, err)
		_, err = store.Read(t.Context(), rmw.Key{Name: key.Name, Kind: rmw.KindHash})
		require.ErrorIs(t, err, rmw.ErrWrongKind)

		require.NoError(t, locks.WithLock(t.Context(), "secret-lock", func(ctx context.Context) error {
			require.ErrorIs(t, locks.TryLock(t.Context(), "secret-lock", func(context.Context) error { return nil }), rmw.ErrContended)
			time.Sleep(time.Second)
			return nil
		}))
		synctest.Wait()
		text := exposition(t, registry)
		want, err := os.ReadFile("testdata/exposition.txt")
		require.NoError(t, err)
		assert.Equal(t, string(want), nonzero(text))
		assert.NotContains(t, text, "secret")
	})
}

// All series of closed lists exist before anything happens.
func TestSeriesExistFromTheStart(t *testing.T) {
	m, registry := newMetrics(t, promunwatch.Config{Operations: []string{"room/join"}})
	m.Updates("cas")
	m.Locks("etcd")
	m.Events("lockupdate")
	text := exposition(t, registry)
	for _, series := range []string{
		`unwatch_update_duration_seconds_count{error_type="contended",operation="room/join",path="cas"} 0`,
		`unwatch_update_duration_seconds_count{error_type="panic",operation="",path="cas"} 0`,
		`unwatch_update_duration_seconds_bucket{error_type="ok",operation="",path="cas",le="10"} 0`,
		`unwatch_lock_hold_seconds_bucket{backend="etcd",operation="",le="60"} 0`,
		`unwatch_update_attempts_bucket{operation="",path="cas",le="3"} 0`,
		`unwatch_updates_unknown_total{path="cas"} 0`,
		`unwatch_lock_wait_seconds_count{backend="etcd",error_type="unavailable",operation="room/join"} 0`,
		`unwatch_locks_lost_total{backend="etcd",reason="expired"} 0`,
		`unwatch_locks_lost_total{backend="etcd",reason="max_hold"} 0`,
		`unwatch_locks_lost_total{backend="etcd",reason="other"} 0`,
		`unwatch_locks_lost_total{backend="etcd",reason="session"} 0`,
		`unwatch_locks_lost_total{backend="etcd",reason="taken"} 0`,
		`unwatch_lock_waiters{backend="etcd"} 0`,
		`unwatch_commit_updates_bucket{path="lockupdate",le="256"} 0`,
		`unwatch_locks_held{backend="etcd"} 0`,
		`unwatch_lock_jeopardy_seconds_count{backend="etcd"} 0`,
	} {
		assert.Contains(t, text, series+"\n")
	}
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	assert.Empty(t, problems)
}

func TestCombinedCommitsAreMeasured(t *testing.T) {
	m, registry := newMetrics(t, promunwatch.Config{})
	tell := m.Events("lockupdate")
	tell(lockupdate.Event{Kind: lockupdate.EventCombined, N: 64})
	tell(lockupdate.Event{Kind: lockupdate.EventRenewed, N: 3})
	text := exposition(t, registry)
	assert.Contains(t, text, "unwatch_commit_updates_sum{path=\"lockupdate\"} 64\n")
	assert.Contains(t, text, "unwatch_commit_updates_count{path=\"lockupdate\"} 1\n")
}

// 10,000 operations, or names that are not UTF-8, neither grow the exposition nor break it, whether one
// middleware and Observer sees them or many.
func TestOperationsAreBounded(t *testing.T) {
	m, registry := newMetrics(t, promunwatch.Config{})
	call := func(name string) {
		ctx := rmw.WithOperation(t.Context(), name)
		_, err := m.Updates("memory\xff")(rmwtest.NewMemory()).Update(ctx, rmw.Key{Name: "k"}, set("x"))
		require.NoError(t, err)
		m.Locks("s")(ctx, lock.Event{Kind: lock.EventAcquired})
	}
	call("\xff\xfe\n\"")
	for i := range 10_000 {
		call(strconv.Itoa(i))
	}
	text := exposition(t, registry)
	assert.Equal(t, 34, strings.Count(text, "\nunwatch_update_attempts_count{"), "32, those without a name, and the others")
	assert.Equal(t, 34, strings.Count(text, "\nunwatch_lock_hold_seconds_count{"))
	assert.Contains(t, text, "unwatch_update_attempts_count{operation=\"other\",path=\"memory\uFFFD\"} 9969\n")
	assert.Contains(t, text, "unwatch_update_attempts_count{operation=\"\uFFFD\\n\\\"\",path=\"memory\uFFFD\"} 1\n")
	assert.Contains(t, text, "unwatch_lock_wait_seconds_count{backend=\"s\",error_type=\"ok\",operation=\"other\"} 9969\n")
}

// docs/observe.md has these numbers. In a scrape, a histogram is a series for each bucket, its sum and its count.
func TestSeriesCount(t *testing.T) {
	series := func(cfg promunwatch.Config, several bool, operations ...string) (n int) {
		m, registry := newMetrics(t, cfg)
		store, observer := m.Updates("p")(rmwtest.NewMemory()), m.Locks("s")
		require.NoError(t, m.Stats("p", lockupdate.New(nil, lockupdate.Config{})))
		for _, operation := range operations {
			ctx := rmw.WithOperation(t.Context(), operation)
			_, err := store.Update(ctx, rmw.Key{Name: "k"}, set("x"))
			require.NoError(t, err)
			_, err = store.Read(ctx, rmw.Key{Name: "k"})
			require.NoError(t, err)
			observer(ctx, lock.Event{Kind: lock.EventAcquired})
		}
		for _, operation := range slices.Concat([]string{""}, operations, cfg.Operations) {
			if several {
				_, err := rmw.ReadAll(rmw.WithOperation(t.Context(), operation), store, rmw.Key{Name: "k"})
				require.NoError(t, err)
			}
		}
		for line := range strings.Lines(exposition(t, registry)) {
			if !strings.HasPrefix(line, "#") {
				n++
			}
		}
		return n
	}
	listing := promunwatch.Config{Operations: []string{"a"}}
	none, listed, seen := series(promunwatch.Config{}, false), series(listing, false), series(promunwatch.Config{}, false, "a")
	page := fmt.Sprintf("%d series, %d more for each of `Config.Operations`, and %d for each other operation", none, listed-none, seen-none)
	first := series(promunwatch.Config{}, true) - none
	page += fmt.Sprintf(". Transacts add %d, %d and %d to these", first,
		series(listing, true)-listed-first, series(promunwatch.Config{}, true, "a")-seen-first)
	text, err := os.ReadFile("../../docs/observe.md")
	require.NoError(t, err)
	assert.True(t, strings.Contains(strings.Join(strings.Fields(string(text)), " "), page), "the page does not say: %s", page)
}

// All buckets are those of the page.
func TestBuckets(t *testing.T) {
	m, registry := newMetrics(t, promunwatch.Config{})
	_, err := rmw.ReadAll(t.Context(), m.Updates("p")(rmwtest.NewMemory()), rmw.Key{Name: "k"})
	require.NoError(t, err)
	m.Locks("s")
	m.Events("p")
	buckets := map[string][]string{}
	for _, match := range regexp.MustCompile(`(?m)^(\w+)_bucket\{.*le="([^"]+)"`).
		FindAllStringSubmatch(exposition(t, registry), -1) {
		if !slices.Contains(buckets[match[1]], match[2]) {
			buckets[match[1]] = append(buckets[match[1]], match[2])
		}
	}
	got := map[string][]string{}
	for name, bounds := range buckets {
		got[strings.Join(bounds, " ")] = append(got[strings.Join(bounds, " ")], name)
	}
	for _, names := range got {
		slices.Sort(names)
	}
	assert.Equal(t, map[string][]string{
		"0.001 0.005 0.01 0.05 0.1 0.5 1 5 10 +Inf": {
			"unwatch_read_duration_seconds", "unwatch_transact_duration_seconds", "unwatch_update_duration_seconds",
		},
		"0.001 0.005 0.01 0.05 0.1 0.5 1 5 10 60 +Inf": {
			"unwatch_lock_hold_seconds", "unwatch_lock_jeopardy_seconds", "unwatch_lock_wait_seconds", "unwatch_transact_wait_seconds",
			"unwatch_update_wait_seconds",
		},
		"1 2 3 5 10 100 +Inf":         {"unwatch_transact_attempts", "unwatch_update_attempts"},
		"1 2 3 4 8 16 32 64 +Inf":     {"unwatch_transact_keys"},
		"2 4 8 16 32 64 128 256 +Inf": {"unwatch_commit_updates"},
	}, got)
}

func TestNewIsInvalid(t *testing.T) {
	for _, registry := range []prometheus.Registerer{nil, (*prometheus.Registry)(nil)} {
		_, err := promunwatch.New(registry, promunwatch.Config{})
		require.ErrorIs(t, err, rmw.ErrInvalid)
	}

	m, registry := newMetrics(t, promunwatch.Config{})
	_, err := promunwatch.New(registry, promunwatch.Config{})
	require.ErrorIs(t, err, rmw.ErrInvalid)
	require.ErrorContains(t, err, "use one promunwatch.Metrics for all Stores")
	_, err = promunwatch.New(prometheus.WrapRegistererWithPrefix("other_", registry), promunwatch.Config{})
	require.NoError(t, err)

	taken := prometheus.NewRegistry()
	taken.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "unwatch_lock_polls_total"}))
	_, err = promunwatch.New(taken, promunwatch.Config{})
	require.ErrorIs(t, err, rmw.ErrInvalid)
	require.ErrorContains(t, err, "unwatch_lock_polls_total")
	families, err := taken.Gather()
	require.NoError(t, err)
	assert.Len(t, families, 1, "nothing is registered")

	store := lockupdate.New(nil, lockupdate.Config{})
	require.ErrorIs(t, m.Stats("a", nil), rmw.ErrInvalid)
	require.ErrorIs(t, m.Stats("a", (*lockupdate.Store)(nil)), rmw.ErrInvalid)
	require.NoError(t, m.Stats("a", store))
	require.ErrorIs(t, m.Stats("a", store), rmw.ErrInvalid)
	m.Unregister("a")
	require.NoError(t, m.Stats("a", store))
}

func TestMetricsAreSafeForConcurrentUse(t *testing.T) {
	m, registry := newMetrics(t, promunwatch.Config{MaxOperations: 3})
	memory := rmwtest.NewMemory()
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			store := m.Updates("memory")(memory)
			for i := range 50 {
				_, err := store.Update(rmw.WithOperation(t.Context(), strconv.Itoa(i)), rmw.Key{Name: fmt.Sprint("k", g)}, set("x"))
				assert.NoError(t, err)
				_, err = registry.Gather()
				assert.NoError(t, err)
			}
		})
	}
	all.Wait()
	assert.Contains(t, nonzero(exposition(t, registry)), `unwatch_update_attempts_count{operation="other",path="memory"}`)
}

// still is a Store that allocates nothing.
type still struct{ rmw.Store }

func (still) Update(context.Context, rmw.Key, rmw.UpdateFunc) (rmw.Result, error) {
	return rmw.Result{Attempts: 1}, nil
}

func (still) Transact(context.Context, []rmw.Key, rmw.TxFunc) (rmw.TxResult, error) {
	return rmw.TxResult{Attempts: 1}, nil
}

func (still) Read(context.Context, rmw.Key) (rmw.Value, error) { return rmw.Value{}, nil }

// Neither the middleware nor the Observer adds an allocation to a call that succeeds.
func TestNothingIsAllocated(t *testing.T) {
	m, _ := newMetrics(t, promunwatch.Config{})
	ctx, key := rmw.WithOperation(t.Context(), "join"), rmw.Key{Name: "k", Label: "room"}
	fn := set("x")
	least := func(call func()) float64 {
		least := math.Inf(1)
		for range 3 {
			least = min(least, testing.AllocsPerRun(100, call))
		}
		return least
	}
	store, observer := m.Updates("still")(still{}), m.Locks("s")
	assert.Zero(t, least(func() {
		_, _ = store.Update(ctx, key, fn)
		_, _ = store.Read(ctx, key)
	}))
	keys := []rmw.Key{key, key}
	assert.Zero(t, least(func() { _, _ = rmw.Transact(ctx, store, nil, keys...) }))
	assert.Zero(t, least(func() {
		for _, kind := range []lock.EventKind{lock.EventAcquired, lock.EventWaiting, lock.EventWaitEnded, lock.EventReleased} {
			observer(ctx, lock.Event{Kind: kind})
		}
	}))
}
