package otelunwatch

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/unwatch/unwatch/internal/observe"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

// Updates returns a middleware that measures each Update, Transact and Read, and makes each Update and Transact a span. path names
// the Store, as "lockupdate" or "cas". Errors and panics of fn pass through, and are counted as "fn" and "panic".
func (t *Telemetry) Updates(path string) rmw.Middleware {
	measure := t.recorder.Updates(path)
	return func(next rmw.Store) rmw.Store {
		return &traced{Store: measure(next), tracer: t.tracer, path: observe.Valid(path), keys: t.keys}
	}
}

// traced is outside of the metrics, so that their exemplars name the span.
type traced struct {
	rmw.Store

	tracer trace.Tracer
	path   string
	keys   bool
}

func (s *traced) Unwrap() rmw.Store { return s.Store }

func (s *traced) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (res rmw.Result, err error) {
	operation := observe.Operation(ctx, key)
	ctx, span := s.start(ctx, "unwatch.update", operation)
	reason := observe.Panic
	defer func() {
		if span.IsRecording() {
			span.SetAttributes(
				attribute.String("unwatch.path", s.path),
				attribute.Int(observe.UpdateAttempts.Name, res.Attempts),
				attribute.Float64(observe.UpdateWait.Name, res.Waited.Seconds()))
			if s.keys {
				span.SetAttributes(attribute.String("unwatch.key", observe.Valid(key.Name)))
			}
			outcome(span, operation, reason)
		}
		span.End()
	}()
	res, err = s.Store.Update(ctx, key, fn)
	reason = observe.Reason(err)
	return res, err
}

// Transact implements [rmw.Transactor] if a Store below does.
func (s *traced) Transact(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (res rmw.TxResult, err error) {
	operation := observe.Operation(ctx, observe.First(keys))
	ctx, span := s.start(ctx, "unwatch.transact", operation)
	reason := observe.Panic
	defer func() {
		if span.IsRecording() {
			span.SetAttributes(
				attribute.String("unwatch.path", s.path),
				attribute.Int(observe.TransactKeys.Name, observe.Keys(keys, res)),
				attribute.Int(observe.TransactAttempts.Name, res.Attempts),
				attribute.Float64(observe.TransactWait.Name, res.Waited.Seconds()))
			if s.keys {
				span.SetAttributes(attribute.StringSlice("unwatch.keys", names(keys, res)))
			}
			outcome(span, operation, reason)
		}
		span.End()
	}()
	res, err = rmw.Transact(ctx, s.Store, fn, keys...)
	reason = observe.Reason(err)
	return res, err
}

func (s *traced) start(ctx context.Context, name, operation string) (context.Context, trace.Span) {
	if operation != "" {
		name += " " + operation
	}
	return s.tracer.Start(ctx, name)
}

// names returns the names of the keys of a Transact; of one that failed, of those in the call.
func names(keys []rmw.Key, res rmw.TxResult) (all []string) {
	for _, c := range res.Changes {
		all = append(all, observe.Valid(c.Key.Name))
	}
	if all != nil {
		return all
	}
	for _, key := range keys {
		all = append(all, observe.Valid(key.Name))
	}
	return all
}

// outcome sets the attributes and the status that all spans have.
func outcome(span trace.Span, operation, reason string) {
	if operation != "" {
		span.SetAttributes(attribute.String("unwatch.operation", operation))
	}
	if reason != observe.OK {
		span.SetAttributes(attribute.String(string(observe.ErrorType), reason))
	}
	if reason != observe.OK && reason != observe.Fn {
		span.SetStatus(codes.Error, reason)
	}
}

// Batches returns a BatchContext for the Config of a lockupdate.Store: a commit of several updates, or
// a flush of commands of several callers, is a span "unwatch.batch" in a trace of its own, with a link
// to the span of each caller. A flush can have commits among its callers. path names the Store. Callers
// without a sampled span get no links, and a batch without links is no span.
func (t *Telemetry) Batches(path string) func([]context.Context) (context.Context, func(error)) {
	attrs := trace.WithAttributes(attribute.String("unwatch.path", observe.Valid(path)))
	return func(callers []context.Context) (context.Context, func(error)) {
		var links []trace.Link
		for _, ctx := range callers {
			if caller := trace.SpanContextFromContext(ctx); caller.IsSampled() {
				links = append(links, trace.Link{SpanContext: caller})
			}
		}
		if links == nil {
			return context.Background(), func(error) {}
		}
		ctx, span := t.tracer.Start(context.Background(), "unwatch.batch", trace.WithLinks(links...), attrs)
		return ctx, func(err error) {
			outcome(span, "", observe.Reason(err))
			span.End()
		}
	}
}

// Locks returns an Observer for the Config of a Locker: it measures locks, and makes each wait for a
// lock beyond [lock.WaitingAfter] a span. service names the lock service: "redis", "redlock", "etcd", "sql" or "zookeeper".
func (t *Telemetry) Locks(service string) lock.Observer {
	measure := t.recorder.Locks(service)
	return func(ctx context.Context, e lock.Event) {
		measure(ctx, e)
		if e.Kind != lock.EventWaitEnded || !trace.SpanContextFromContext(ctx).IsValid() {
			return
		}
		now := time.Now()
		_, span := t.tracer.Start(ctx, "wait_for lock", trace.WithTimestamp(now.Add(-e.Took)))
		span.SetAttributes(attribute.String("unwatch.lock.backend", observe.Valid(service)))
		if t.keys {
			span.SetAttributes(attribute.String("unwatch.lock.name", observe.Valid(e.Lock)))
		}
		outcome(span, observe.Operation(ctx, rmw.Key{Label: e.Label}), observe.Reason(e.Err))
		span.End(trace.WithTimestamp(now))
	}
}
