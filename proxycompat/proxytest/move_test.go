package proxytest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// raiseIfHeld is the script of the measurements: increment the data if the lock is held by ARGV.
const (
	lockFirst = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('INCRBY', KEYS[2], 1) end return 'LOCK-NOT-HELD'"
	dataFirst = "if redis.call('GET', KEYS[2]) == ARGV[1] then return redis.call('INCRBY', KEYS[1], 1) end return 'LOCK-NOT-HELD'"
)

// The cases that were measured during a slot migration of Codis: the result of a script on a lock and the
// data, and of GET after it.
func TestMoveSlot(t *testing.T) {
	const gone, held = "100", "101"
	for name, c := range map[string]struct {
		data, lock       string
		dataIsFirst      bool
		lockedBefore     bool
		sync, semi       any // the result of the script
		syncGet, semiGet string
	}{
		"untagged data, KEYS[1]=lock": {
			data: "n", lock: "{n}:lock", sync: int64(1), syncGet: gone, semi: int64(1), semiGet: gone,
		},
		"untagged data, KEYS[1]=lock, locked before": {
			data: "n", lock: "{n}:lock", lockedBefore: true, sync: int64(1), syncGet: gone, semi: int64(101), semiGet: held,
		},
		"untagged data, KEYS[1]=data": {
			data: "n", lock: "{n}:lock", dataIsFirst: true, lockedBefore: true,
			sync: "LOCK-NOT-HELD", syncGet: gone, semi: int64(101), semiGet: held,
		},
		"all tagged, both existed, KEYS[1]=lock": {
			data: "{n}:data", lock: "{n}:lock", lockedBefore: true, sync: int64(101), syncGet: held, semi: int64(101), semiGet: held,
		},
		"all tagged, locked during the move, KEYS[1]=lock": {
			data: "{n}:data", lock: "{n}:lock", sync: int64(101), syncGet: held, semi: int64(1), semiGet: gone,
		},
		"all tagged, locked during the move, KEYS[1]=data": {
			data: "{n}:data", lock: "{n}:lock", dataIsFirst: true,
			sync: int64(101), syncGet: held, semi: "LOCK-NOT-HELD", semiGet: gone,
		},
	} {
		for _, method := range []proxytest.Method{proxytest.Sync, proxytest.SemiAsync} {
			t.Run(name, func(t *testing.T) {
				p, rdb := start(t, proxytest.Config{InMemory: true, Engines: 2})
				slot := proxycompat.Codis32().Slot(c.data)
				require.Equal(t, slot, proxycompat.Codis32().Slot(c.lock))
				require.NoError(t, rdb.Set(background, c.data, 100, 0).Err())
				if c.lockedBefore {
					require.NoError(t, rdb.SetNX(background, c.lock, "me", time.Minute).Err())
				}
				m, err := p.MoveSlot(slot, 1-p.BackendOf(c.data), method)
				require.NoError(t, err)
				if !c.lockedBefore {
					require.NoError(t, rdb.SetNX(background, c.lock, "me", time.Minute).Err())
				}
				script, keys := lockFirst, []string{c.lock, c.data}
				if c.dataIsFirst {
					script, keys = dataFirst, []string{c.data, c.lock}
				}
				got := rdb.Eval(background, script, keys, "me").Val()
				require.NoError(t, m.Finish())
				value := rdb.Get(background, c.data).Val()
				if method == proxytest.Sync {
					assert.Equal(t, c.sync, got)
					assert.Equal(t, c.syncGet, value)
				} else {
					assert.Equal(t, c.semi, got)
					assert.Equal(t, c.semiGet, value)
				}
			})
		}
	}
}

// A script on one key is right throughout a slot migration, and so is an expiry.
func TestMoveSlotOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, rdb := start(t, proxytest.Config{InMemory: true, Engines: 2})
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
	_, err := p.MoveSlot(1024, 0, proxytest.Sync)
	require.ErrorContains(t, err, "no slot 1024 of codis")
	_, err = p.MoveSlot(0, 2, proxytest.Sync)
	require.ErrorContains(t, err, "no backend 2")
	_, err = p.MoveSlot(0, 0, proxytest.Sync)
	require.ErrorContains(t, err, "is on backend 0 already")
	_, err = p.MoveSlot(0, 1, proxytest.Sync)
	require.NoError(t, err)
	_, err = p.MoveSlot(0, 1, proxytest.Sync)
	require.ErrorContains(t, err, "being moved already")
	other, _ := start(t, proxytest.Config{InMemory: true, Profile: twemproxy()})
	_, err = other.MoveSlot(0, 0, proxytest.Sync)
	require.Error(t, err)
}
