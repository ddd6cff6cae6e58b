package rmw_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

var errFull = errors.New("the room is full")

type ctxKey struct{}

// watched returns a Store and the events it has told of.
func watched() (rmw.Store, *[]rmw.Event) {
	var events []rmw.Event
	return rmw.Chain(rmwtest.NewMemory(), rmw.Observe(func(_ context.Context, e rmw.Event) { events = append(events, e) })), &events
}

func TestObserveTellsOfEveryCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, events := watched()
		key := rmw.Key{Name: "k", Label: "room"}

		res, err := store.Update(t.Context(), key, func(context.Context, rmw.Value) (rmw.Value, error) {
			time.Sleep(3 * time.Second)
			return rmw.String("x"), nil
		})
		require.NoError(t, err)
		v, err := store.Read(t.Context(), key)
		require.NoError(t, err)
		_, err = store.Update(t.Context(), key, func(context.Context, rmw.Value) (rmw.Value, error) { return rmw.Value{}, errFull })
		require.Equal(t, errFull, err, "the result passes through as it is")

		require.Len(t, *events, 3)
		assert.Equal(t, rmw.Event{Op: rmw.OpUpdate, Key: key, Result: res, Elapsed: 3 * time.Second}, (*events)[0])
		assert.Equal(t, rmw.Event{Op: rmw.OpRead, Key: key, Result: rmw.Result{After: v}}, (*events)[1])
		assert.Equal(t, rmw.Event{Op: rmw.OpUpdate, Key: key, Result: rmw.Result{Attempts: 1}, Err: errFull}, (*events)[2])
	})
}

func TestObserveGetsTheCallersCtx(t *testing.T) {
	var got any
	store := rmw.Chain(rmwtest.NewMemory(), rmw.Observe(func(ctx context.Context, _ rmw.Event) { got = ctx.Value(ctxKey{}) }))
	_, err := store.Read(context.WithValue(t.Context(), ctxKey{}, "mine"), rmw.Key{Name: "k"})
	require.NoError(t, err)
	assert.Equal(t, "mine", got)
}

func TestObserveLetsPanicsPass(t *testing.T) {
	store, events := watched()
	assert.PanicsWithValue(t, "boom", func() {
		_, _ = store.Update(t.Context(), rmw.Key{Name: "k"}, func(context.Context, rmw.Value) (rmw.Value, error) { panic("boom") })
	})
	assert.Empty(t, *events)
}

// logged runs one Update and one Read that go well and one Update that fails,
// and returns what was logged.
func logged(t *testing.T, level slog.Level) (text string, records []map[string]any) {
	t.Helper()
	var out bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: level}))
	store := rmw.Chain(rmwtest.NewMemory(), rmw.Log(logger))
	key := rmw.Key{Name: "room:7", Label: "room"}
	_, err := store.Update(rmw.WithOperation(t.Context(), "join"), key,
		func(context.Context, rmw.Value) (rmw.Value, error) { return rmw.String(private), nil })
	require.NoError(t, err)
	_, err = store.Read(t.Context(), rmw.Key{Name: "room:7"})
	require.NoError(t, err)
	_, err = store.Read(t.Context(), rmw.Key{Name: "room:7", Kind: rmw.KindHash})
	require.ErrorIs(t, err, rmw.ErrWrongKind)

	for line := range bytes.Lines(out.Bytes()) {
		var record map[string]any
		require.NoError(t, json.Unmarshal(line, &record))
		records = append(records, record)
	}
	return out.String(), records
}

func TestLogShowsKeySizeAndCountsNeverContent(t *testing.T) {
	text, records := logged(t, slog.LevelDebug)
	assertHidden(t, text, "Log")
	for _, record := range records {
		assert.Contains(t, record, "took")
		delete(record, "took")
		delete(record, "time")
	}
	assert.Equal(t, []map[string]any{
		{
			"level": "DEBUG", "msg": "rmw update", "key": "room:7", "label": "room", "operation": "join", "after": "string(13 bytes)",
			"outcome": "written", "written": true, "attempts": 1.0, "waited": 0.0,
		},
		{"level": "DEBUG", "msg": "rmw read", "key": "room:7", "after": "string(13 bytes)"},
		{"level": "WARN", "msg": "rmw read", "key": "room:7", "err": `memory: read "room:7": wrong kind of value`},
	}, records)

	_, records = logged(t, slog.LevelWarn)
	require.Len(t, records, 1)
	assert.Equal(t, "WARN", records[0]["level"])
	_, records = logged(t, slog.LevelError)
	assert.Empty(t, records)
}

// unclear is a Store whose commits have lost replies.
type unclear struct{ rmw.Store }

func (unclear) Update(context.Context, rmw.Key, rmw.UpdateFunc) (rmw.Result, error) {
	return rmw.Result{Attempts: 1}, fmt.Errorf("as an inner update: %w", &rmw.Error{Reason: rmw.ErrOutcomeUnknown})
}

// An answer of fn is no failure of the Store. Whether an update with an unknown outcome wrote is not known.
func TestLogTellsAnswersFromFailures(t *testing.T) {
	var out bytes.Buffer
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
		out.Reset()
		log := rmw.Log(slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
		texts := rmw.NewTyped(rmw.Chain(c.store, log), rmw.Text[string]())
		_, _, _ = texts.Edit(c.ctx, rmw.Key{Name: "k"}, func(_ context.Context, text *string, _ bool) error {
			*text = "x"
			return c.err
		})
		var record map[string]any
		require.NoError(t, json.Unmarshal(out.Bytes(), &record))
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
