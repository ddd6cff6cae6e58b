// Package otelunwatch exports metrics and spans of updates and locks to OpenTelemetry.
//
//	telemetry, err := otelunwatch.New(otelunwatch.Config{})
//	...
//	store := lockupdate.New(rdb, lockupdate.Config{
//		Observer:     telemetry.Locks("redis"),
//		BatchContext: telemetry.Batches("lockupdate"),
//	})
//	updates := rmw.Chain(store, telemetry.Updates("lockupdate"))
//	err = telemetry.Stats("lockupdate", store)
//
// docs/observe.md lists the metrics. An attribute is a path, a lock service, an operation, an outcome or
// the reason of an error; the name of a key or of a lock only in spans, and only with [Config.Keys]. A
// successful call has no error.type, by the semantic conventions.
//
// The operation is the Label of the Key and the name of [rmw.WithOperation], joined by a slash. A lock has
// no Key, so its operation is that name alone. [Config.MaxOperations] bounds the operations of metrics.
//
// # Spans
//
// An Update is a span "unwatch.update", around fn and all attempts; the operation follows in its name. A Transact is a span
// "unwatch.transact", with the operation of its first key and the number of its keys. Its status is Error if the Store
// failed or fn panicked. A refusal by fn is no Error; its error.type is "fn". The text of an error, which
// names a key, is in no span.
//
// A wait for a lock beyond 10 ms is a span "wait_for lock", from the call to the grant or refusal, in a trace
// of the caller only. It is recorded when it ends. With [Telemetry.Updates] its parent is the span of the
// Update. Observers run on goroutines that renew leases, so span processors must not block.
//
// A span of [Telemetry.Batches] tells which callers its commands were for. Without it, a client that traces its
// commands records those for several callers in traces that belong to no caller. Renewals and releases
// of locks are in no trace of a caller.
package otelunwatch
