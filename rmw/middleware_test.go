package rmw_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// tagged is a Store that notes when a call passes it.
type tagged struct {
	rmw.Store
	name string
	log  *[]string
}

func (s tagged) Unwrap() rmw.Store { return s.Store }

func (s tagged) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	*s.log = append(*s.log, s.name+" begins")
	defer func() { *s.log = append(*s.log, s.name+" ends") }()
	return s.Store.Update(ctx, key, fn)
}

func tag(name string, log *[]string) rmw.Middleware {
	return func(next rmw.Store) rmw.Store { return tagged{next, name, log} }
}

// closable is a Store with one more ability.
type closable struct {
	tagged
	closed *bool
}

func (s closable) Close() error { *s.closed = true; return nil }

// opaque is a middleware whose author forgot Unwrap.
type opaque struct{ rmw.Store }

func TestChainFirstIsOutermost(t *testing.T) {
	var log []string
	store := rmw.Chain(rmwtest.NewMemory(), tag("first", &log), tag("second", &log), tag("third", &log))
	_, err := store.Update(t.Context(), rmw.Key{Name: "k"}, func(context.Context, rmw.Value) (rmw.Value, error) {
		log = append(log, "fn")
		return rmw.String("x"), nil
	})
	require.NoError(t, err)
	assert.Equal(t, []string{
		"first begins", "second begins", "third begins", "fn", "third ends", "second ends", "first ends",
	}, log)
}

func TestAsFindsTheOutermost(t *testing.T) {
	m := rmwtest.NewMemory()
	var log []string
	closed := false
	store := rmw.Chain(closable{tagged{m, "closable", &log}, &closed},
		rmw.Observe(func(context.Context, rmw.Event) {}), tag("outer", &log), tag("inner", &log))

	found, ok := rmw.As[tagged](store)
	require.True(t, ok)
	assert.Equal(t, "outer", found.name)
	memory, ok := rmw.As[*rmwtest.Memory](store)
	require.True(t, ok, "sees through Observe, too")
	assert.Same(t, m, memory)

	c, ok := rmw.As[io.Closer](store)
	require.True(t, ok, "an interface")
	require.NoError(t, c.Close())
	assert.True(t, closed)
	_, ok = rmw.As[fmt.Stringer](store)
	assert.False(t, ok)
	_, ok = rmw.As[rmw.Store](store)
	assert.True(t, ok)
}

func TestAsEndsWhereItCannotSeeThrough(t *testing.T) {
	for name, store := range map[string]rmw.Store{
		"nil":           nil,
		"not unwrapper": opaque{rmwtest.NewMemory()},
		"unwraps nil":   tagged{name: "around nothing"},
	} {
		m, ok := rmw.As[*rmwtest.Memory](store)
		assert.False(t, ok, name)
		assert.Nil(t, m, name)
	}
}

var errFull = errors.New("the room is full")

type ctxKey struct{}

// watched returns a Store and the events it has told of, each with the caller's ctx.
func watched(t *testing.T) (rmw.Store, *[]rmw.Event) {
	var events []rmw.Event
	return rmw.Chain(rmwtest.NewMemory(), rmw.Observe(func(ctx context.Context, e rmw.Event) {
		assert.Equal(t, "mine", ctx.Value(ctxKey{}))
		events = append(events, e)
	})), &events
}

func TestObserveTellsOfEveryCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, events := watched(t)
		key := rmw.Key{Name: "k", Label: "room"}
		ctx := context.WithValue(t.Context(), ctxKey{}, "mine")

		res, err := store.Update(ctx, key, func(context.Context, rmw.Value) (rmw.Value, error) {
			time.Sleep(3 * time.Second)
			return rmw.String("x"), nil
		})
		require.NoError(t, err)
		v, err := store.Read(ctx, key)
		require.NoError(t, err)
		_, err = store.Update(ctx, key, func(context.Context, rmw.Value) (rmw.Value, error) { return rmw.Value{}, errFull })
		require.Equal(t, errFull, err, "the result passes through as it is")

		assert.Equal(t, []rmw.Event{
			{Op: rmw.OpUpdate, Key: key, Result: res, Elapsed: 3 * time.Second},
			{Op: rmw.OpRead, Key: key, Result: rmw.Result{After: v}},
			{Op: rmw.OpUpdate, Key: key, Result: rmw.Result{Attempts: 1}, Err: errFull},
		}, *events)
	})
}

func TestObserveLetsPanicsPass(t *testing.T) {
	store, events := watched(t)
	assert.PanicsWithValue(t, "boom", func() {
		_, _ = store.Update(t.Context(), rmw.Key{Name: "k"}, func(context.Context, rmw.Value) (rmw.Value, error) { panic("boom") })
	})
	assert.Empty(t, *events)
}

// logTo returns a Log, and the records that it has written.
func logTo(t *testing.T, level slog.Level) (rmw.Middleware, func() []map[string]any) {
	var out bytes.Buffer
	return rmw.Log(slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: level}))), func() []map[string]any {
		records := []map[string]any{}
		for line := range bytes.Lines(out.Bytes()) {
			var record map[string]any
			require.NoError(t, json.Unmarshal(line, &record))
			assert.Contains(t, record, "took")
			delete(record, "took")
			delete(record, "time")
			records = append(records, record)
		}
		return records
	}
}

func TestLogShowsKeySizeAndCountsNeverContent(t *testing.T) {
	want := []map[string]any{
		{
			"level": "DEBUG", "msg": "rmw update", "key": "room:7", "label": "room", "operation": "join", "after": "string(13 bytes)",
			"outcome": "written", "written": true, "attempts": 1.0, "waited": 0.0,
		},
		{"level": "DEBUG", "msg": "rmw read", "key": "room:7", "after": "string(13 bytes)"},
		{"level": "WARN", "msg": "rmw read", "key": "room:7", "err": `memory: read "room:7": wrong kind of value`},
	}
	for level, skipped := range map[slog.Level]int{slog.LevelDebug: 0, slog.LevelWarn: 2, slog.LevelError: 3} {
		log, records := logTo(t, level)
		store := rmw.Chain(rmwtest.NewMemory(), log)
		_, err := store.Update(rmw.WithOperation(t.Context(), "join"), rmw.Key{Name: "room:7", Label: "room"},
			func(context.Context, rmw.Value) (rmw.Value, error) { return rmw.String(private), nil })
		require.NoError(t, err)
		_, err = store.Read(t.Context(), rmw.Key{Name: "room:7"})
		require.NoError(t, err)
		_, err = store.Read(t.Context(), rmw.Key{Name: "room:7", Kind: rmw.KindHash})
		require.ErrorIs(t, err, rmw.ErrWrongKind)
		assert.Equal(t, want[skipped:], records())
		assertHidden(t, fmt.Sprint(records()), "Log")
	}
}

// unclear is a Store whose commits have lost replies.
type unclear struct{ rmw.Store }

func (unclear) Update(context.Context, rmw.Key, rmw.UpdateFunc) (rmw.Result, error) {
	return rmw.Result{Attempts: 1}, fmt.Errorf("as an inner update: %w", &rmw.Error{Reason: rmw.ErrOutcomeUnknown})
}

// An answer of fn is no failure of the Store. Whether an update with an unknown outcome wrote is not known.
func TestLogTellsAnswersFromFailures(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		level, outcome string
		ctx            context.Context
		store          rmw.Store
		err            error
	}{
		{"DEBUG", "written", t.Context(), rmwtest.NewMemory(), nil},
		{"DEBUG", "kept", t.Context(), rmwtest.NewMemory(), rmw.Keep},
		{"INFO", "refused", t.Context(), rmwtest.NewMemory(), errFull},
		{"WARN", "failed", ended, rmwtest.NewMemory(), nil},
		{"WARN", "unknown", t.Context(), unclear{}, nil},
	} {
		log, records := logTo(t, slog.LevelDebug)
		texts := rmw.NewTyped(rmw.Chain(c.store, log), rmw.Text[string]())
		_, _, _ = texts.Edit(c.ctx, rmw.Key{Name: "k"}, func(_ context.Context, text *string, _ bool) error {
			*text = "x"
			return c.err
		})
		record := records()[0]
		assert.Equal(t, c.level, record["level"], c.outcome)
		assert.Equal(t, c.outcome, record["outcome"])
		_, written := record["written"]
		assert.Equal(t, c.outcome != "unknown", written)
	}
}

func TestEventString(t *testing.T) {
	key := rmw.Key{Name: "room:7", Label: "room"}
	for want, e := range map[string]rmw.Event{
		`rmw read "room:7" label="room" took=1ms`: {
			Op: rmw.OpRead, Key: key, Result: rmw.Result{After: rmw.String(private)}, Elapsed: time.Millisecond,
		},
		`rmw update "room:7" label="room" outcome=written attempts=2 waited=3ms took=5ms`: {
			Op: rmw.OpUpdate, Key: key, Elapsed: 5 * time.Millisecond,
			Result: rmw.Result{After: rmw.String(private), Written: true, Attempts: 2, Waited: 3 * time.Millisecond},
		},
		`rmw update "a\nb" outcome=refused err="full\nroom"`: {
			Op: rmw.OpUpdate, Key: rmw.Key{Name: "a\nb"}, Err: errors.New("full\nroom"),
		},
	} {
		assert.Equal(t, want, e.String())
	}
}

func TestOperationOf(t *testing.T) {
	assert.Empty(t, rmw.OperationOf(t.Context()))
	join := rmw.WithOperation(t.Context(), "join")
	assert.Equal(t, "join", rmw.OperationOf(join))
	assert.Equal(t, "leave", rmw.OperationOf(rmw.WithOperation(join, "leave")), "the innermost one counts")
}
