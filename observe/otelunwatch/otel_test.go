package otelunwatch_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/unwatch/unwatch/internal/observe"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/observe/otelunwatch"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// sdk is an OpenTelemetry SDK in memory.
type sdk struct {
	t      *testing.T
	reader *sdkmetric.ManualReader
	spans  *tracetest.InMemoryExporter
	cfg    otelunwatch.Config
}

func newSDK(t *testing.T) *sdk {
	s := &sdk{t: t, reader: sdkmetric.NewManualReader(), spans: tracetest.NewInMemoryExporter()}
	s.cfg.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(s.reader))
	s.cfg.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSyncer(s.spans))
	return s
}

func (s *sdk) telemetry() *otelunwatch.Telemetry {
	t, err := otelunwatch.New(s.cfg)
	require.NoError(s.t, err)
	return t
}

func text(set []attribute.KeyValue) string {
	var words []string
	for _, kv := range set {
		words = append(words, fmt.Sprintf("%s=%v", kv.Key, kv.Value.String()))
	}
	slices.Sort(words)
	return "{" + strings.Join(words, " ") + "}"
}

// metrics returns all series, as "name{attributes} value", or "count sum" of a histogram.
func (s *sdk) metrics() []string {
	var all metricdata.ResourceMetrics
	require.NoError(s.t, s.reader.Collect(context.Background(), &all))
	bounds := map[string][]float64{}
	for _, m := range observe.Metrics() {
		bounds[m.Name] = m.Buckets
	}
	var lines []string
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			add := func(set attribute.Set, format string, values ...any) {
				lines = append(lines, strings.TrimPrefix(m.Name, "unwatch.")+text(set.ToSlice())+" "+fmt.Sprintf(format, values...))
			}
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					assert.Equal(s.t, bounds[m.Name], p.Bounds)
					add(p.Attributes, "%d %v", p.Count, p.Sum)
				}
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, "%d", p.Value)
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, "%d", p.Value)
				}
			default:
				s.t.Errorf("%s is a %T", m.Name, data)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// ended returns the spans since the last call, as "name{attributes} duration status".
func (s *sdk) ended() (lines []string, spans tracetest.SpanStubs) {
	spans = s.spans.GetSpans()
	for _, span := range spans {
		lines = append(lines, fmt.Sprintf("%s%s %v %s %s", span.Name, text(span.Attributes),
			span.EndTime.Sub(span.StartTime), span.Status.Code, span.Status.Description))
	}
	s.spans.Reset()
	return lines, spans
}

// newStore returns a Store behind an in-memory proxy.
func newStore(t *testing.T, cfg lockupdate.Config) *lockupdate.Store {
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
	return store
}

func set(text string) rmw.UpdateFunc {
	return func(context.Context, rmw.Value) (rmw.Value, error) { return rmw.String(text), nil }
}

// A whole run on fake time: metrics and spans, with no name of a key or of a lock.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSDK(t)
		telemetry := s.telemetry()
		locks := newStore(t, lockupdate.Config{Observer: telemetry.Locks("redis")})
		require.NoError(t, telemetry.Stats("lockupdate", locks))
		store := rmw.Chain(locks, telemetry.Updates("lockupdate"))
		key := rmw.Key{Name: "secret", Label: "room"}
		ctx := rmw.WithOperation(t.Context(), "join")

		held, err := locks.Lock(t.Context(), key.Name)
		require.NoError(t, err)
		time.AfterFunc(3*time.Second, func() { assert.NoError(t, held.Unlock()) })
		_, err = store.Update(ctx, key, set("x"))
		require.NoError(t, err)
		synctest.Wait()
		refused := errors.New("refused")
		_, err = store.Update(ctx, key, func(context.Context, rmw.Value) (rmw.Value, error) {
			time.Sleep(time.Second)
			return rmw.Value{}, refused
		})
		require.Same(t, refused, err)
		synctest.Wait()
		_, err = store.Read(t.Context(), key)
		require.NoError(t, err)

		lines, spans := s.ended()
		assert.Equal(t, []string{ // the second update does not wait
			"wait_for lock{unwatch.lock.backend=redis unwatch.operation=room/join} 3s Unset ",
			"unwatch.update room/join{unwatch.operation=room/join unwatch.path=lockupdate unwatch.update.attempts=1 " +
				"unwatch.update.wait=3} 3s Unset ",
			"unwatch.update room/join{error.type=fn unwatch.operation=room/join unwatch.path=lockupdate unwatch.update.attempts=1 " +
				"unwatch.update.wait=0} 1s Unset ",
		}, lines)
		require.Len(t, spans, 3)
		assert.Equal(t, spans[1].SpanContext.SpanID(), spans[0].Parent.SpanID())
		assert.Equal(t, []string{
			"commit.conflicts{path=lockupdate} 0",
			"lock.hold{backend=redis operation=room/join} 2 1",
			"lock.hold{backend=redis} 1 3",
			"lock.polls{path=lockupdate} 0",
			"lock.renewals{outcome=failed path=lockupdate} 0",
			"lock.renewals{outcome=renewed path=lockupdate} 1",
			"lock.waiters{backend=redis} 0",
			"lock.wait{backend=redis operation=room/join} 2 3",
			"lock.wait{backend=redis} 1 0",
			"locks.held{backend=redis} 0",
			"locks.lost{backend=redis reason=expired} 0",
			"locks.lost{backend=redis reason=max_hold} 0",
			"locks.lost{backend=redis reason=other} 0",
			"locks.lost{backend=redis reason=session} 0",
			"locks.lost{backend=redis reason=taken} 0",
			"read.duration{operation=room path=lockupdate} 1 0",
			"store.circuit_open{path=lockupdate} 0",
			"update.attempts{operation=room/join path=lockupdate} 2 2",
			"update.duration{error.type=fn operation=room/join path=lockupdate} 1 1",
			"update.duration{operation=room/join path=lockupdate} 1 3",
			"update.wait{operation=room/join path=lockupdate} 2 3",
			"updates.combined{path=lockupdate} 0",
			"updates.unknown{path=lockupdate} 0",
		}, s.metrics())
	})
}

// The status of a span is that of the Store, and its text names no key unless asked for.
func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSDK(t)
		store := s.telemetry().Updates("m")(rmwtest.NewMemory())
		_, err := store.Update(t.Context(), rmw.Key{Name: "secret", Kind: 9}, set("x"))
		require.ErrorIs(t, err, rmw.ErrInvalid)
		assert.Panics(t, func() {
			_, _ = store.Update(t.Context(), rmw.Key{Name: "secret"}, func(context.Context, rmw.Value) (rmw.Value, error) {
				panic("secret")
			})
		})
		lines, spans := s.ended()
		const common = "unwatch.path=m unwatch.update.attempts=0 unwatch.update.wait=0} 0s Error "
		assert.Equal(t, []string{
			"unwatch.update{error.type=invalid " + common + "invalid", "unwatch.update{error.type=panic " + common + "panic",
		}, lines)
		assert.NotContains(t, fmt.Sprintf("%+v", spans), "secret")

		s.cfg.Keys = true
		telemetry := s.telemetry()
		locks := newStore(t, lockupdate.Config{Observer: telemetry.Locks("redis")})
		held, err := locks.Lock(t.Context(), "k\xff")
		require.NoError(t, err)
		time.AfterFunc(time.Second, func() { assert.NoError(t, held.Unlock()) })
		_, err = telemetry.Updates("m")(locks).Update(t.Context(), rmw.Key{Name: "k\xff"}, set("x"))
		require.NoError(t, err)
		lines, _ = s.ended()
		require.Len(t, lines, 2)
		assert.Contains(t, lines[0], "unwatch.lock.name=k\uFFFD")
		assert.Contains(t, lines[1], "unwatch.key=k\uFFFD")
	})
}

// The span of a wait belongs to a trace, and an uncontended lock has no wait.
func TestNoSpanWithoutATraceOrAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSDK(t)
		locks := newStore(t, lockupdate.Config{Observer: s.telemetry().Locks("redis")})
		caller, span := s.cfg.TracerProvider.Tracer("test").Start(t.Context(), "caller")
		defer span.End()
		section := func(ctx context.Context, took time.Duration) {
			assert.NoError(t, locks.WithLock(ctx, "a", func(context.Context) error {
				time.Sleep(took)
				return nil
			}))
		}
		section(caller, time.Second)
		synctest.Wait()
		var waiting sync.WaitGroup
		waiting.Go(func() { section(t.Context(), time.Second) })
		waiting.Go(func() { section(t.Context(), time.Second) })
		waiting.Wait()
		lines, _ := s.ended()
		assert.Empty(t, lines)
	})
}

func TestRefusedLockIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSDK(t)
		locks := newStore(t, lockupdate.Config{Observer: s.telemetry().Locks("redis"), MaxWait: 2 * time.Second})
		ctx, span := s.cfg.TracerProvider.Tracer("test").Start(t.Context(), "caller")
		require.NoError(t, locks.WithLock(t.Context(), "a", func(context.Context) error {
			require.ErrorIs(t, locks.WithLock(ctx, "a", func(context.Context) error { return nil }), rmw.ErrContended)
			return nil
		}))
		lines, _ := s.ended()
		assert.Equal(t, []string{"wait_for lock{error.type=contended unwatch.lock.backend=redis} 2s Error contended"}, lines)
		span.End()
	})
}

// 10,000 operations do not grow the metrics, whether one middleware and Observer sees them or many.
func TestOperationsAreBounded(t *testing.T) {
	s := newSDK(t)
	s.cfg.Operations = []string{"last"}
	telemetry := s.telemetry()
	call := func(name string) {
		ctx := rmw.WithOperation(t.Context(), name)
		_, err := telemetry.Updates("m")(rmwtest.NewMemory()).Update(ctx, rmw.Key{Name: "k"}, set("x"))
		require.NoError(t, err)
		telemetry.Locks("s")(ctx, lock.Event{Kind: lock.EventAcquired})
	}
	for i := range 10_000 {
		call(strconv.Itoa(i))
		if i%1000 == 0 {
			s.spans.Reset()
		}
	}
	call("last")
	lines := s.metrics()
	for metric, scope := range map[string]string{"update.attempts": "path=m", "lock.wait": "backend=s"} {
		n := 0
		for _, line := range lines {
			if strings.HasPrefix(line, metric+"{") {
				n++
			}
		}
		assert.Equal(t, 33, n, "32 and the others")
		prefix := metric
		if metric == "lock.wait" {
			assert.Contains(t, lines, prefix+"{backend=s operation=other} 9969 0")
			continue
		}
		assert.Contains(t, lines, prefix+"{operation=other "+scope+"} 9969 9969")
		assert.Contains(t, lines, prefix+"{operation=last "+scope+"} 1 1")
	}
}

func TestCombinedCommitsAreMeasured(t *testing.T) {
	s := newSDK(t)
	tell := s.telemetry().Events("lockupdate")
	tell(lockupdate.Event{Kind: lockupdate.EventCombined, N: 64})
	tell(lockupdate.Event{Kind: lockupdate.EventRenewed, N: 3})
	assert.Equal(t, []string{"commit.updates{path=lockupdate} 1 64"}, s.metrics())
}

// polled is a Store with fixed Stats.
type polled lockupdate.Stats

func (p polled) Stats() lockupdate.Stats { return lockupdate.Stats(p) }

// A path has the Stats of one Store, or an open circuit breaker could hide behind a closed one.
func TestStatsOfAPath(t *testing.T) {
	s := newSDK(t)
	telemetry := s.telemetry()
	require.ErrorIs(t, telemetry.Stats("p", nil), rmw.ErrInvalid)
	require.NoError(t, telemetry.Stats("p", polled{Polled: 3, CircuitOpen: true}))
	require.ErrorIs(t, telemetry.Stats("p", polled{Polled: 4}), rmw.ErrInvalid)
	assert.Contains(t, s.metrics(), "lock.polls{path=p} 3")
	assert.Contains(t, s.metrics(), "store.circuit_open{path=p} 1")
	telemetry.Unregister("p")
	assert.NotContains(t, s.metrics(), "store.circuit_open{path=p} 1")
	require.NoError(t, telemetry.Stats("p", polled{Polled: 4}))
	assert.Contains(t, s.metrics(), "lock.polls{path=p} 4")
}

// Instruments of other libraries with our names, and a second Telemetry, change nothing in what is measured.
func TestNamesAreTaken(t *testing.T) {
	s := newSDK(t)
	theirs, err := s.cfg.MeterProvider.Meter("theirs").Int64Counter("unwatch.lock.wait")
	require.NoError(t, err)
	theirs.Add(t.Context(), 7)
	s.telemetry().Locks("a")(t.Context(), lock.Event{Kind: lock.EventAcquired, Took: time.Second})
	s.telemetry().Locks("b")(t.Context(), lock.Event{Kind: lock.EventAcquired, Took: 2 * time.Second})
	for _, line := range []string{"lock.wait{} 7", "lock.wait{backend=a} 1 1", "lock.wait{backend=b} 1 2"} {
		assert.Contains(t, s.metrics(), line)
	}
}

// refuses is a Meter that refuses one instrument.
type refuses struct{ metric.Meter }

func (refuses) Int64Counter(string, ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return nil, errors.New("refused")
}

type refusing struct{ metric.MeterProvider }

func (p refusing) Meter(name string, opts ...metric.MeterOption) metric.Meter {
	return refuses{p.MeterProvider.Meter(name, opts...)}
}

func TestNewReturnsTheErrorOfTheMeter(t *testing.T) {
	s := newSDK(t)
	s.cfg.MeterProvider = refusing{s.cfg.MeterProvider}
	_, err := otelunwatch.New(s.cfg)
	require.EqualError(t, err, "otelunwatch: instrument unwatch.updates.unknown: refused")
}

// still is a Store that allocates nothing.
type still struct{ rmw.Store }

func (still) Update(context.Context, rmw.Key, rmw.UpdateFunc) (rmw.Result, error) {
	return rmw.Result{Attempts: 1}, nil
}

// docs/observe.md has these numbers: of an Update, and of a lock that it takes without a wait, while its span is
// recorded or not.
func TestAllocations(t *testing.T) {
	update := func(tracer sdktrace.Sampler) float64 {
		s := newSDK(t)
		s.cfg.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSampler(tracer))
		telemetry := s.telemetry()
		store, observer := telemetry.Updates("p")(still{}), telemetry.Locks("s")
		ctx, span := s.cfg.TracerProvider.Tracer("test").Start(rmw.WithOperation(t.Context(), "join"), "caller")
		defer span.End()
		least := math.Inf(1)
		for range 3 {
			least = min(least, testing.AllocsPerRun(100, func() {
				_, _ = store.Update(ctx, rmw.Key{Name: "k", Label: "room"}, nil)
				observer(ctx, lock.Event{Kind: lock.EventAcquired})
				observer(ctx, lock.Event{Kind: lock.EventReleased})
			}))
		}
		return least
	}
	page := fmt.Sprintf("OpenTelemetry allocates %v times for an update whose span is recorded, and %v times for others",
		update(sdktrace.AlwaysSample()), update(sdktrace.NeverSample()))
	text, err := os.ReadFile("../../docs/observe.md")
	require.NoError(t, err)
	assert.True(t, strings.Contains(strings.Join(strings.Fields(string(text)), " "), page), "the page does not say: %s", page)
}
