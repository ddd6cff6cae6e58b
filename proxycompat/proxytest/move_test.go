package proxytest_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// The cases that were measured during a slot migration of Codis: a script increments the data, 100, if the
// lock is held.
func TestMoveSlot(t *testing.T) {
	const lock = "{n}:lock"
	for _, c := range []struct {
		data, first  string // the key of the data, and KEYS[1] of the script
		lockedBefore bool   // or during the move
		sync, semi   string // by method: the result of the script, and of GET after the move
	}{
		{"n", "lock", false, "1 100", "1 100"},
		{"n", "lock", true, "1 100", "101 101"},
		{"n", "data", true, "LOCK-NOT-HELD 100", "101 101"},
		{"{n}:data", "lock", true, "101 101", "101 101"},
		{"{n}:data", "lock", false, "101 101", "1 100"},
		{"{n}:data", "data", false, "101 101", "LOCK-NOT-HELD 100"},
	} {
		for method, want := range map[proxytest.Method]string{proxytest.Sync: c.sync, proxytest.SemiAsync: c.semi} {
			t.Run(fmt.Sprintf("%+v %v", c, method), func(t *testing.T) {
				p, rdb := start(t, proxytest.Config{InMemory: true, Engines: 2})
				slot := proxycompat.Codis32().Slot(c.data)
				require.Equal(t, slot, proxycompat.Codis32().Slot(lock))
				require.NoError(t, rdb.Set(background, c.data, 100, 0).Err())
				take := func() { require.NoError(t, rdb.SetNX(background, lock, "me", time.Minute).Err()) }
				if c.lockedBefore {
					take()
				}
				m, err := p.MoveSlot(slot, 1-p.BackendOf(c.data), method)
				require.NoError(t, err)
				if !c.lockedBefore {
					take()
				}
				keys, script := []string{lock, c.data}, "local lock, data = KEYS[1], KEYS[2] "
				if c.first == "data" {
					keys, script = []string{c.data, lock}, "local data, lock = KEYS[1], KEYS[2] "
				}
				script += "if redis.call('GET', lock) == ARGV[1] then return redis.call('INCRBY', data, 1) end return 'LOCK-NOT-HELD'"
				got := rdb.Eval(background, script, keys, "me").Val()
				require.NoError(t, m.Finish())
				assert.Equal(t, want, fmt.Sprint(got, " ", rdb.Get(background, c.data).Val()))
			})
		}
	}
}

// A script on one key is right throughout a slot migration, and so is an expiry.
func TestMoveSlotOneKey(t *testing.T) {
	bubble(t, proxytest.Config{Engines: 2}, func(t *testing.T, p *proxytest.Proxy, rdb *redis.Client) {
		raise := redis.NewScript("return redis.call('INCRBY', KEYS[1], 1)")
		slot := proxycompat.Codis32().Slot("n")
		require.NoError(t, rdb.Set(background, "n", 0, time.Hour).Err())
		done := make(chan int)
		go func() {
			raised := 0
			for range 500 {
				if raise.Run(background, rdb, []string{"n"}).Err() == nil {
					raised++
				}
				time.Sleep(time.Millisecond)
			}
			done <- raised
		}()
		for i := range 40 {
			m, err := p.MoveSlot(slot, 1-p.BackendOf("n"), proxytest.Method(i%2))
			require.NoError(t, err)
			time.Sleep(2 * time.Millisecond)
			_, err = m.Step(5 * time.Millisecond)
			require.NoError(t, err)
			require.NoError(t, m.Finish())
		}
		assert.Equal(t, 500, <-done)
		n, err := rdb.Get(background, "n").Int()
		require.NoError(t, err)
		assert.Equal(t, 500, n)
		assert.Greater(t, rdb.TTL(background, "n").Val(), 59*time.Minute)
	})
}

func TestMoveSlotErrors(t *testing.T) {
	p, _ := start(t, proxytest.Config{InMemory: true, Engines: 2})
	for _, c := range []struct {
		slot, to int
		want     string
	}{
		{1024, 0, "no slot 1024 of codis"}, {0, 2, "no backend 2"}, {0, 0, "is on backend 0 already"},
		{0, 1, "<nil>"}, {0, 1, "being moved already"},
	} {
		_, err := p.MoveSlot(c.slot, c.to, proxytest.Sync)
		assert.Contains(t, fmt.Sprint(err), c.want)
	}
	other, _ := start(t, proxytest.Config{InMemory: true, Profile: twemproxy()})
	_, err := other.MoveSlot(0, 0, proxytest.Sync)
	require.Error(t, err)
}

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
	bubble(t, proxytest.Config{Engines: 2}, func(t *testing.T, p *proxytest.Proxy, rdb *redis.Client) {
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
	bubble(t, proxytest.Config{Engines: 2}, func(t *testing.T, p *proxytest.Proxy, rdb *redis.Client) {
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
		one := client(t, opt)
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
type lateConn struct{ net.Conn }

func (c lateConn) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("PTTL")) {
		time.Sleep(60 * time.Millisecond)
	}
	return c.Conn.Write(b)
}

// goneConn is a connection on which a key without an expiry has just expired.
type goneConn struct{ net.Conn }

func (c goneConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	copy(b, bytes.ReplaceAll(b[:n], []byte(":-1\r\n"), []byte(":-2\r\n")))
	return n, err
}

// A key that expires during its transfer does not stay for ever, and one that expires between two replies of
// its copy is not copied.
func TestMoveSlotExpired(t *testing.T) {
	for _, c := range []struct {
		expiry time.Duration
		wrap   func(net.Conn) net.Conn
	}{
		{50 * time.Millisecond, func(conn net.Conn) net.Conn { return lateConn{conn} }},
		{0, func(conn net.Conn) net.Conn { return goneConn{conn} }},
	} {
		synctest.Test(t, func(t *testing.T) {
			engines := map[string]*miniredis.Miniredis{"a": miniredis.NewMiniRedis(), "b": miniredis.NewMiniRedis()}
			for _, engine := range engines {
				engine.ClockTTL(true)
				defer engine.Close()
			}
			p, rdb := start(t, proxytest.Config{InMemory: true, Backends: []string{"a", "b"},
				Dial: func(_ context.Context, _, addr string) (net.Conn, error) {
					conn, err := engines[addr].Dial()
					return c.wrap(conn), err
				}})
			require.NoError(t, rdb.Set(background, "k", "v", c.expiry).Err())
			require.NoError(t, moveAway(t, p, proxytest.Sync).Finish())
			require.ErrorIs(t, rdb.Get(background, "k").Err(), redis.Nil)
		})
	}
}
