package rmw

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/unwatch/unwatch/internal/eventtext"
)

// Op says which call an [Event] tells of.
type Op string

// The operations of a Store.
const (
	OpRead     Op = "read"
	OpUpdate   Op = "update"
	OpTransact Op = "transact"
)

// Event tells of one finished call.
type Event struct {
	Op      Op
	Key     Key
	Result  Result   // of an update; for a read, After is the value
	Keys    []Key    // of a transact, as the caller named them; Key is the first
	Tx      TxResult // of a transact
	Err     error
	Elapsed time.Duration // of the whole call, fn and waiting included
}

// String returns the event in one line, for logs. It has no content of a value, unless an error of fn
// quotes it.
func (e Event) String() string {
	if e.Op == OpRead {
		return eventtext.Line("rmw read", e.Key.Name, e.Key.Label, e.Err, "took", e.Elapsed)
	}
	if e.Op == OpTransact {
		return eventtext.Line("rmw transact", e.Key.Name, e.Key.Label, e.Err, "keys", len(e.Keys),
			"outcome", e.outcome(), "attempts", e.Tx.Attempts, "waited", e.Tx.Waited, "took", e.Elapsed)
	}
	return eventtext.Line("rmw "+string(e.Op), e.Key.Name, e.Key.Label, e.Err,
		"outcome", e.outcome(), "attempts", e.Result.Attempts, "waited", e.Result.Waited, "took", e.Elapsed)
}

// Observe calls f after every call, on the caller's goroutine, with the caller's
// ctx. f must be quick and safe for concurrent use. A call that fn left by a
// panic is not reported.
func Observe(f func(context.Context, Event)) Middleware {
	return func(next Store) Store { return &observer{next: next, f: f} }
}

type observer struct {
	next Store
	f    func(context.Context, Event)
}

func (o *observer) Unwrap() Store { return o.next }

func (o *observer) Read(ctx context.Context, key Key) (Value, error) {
	start := time.Now()
	v, err := o.next.Read(ctx, key)
	o.f(ctx, Event{Op: OpRead, Key: key, Result: Result{After: v}, Err: err, Elapsed: time.Since(start)})
	return v, err
}

func (o *observer) Update(ctx context.Context, key Key, fn UpdateFunc) (Result, error) {
	start := time.Now()
	res, err := o.next.Update(ctx, key, fn)
	o.f(ctx, Event{Op: OpUpdate, Key: key, Result: res, Err: err, Elapsed: time.Since(start)})
	return res, err
}

// Transact implements [Transactor] if a Store below does.
func (o *observer) Transact(ctx context.Context, keys []Key, fn TxFunc) (TxResult, error) {
	start := time.Now()
	res, err := Transact(ctx, o.next, fn, keys...)
	e := Event{Op: OpTransact, Keys: keys, Tx: res, Err: err, Elapsed: time.Since(start)}
	if len(keys) > 0 {
		e.Key = keys[0]
	}
	o.f(ctx, e)
	return res, err
}

// outcome says in a word how an update ended.
func (e Event) outcome() string {
	_, failed := errors.AsType[*Error](e.Err)
	switch {
	case errors.Is(e.Err, ErrOutcomeUnknown):
		return "unknown"
	case failed:
		return "failed"
	case e.Err != nil:
		return "refused"
	case e.Result.Written, e.Tx.Written():
		return "written"
	}
	return "kept"
}

// Log writes one record per call to logger. The attribute outcome of an update is "written",
// "kept" (fn wants nothing written), "refused" (fn returned an error of its own), "unknown"
// (the error is an [ErrOutcomeUnknown]; there is no attribute written) or "failed" (there is
// another [*Error] in the error). The level is Warn if the Store failed or the outcome is
// unknown, Info if fn refused, else Debug. Log shows key names, sizes and counts, and never a value, unless an
// error of fn itself quotes one.
func Log(logger *slog.Logger) Middleware {
	return Observe(func(ctx context.Context, e Event) {
		outcome := e.outcome()
		level := slog.LevelDebug
		switch outcome {
		case "failed", "unknown":
			level = slog.LevelWarn
		case "refused":
			level = slog.LevelInfo
		}
		if !logger.Enabled(ctx, level) {
			return
		}
		attrs := []slog.Attr{
			slog.String("key", e.Key.Name),
			slog.Duration("took", e.Elapsed),
		}
		switch {
		case e.Op == OpTransact:
			attrs = append(attrs, slog.Int("keys", len(e.Keys)))
		case e.Err == nil:
			attrs = append(attrs, slog.Any("after", e.Result.After))
		}
		if e.Key.Label != "" {
			attrs = append(attrs, slog.String("label", e.Key.Label))
		}
		if operation := OperationOf(ctx); operation != "" {
			attrs = append(attrs, slog.String("operation", operation))
		}
		if e.Op != OpRead {
			attrs = append(attrs, slog.String("outcome", outcome))
			if outcome != "unknown" {
				attrs = append(attrs, slog.Bool("written", e.Result.Written || e.Tx.Written()))
			}
			attrs = append(attrs,
				slog.Int("attempts", e.Result.Attempts+e.Tx.Attempts),
				slog.Duration("waited", e.Result.Waited+e.Tx.Waited))
		}
		if e.Err != nil {
			attrs = append(attrs, slog.Any("err", e.Err))
		}
		logger.LogAttrs(ctx, level, "rmw "+string(e.Op), attrs...)
	})
}
