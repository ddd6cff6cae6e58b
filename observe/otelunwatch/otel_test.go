package otelunwatch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/unwatch/unwatch/internal/observe"
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
		locks := newStore(t, lockupdate.Config{Observer: otelunwatch.Locks("redis", s.cfg)})
		require.NoError(t, otelunwatch.Stats("lockupdate", locks, s.cfg))
		store := rmw.Chain(locks, otelunwatch.Middleware("lockupdate", s.cfg))
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
		assert.Equal(t, []string{ // the first update is served by the lock that its process holds
			"unwatch.update{unwatch.operation=room/join unwatch.path=lockupdate unwatch.update.attempts=1 " +
				"unwatch.update.wait.duration=3} 3s Unset ",
			"wait_for lock{unwatch.lock.backend=redis unwatch.operation=join} 0s Unset ",
			"unwatch.update{error.type=fn unwatch.operation=room/join unwatch.path=lockupdate unwatch.update.attempts=1 " +
				"unwatch.update.wait.duration=0} 1s Unset ",
		}, lines)
		require.Len(t, spans, 3)
		assert.Equal(t, spans[2].SpanContext.SpanID(), spans[1].Parent.SpanID())
		assert.Equal(t, []string{
			"commit.conflicts{unwatch.path=lockupdate} 0",
			"lock.held{unwatch.lock.backend=redis} 0",
			"lock.hold.duration{unwatch.lock.backend=redis unwatch.operation=join} 1 1",
			"lock.hold.duration{unwatch.lock.backend=redis} 1 3",
			"lock.lost{unwatch.lock.backend=redis unwatch.lock.loss=expired} 0",
			"lock.lost{unwatch.lock.backend=redis unwatch.lock.loss=max_hold} 0",
			"lock.lost{unwatch.lock.backend=redis unwatch.lock.loss=session} 0",
			"lock.lost{unwatch.lock.backend=redis unwatch.lock.loss=taken} 0",
			"lock.polls{unwatch.path=lockupdate} 0",
			"lock.renewals{unwatch.outcome=failed unwatch.path=lockupdate} 0",
			"lock.renewals{unwatch.outcome=renewed unwatch.path=lockupdate} 1",
			"lock.wait.duration{unwatch.lock.backend=redis unwatch.operation=join} 1 0",
			"lock.wait.duration{unwatch.lock.backend=redis} 1 0",
			"lock.waiting{unwatch.lock.backend=redis} 0",
			"read.duration{unwatch.operation=room unwatch.path=lockupdate} 1 0",
			"store.circuit_open{unwatch.path=lockupdate} 0",
			"update.attempts{unwatch.operation=room/join unwatch.path=lockupdate} 2 2",
			"update.combined{unwatch.path=lockupdate} 0",
			"update.duration{error.type=fn unwatch.operation=room/join unwatch.path=lockupdate} 1 1",
			"update.duration{unwatch.operation=room/join unwatch.path=lockupdate} 1 3",
			"update.unknown{unwatch.path=lockupdate} 0",
			"update.wait.duration{unwatch.operation=room/join unwatch.path=lockupdate} 2 3",
		}, s.metrics())
	})
}

// The status of a span is that of the Store, and its text names no key unless asked for.
func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSDK(t)
		store := otelunwatch.Middleware("m", s.cfg)(rmwtest.NewMemory())
		_, err := store.Update(t.Context(), rmw.Key{Name: "secret", Kind: 9}, set("x"))
		require.ErrorIs(t, err, rmw.ErrInvalid)
		assert.Panics(t, func() {
			_, _ = store.Update(t.Context(), rmw.Key{Name: "secret"}, func(context.Context, rmw.Value) (rmw.Value, error) {
				panic("secret")
			})
		})
		lines, spans := s.ended()
		const common = "unwatch.path=m unwatch.update.attempts=0 unwatch.update.wait.duration=0} 0s Error "
		assert.Equal(t, []string{
			"unwatch.update{error.type=invalid " + common + "invalid", "unwatch.update{error.type=panic " + common + "panic",
		}, lines)
		assert.NotContains(t, fmt.Sprintf("%+v", spans), "secret")

		s.cfg.Keys = true
		locks := newStore(t, lockupdate.Config{Observer: otelunwatch.Locks("redis", s.cfg)})
		_, err = otelunwatch.Middleware("m", s.cfg)(locks).Update(t.Context(), rmw.Key{Name: "k\xff"}, set("x"))
		require.NoError(t, err)
		lines, _ = s.ended()
		require.Len(t, lines, 2)
		assert.Contains(t, lines[0], "unwatch.lock.name=k\uFFFD")
		assert.Contains(t, lines[1], "unwatch.key=k\uFFFD")
	})
}

// The span of a wait belongs to a trace: a lock that is taken outside of any has no span.
func TestNoSpanOutsideOfATrace(t *testing.T) {
	s := newSDK(t)
	locks := newStore(t, lockupdate.Config{Observer: otelunwatch.Locks("redis", s.cfg)})
	require.NoError(t, locks.WithLock(t.Context(), "a", func(context.Context) error { return nil }))
	lines, _ := s.ended()
	assert.Empty(t, lines)
}

func TestRefusedLockIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSDK(t)
		locks := newStore(t, lockupdate.Config{Observer: otelunwatch.Locks("redis", s.cfg), MaxWait: 2 * time.Second})
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

// 10,000 operations do not grow the metrics.
func TestOperationsAreBounded(t *testing.T) {
	s := newSDK(t)
	s.cfg.Operations = []string{"last"}
	store := otelunwatch.Middleware("m", s.cfg)(rmwtest.NewMemory())
	update := func(name string) {
		_, err := store.Update(rmw.WithOperation(t.Context(), name), rmw.Key{Name: "k"}, set("x"))
		require.NoError(t, err)
	}
	for i := range 10_000 {
		update(strconv.Itoa(i))
		if i%1000 == 0 {
			s.spans.Reset()
		}
	}
	update("last")
	n := 0
	lines := s.metrics()
	for _, line := range lines {
		if strings.HasPrefix(line, "update.attempts{") {
			n++
		}
	}
	assert.Equal(t, 101, n, "100 and the others")
	assert.Contains(t, lines, "update.attempts{unwatch.operation=other unwatch.path=m} 9901 9901")
	assert.Contains(t, lines, "update.attempts{unwatch.operation=last unwatch.path=m} 1 1")
}

func TestCombinedCommitsAreMeasured(t *testing.T) {
	s := newSDK(t)
	tell := otelunwatch.Events("lockupdate", s.cfg)
	tell(lockupdate.Event{Kind: lockupdate.EventCombined, N: 64})
	tell(lockupdate.Event{Kind: lockupdate.EventRenewed, N: 3})
	assert.Equal(t, []string{"commit.updates{unwatch.path=lockupdate} 1 64"}, s.metrics())
}

func TestStatsNeedAStore(t *testing.T) {
	require.ErrorIs(t, otelunwatch.Stats("p", nil, otelunwatch.Config{}), rmw.ErrInvalid)
	require.ErrorIs(t, otelunwatch.Stats("p", (*lockupdate.Store)(nil), otelunwatch.Config{}), rmw.ErrInvalid)
}
