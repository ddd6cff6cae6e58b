package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
)

// Keys move to the proxy, some go back, and all arrive. No update is lost.
func TestCutoverAct(t *testing.T) {
	t.Parallel()
	cfg := small(t, "codis", "F")
	cfg.prefix = "test:" // the same keys in every run, so the same half of them moves
	code, out, errs := played(t, context.Background(), cfg)
	require.Equal(t, exitOK, code, out+errs)
	assert.Regexp(t, `F  cut-over, there and back +300 +0 +0   kept`, out)
	for _, leg := range []string{
		`follow +[0-9]+ +0 +0 +0 +0.0 ms`, `copying 50 % +[0-9]+ +0 +[1-9]`, `reverse +[0-9]+ +0 +[1-9]`, `copying 100 % +[0-9]+ +0 +[1-9]`,
	} {
		assert.Regexp(t, leg, out)
	}
}

// forgetful is a store that acknowledges one update which it does not store.
type forgetful struct {
	rmw.Store
	forgot *atomic.Bool
}

func (s forgetful) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	if cur, err := s.Read(ctx, key); err == nil && cur.Exists() && !s.forgot.Load() {
		next, err := fn(ctx, cur)
		if err == nil && !next.Equal(cur) && s.forgot.CompareAndSwap(false, true) {
			return rmw.Result{Before: cur, After: next, Written: true, Attempts: 1}, nil
		}
	}
	return s.Store.Update(ctx, key, fn)
}

// Negative control: the act reports one lost update.
func TestCutoverThatForgets(t *testing.T) {
	t.Parallel()
	cfg, forgot := small(t, "codis", "F"), new(atomic.Bool)
	cfg.newStore = func(s rmw.Store) rmw.Store { return forgetful{s, forgot} }
	code, out, _ := played(t, context.Background(), cfg)
	assert.Equal(t, exitBroken, code)
	assert.Contains(t, out, "VERDICT: A PROMISE WAS BROKEN.")
	assert.Contains(t, out, "cutover: 1 updates lost")
	assert.Regexp(t, `F  cut-over, there and back +300 +1 +0   BROKEN`, out)
	assert.Regexp(t, `(copying [0-9]+ %|reverse) +[0-9]+ +1 +[1-9]`, out, "the leg of the lost update")
}

// A proxy in front of the legacy Redis has nothing to move.
func TestCutoverOfOneServer(t *testing.T) {
	t.Parallel()
	cfg, legacy, _ := servers(t, "codis", "F")
	cfg.proxy = legacy.Addr()
	code, out, errs := played(t, context.Background(), cfg)
	require.Equal(t, exitOK, code, out+errs)
	assert.Contains(t, unwrapped(out), "Skipped: the proxy stands in front of the legacy Redis itself")
	assert.Empty(t, legacy.Engine(0).Keys())
}

// The pause of a move ends with its first fill. A move that another one undoes counts in its leg.
func TestMovesRows(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	m := &moves{run: &run{}, legs: legs()[1:3], seen: map[string]*move{}}
	for i, f := range []move{
		{key: "a", toNew: true, sealed: at(1), filled: at(4)},
		{key: "b", toNew: true, sealed: at(2), filled: at(9)},
		{key: "a", sealed: at(20), filled: at(22), leg: 1},
		{key: "b", sealed: at(30), leg: 1}, // in transit
	} {
		m.seen[fmt.Sprint(i)] = &f
	}
	assert.Equal(t, []movesRow{
		{name: "copying 50 %", moved: 2, onNew: 2, pause: 7 * time.Millisecond},
		{name: "reverse", moved: 1, onNew: 1, pause: 2 * time.Millisecond},
	}, m.rows())
}

// The hook measures from the seal to the first fill of its reservation, in either order of replies.
func TestMoverNotes(t *testing.T) {
	t.Parallel()
	m := &moves{run: &run{}, legs: legs(), seen: map[string]*move{}}
	old, other := mover{m, false}, mover{m, true}
	began := time.Now()
	old.note([]any{"k", "seal", "1.late", "0.n"}, []any{"sealed", "1.s"}, began)
	assert.Empty(t, m.seen, "another process has sealed")
	other.note([]any{"k", "fill", "0.n"}, []any{"open", "string"}, began)
	first := m.seen["k0.n"].filled
	other.note([]any{"k", "fill", "0.n"}, []any{"open", "string"}, began)
	old.note([]any{"k", "seal", "1.s", "0.n"}, []any{"sealed", "1.s"}, began)
	require.Len(t, m.seen, 1)
	assert.Equal(t, move{key: "k", toNew: true, sealed: began, filled: first, leg: 4}, *m.seen["k0.n"])
}
