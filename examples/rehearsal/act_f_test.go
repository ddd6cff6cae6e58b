package main

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

// The hook measures from the first seal to the first fill of its reservation. A move counts in its leg.
func TestMoves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMoves(&run{stream: make([]event, 100)})
		begin := func(done int64) { m.run.done.Store(done) }
		begin(30)
		m.seal("a0")
		time.Sleep(3 * time.Millisecond)
		m.seal("a0") // of another process, which comes too late
		time.Sleep(4 * time.Millisecond)
		m.fill("a0", "a", true)
		m.fill("a0", "a", true) // another process fills, too
		m.seal("a0")
		m.fill("a0", "a", true)
		m.fill("b0", "b", true) // without a seal
		m.seal("c0")
		m.fill("c0", "c", true)
		begin(50)
		m.seal("a1")
		time.Sleep(2 * time.Millisecond)
		m.fill("a1", "a", false)
		m.seal("b1") // in transit
		want := legs()
		want[1].moved, want[1].onNew, want[1].pause = 2, 2, 7*time.Millisecond
		want[2].moved, want[2].onNew, want[2].pause = 1, 1, 2*time.Millisecond
		want[3].onNew, want[4].onNew = 1, 1
		assert.Equal(t, want, m.legs)
	})
}
