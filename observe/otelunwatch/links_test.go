package otelunwatch_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/extra/redisotel/v9"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/observe/otelunwatch"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// 64 callers in 64 traces update 8 keys. No trace of a caller has a command of another one. A batch of several
// callers has links to all that it writes for.
func TestBatchesHaveLinks(t *testing.T) {
	assert.Empty(t, misplaced(t, func(t *otelunwatch.Telemetry) batchContext { return t.Batches("lockupdate") }))
	for control, batch := range map[string]batchContext{
		"the ctx of the first caller": func(callers []context.Context) (context.Context, func(error)) {
			return callers[0], func(error) {}
		},
		"no ctx of any caller": nil,
	} {
		assert.NotEmpty(t, misplaced(t, func(*otelunwatch.Telemetry) batchContext { return batch }), control)
	}
}

// With redisotel, the commands of an update that nobody waits for are below its span.
func TestClientSpansAreBelowTheUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSDK(t)
		proxy, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Codis32(), InMemory: true})
		require.NoError(t, err)
		rdb := redis.NewClient(proxy.Options())
		require.NoError(t, redisotel.InstrumentTracing(rdb, redisotel.WithTracerProvider(s.cfg.TracerProvider)))
		telemetry := s.telemetry()
		locks := lockupdate.New(rdb, lockupdate.Config{
			Observer: telemetry.Locks("redis"), BatchContext: telemetry.Batches("lockupdate"),
		})
		_, err = telemetry.Updates("lockupdate")(locks).Update(t.Context(), rmw.Key{Name: "k"}, set("x"))
		require.NoError(t, err)
		spans := s.spans.GetSpans()
		require.NoError(t, locks.Close())
		require.NoError(t, rdb.Close())
		require.NoError(t, proxy.Close())
		update := spans[slices.IndexFunc(spans, func(s tracetest.SpanStub) bool { return s.Name == "unwatch.update" })]
		commands := 0
		for _, span := range spans {
			if strings.HasPrefix(span.Name, "redis.pipeline") {
				commands++
				assert.Equal(t, update.SpanContext.SpanID(), span.Parent.SpanID(), span.Name)
			}
		}
		assert.GreaterOrEqual(t, commands, 2, "acquire and read, then commit")
	})
}

type batchContext = func(callers []context.Context) (context.Context, func(error))

var (
	field = regexp.MustCompile(`\b(caller\d+) x\b`)
	keys  = regexp.MustCompile(`\bkey\d\b`)
)

// misplaced returns the commands that are in the wrong trace.
func misplaced(t *testing.T, batches func(*otelunwatch.Telemetry) batchContext) (wrong []string) {
	const callers, nKeys = 64, 8
	synctest.Test(t, func(t *testing.T) {
		s := newSDK(t)
		proxy, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Codis32(), InMemory: true})
		require.NoError(t, err)
		rdb := redis.NewClient(proxy.Options())
		require.NoError(t, redisotel.InstrumentTracing(rdb,
			redisotel.WithTracerProvider(s.cfg.TracerProvider), redisotel.WithDBStatement(true)))
		telemetry := s.telemetry()
		locks := lockupdate.New(rdb, lockupdate.Config{BatchContext: batches(telemetry)})
		store := rmw.Chain(locks, telemetry.Updates("lockupdate"))
		tracer := s.cfg.TracerProvider.Tracer("test")
		callerOf, keyOf := map[trace.TraceID]string{}, map[trace.TraceID]string{}
		var updates sync.WaitGroup
		for i := range callers {
			name, key := fmt.Sprint("caller", i), fmt.Sprint("key", i%nKeys)
			ctx, span := tracer.Start(t.Context(), name)
			callerOf[span.SpanContext().TraceID()], keyOf[span.SpanContext().TraceID()] = name, key
			updates.Go(func() {
				defer span.End()
				_, err := store.Update(ctx, rmw.Key{Name: key, Kind: rmw.KindHash},
					func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur.With(name, "x"), nil })
				assert.NoError(t, err)
			})
		}
		updates.Wait()
		require.NoError(t, locks.Close())
		require.NoError(t, rdb.Close())
		require.NoError(t, proxy.Close())

		spans := s.spans.GetSpans()
		linked := map[trace.TraceID][]trace.TraceID{}
		for _, span := range spans {
			for _, link := range span.Links {
				id := span.SpanContext.TraceID()
				linked[id] = append(linked[id], link.SpanContext.TraceID())
			}
		}
		var ownedBy func(id trace.TraceID, caller string) bool
		ownedBy = func(id trace.TraceID, caller string) bool {
			return callerOf[id] == caller ||
				slices.ContainsFunc(linked[id], func(id trace.TraceID) bool { return ownedBy(id, caller) })
		}
		writtenIn := map[string]trace.TraceID{} // later commits send the fields as part of the old value
		for _, span := range spans {
			id, statement := span.SpanContext.TraceID(), text(span.Attributes)
			for _, match := range field.FindAllStringSubmatch(statement, -1) {
				caller := match[1]
				if writtenIn[caller].IsValid() && writtenIn[caller] != id {
					continue
				}
				writtenIn[caller] = id
				if !ownedBy(id, caller) {
					wrong = append(wrong, caller+": "+statement)
				}
			}
			for _, key := range keys.FindAllString(statement, -1) {
				if keyOf[id] != "" && keyOf[id] != key {
					wrong = append(wrong, keyOf[id]+": "+statement)
				}
			}
		}
		require.Len(t, writtenIn, callers)
	})
	return wrong
}
