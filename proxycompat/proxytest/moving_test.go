package proxytest_test

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// moveAway starts the migration of the slot of k to the other of two backends.
func moveAway(t *testing.T, p *proxytest.Proxy, method proxytest.Method) *proxytest.Move {
	t.Helper()
	slot, ok := p.Slot("k")
	require.True(t, ok)
	m, err := p.MoveSlot(slot, 1-p.BackendOf("k"), method)
	require.NoError(t, err)
	return m
}

// Steps and Finish wait for a step in progress, and so does a write to its key, but no other.
func TestStepsOverlap(t *testing.T) {
	const took = 50 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		p, rdb := start(t, proxytest.Config{InMemory: true, Engines: 2})
		require.NoError(t, rdb.MSet(background, "k", "v", "{k}2", "v").Err())
		m := moveAway(t, p, proxytest.SemiAsync)
		began := time.Now()
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				more, err := m.Step(took)
				assert.NoError(t, err)
				assert.True(t, more)
			})
		}
		synctest.Wait()
		for _, key := range []string{"k", "{k}2"} { // one of them is in transfer
			wg.Go(func() { assert.NoError(t, rdb.Set(background, key, "w", 0).Err()) })
		}
		wg.Wait()
		assert.Equal(t, 2*took, time.Since(began))
		more, err := m.Step(took)
		require.NoError(t, err)
		assert.False(t, more)
		require.NoError(t, m.Finish())
		assert.Equal(t, []any{"w", "w"}, rdb.MGet(background, "k", "{k}2").Val())
	})
}

// A step in progress at the end does not move the key after the slot has returned.
func TestStepEndsBeforeFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, rdb := start(t, proxytest.Config{InMemory: true, Engines: 2})
		require.NoError(t, rdb.Set(background, "k", "v", 0).Err())
		m := moveAway(t, p, proxytest.SemiAsync)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				_, err := m.Step(50 * time.Millisecond)
				assert.NoError(t, err)
			})
		}
		synctest.Wait()
		require.NoError(t, m.Finish())
		back := moveAway(t, p, proxytest.SemiAsync)
		require.NoError(t, m.Finish(), "a second time, which ends nobody else's")
		slot, _ := p.Slot("k")
		_, err := p.MoveSlot(slot, 1-p.BackendOf("k"), proxytest.Sync)
		require.ErrorContains(t, err, "being moved already")
		require.NoError(t, back.Finish())
		wg.Wait()
		more, err := m.Step(0)
		require.NoError(t, err)
		assert.False(t, more)
		assert.Equal(t, "v", rdb.Get(background, "k").Val())
	})
}

// The keys of a slot move in all databases, and keep their database.
func TestMoveSlotDatabases(t *testing.T) {
	for _, method := range []proxytest.Method{proxytest.Sync, proxytest.SemiAsync} {
		p, rdb := start(t, proxytest.Config{InMemory: true, Engines: 2})
		opt := p.Options()
		opt.DB = 1
		one := redis.NewClient(opt)
		defer one.Close()
		require.NoError(t, one.MSet(background, "k", "v", "{k}2", "v").Err())
		require.NoError(t, rdb.Set(background, "k", "other", 0).Err())
		m := moveAway(t, p, method)
		for range 2 {
			assert.Equal(t, "v", one.Get(background, "k").Val(), "while and after the slot moves")
			assert.Equal(t, "v", one.Get(background, "{k}2").Val())
			assert.Equal(t, "other", rdb.Get(background, "k").Val())
			require.NoError(t, m.Finish())
		}
	}
}

// lateConn is a connection on which PTTL is slow.
type lateConn struct {
	net.Conn
	before func()
}

func (c lateConn) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("PTTL")) {
		c.before()
	}
	return c.Conn.Write(b)
}

// A key that expires during its transfer does not stay for ever.
func TestMoveSlotExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engines := map[string]*miniredis.Miniredis{}
		for _, name := range []string{"a", "b"} {
			engines[name] = miniredis.NewMiniRedis()
			engines[name].ClockTTL(true)
			defer engines[name].Close()
		}
		p, rdb := start(t, proxytest.Config{InMemory: true, Backends: []string{"a", "b"},
			Dial: func(_ context.Context, _, addr string) (net.Conn, error) {
				conn, err := engines[addr].Dial()
				return lateConn{conn, func() { time.Sleep(60 * time.Millisecond) }}, err
			}})
		require.NoError(t, rdb.Set(background, "k", "lock", 50*time.Millisecond).Err())
		require.NoError(t, moveAway(t, p, proxytest.Sync).Finish())
		require.ErrorIs(t, rdb.Get(background, "k").Err(), redis.Nil)
	})
}

// goneConn is a connection on which a key without an expiry has just expired.
type goneConn struct{ net.Conn }

func (c goneConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	copy(b, bytes.ReplaceAll(b[:n], []byte(":-1\r\n"), []byte(":-2\r\n")))
	return n, err
}

// A key that expires between two replies of its copy is not copied.
func TestMoveSlotExpiredLast(t *testing.T) {
	engines := map[string]*miniredis.Miniredis{"a": miniredis.NewMiniRedis(), "b": miniredis.NewMiniRedis()}
	for _, engine := range engines {
		defer engine.Close()
	}
	p, rdb := start(t, proxytest.Config{InMemory: true, Backends: []string{"a", "b"},
		Dial: func(_ context.Context, _, addr string) (net.Conn, error) {
			conn, err := engines[addr].Dial()
			return goneConn{conn}, err
		}})
	require.NoError(t, rdb.Set(background, "k", "v", 0).Err())
	require.NoError(t, moveAway(t, p, proxytest.Sync).Finish())
	require.ErrorIs(t, rdb.Get(background, "k").Err(), redis.Nil)
}
