package sqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/adapters/sqllock"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

// A request that is executed twice has the effect of one request: its first reply may have been lost.
func testRepeatedRequests(t *testing.T, d database) {
	l, _ := d.locker(t, driver.Config{Lease: 50 * time.Second, LockDelay: 10 * time.Second})
	s, ctx := sqllock.ServiceOf(l), t.Context()
	var last uint64
	for _, owner := range []string{"a", "b"} {
		r := driver.Request{Name: "repeated", Owner: owner, Data: []byte("of " + owner)}
		first, err := s.Acquire(ctx, r)
		require.NoError(t, err)
		again, err := s.Acquire(ctx, r)
		require.NoError(t, err)
		assert.Equal(t, first, again)
		assert.Greater(t, first.Token, last)
		last = first.Token

		r.Tries = 1
		again, err = s.Acquire(ctx, r)
		require.NoError(t, err)
		assert.Equal(t, first, again)
		r.Owner = "c"
		_, err = s.Acquire(ctx, r)
		require.ErrorIs(t, err, rmw.ErrContended)

		require.NoError(t, s.Release(ctx, "repeated", "c"))
		info, err := s.Inspect(ctx, "repeated")
		require.NoError(t, err)
		assert.Equal(t, lock.Sequencer{Name: "repeated", Owner: owner, Token: first.Token}, info.Sequencer)
		assert.Equal(t, "of "+owner, string(info.Data))
		assert.InDelta(t, time.Minute, info.Left, float64(30*time.Second))
		for range 2 {
			require.NoError(t, s.Release(ctx, "repeated", owner))
		}
		info, err = s.Inspect(ctx, "repeated")
		require.NoError(t, err)
		assert.Equal(t, lock.Info{}, info)
	}
}

// Tokens go on from the row, also if the clock is behind it, and from the clock if there is no row.
func testTokensGoOn(t *testing.T, d database) {
	db, _ := d.open(t)
	l, _ := d.locker(t, driver.Config{Lease: time.Minute})
	token := func() (token int64) {
		require.NoError(t, l.WithLock(t.Context(), "tokens", func(ctx context.Context) error {
			drawn, err := lock.Token(ctx)
			token = int64(drawn)
			return err
		}))
		return token
	}
	for range 3 {
		before := time.Now().UnixMicro()
		assert.InDelta(t, before, token(), 1e8)
		exec(t, db, `DELETE FROM unwatch_locks`+d.row(), []byte("tokens"))
	}
	ahead := token() + 3600e6
	exec(t, db, `UPDATE unwatch_locks SET token = token + 3600000000`+d.row(), []byte("tokens"))
	assert.Equal(t, ahead+1, token())
	assert.Equal(t, ahead+2, token())
}

// After the clock of the database was set back, the lock of a crashed process lasts no longer than a lease.
// Negative control: without the time of the last renewal, it is held for an hour.
func testClockSetBack(t *testing.T, d database) {
	db, _ := d.open(t)
	crashed, _ := d.locker(t, driver.Config{Lease: 50 * time.Millisecond})
	l, _ := d.locker(t, driver.Config{Lease: time.Minute})
	ctx := t.Context()
	for _, control := range []bool{false, true} {
		_, err := sqllock.ServiceOf(crashed).Acquire(ctx, driver.Request{Name: "clock", Owner: "crashed"})
		require.NoError(t, err)
		set := `UPDATE unwatch_locks SET expires = expires + 3600000000, renewed = renewed + 3600000000, taken = taken + 3600000000`
		if control {
			set = `UPDATE unwatch_locks SET expires = expires + 3600000000`
		}
		exec(t, db, set+d.row(), []byte("clock"))
		wait := func(limit time.Duration) error {
			waiting, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			return l.WithLock(waiting, "clock", nothing)
		}
		if !control {
			require.NoError(t, wait(time.Minute))
			continue
		}
		for limit := 300 * time.Millisecond; !errors.Is(err, rmw.ErrContended); limit *= 2 { // a busy database may answer later
			err = wait(limit)
			require.Error(t, err)
		}
	}
	exec(t, db, `DELETE FROM unwatch_locks`+d.row(), []byte("clock"))
}

// Broken connections lose no lock, nor does a pooler that gives each statement another connection.
func testConnectionsDoNotMatter(t *testing.T, d database) {
	db, network := d.open(t)
	db.SetMaxIdleConns(-1)
	l := lockerOver(t, db, d.dialect, driver.Config{Lease: time.Minute})
	admin, _ := d.open(t)
	require.NoError(t, l.WithLock(t.Context(), "connections", func(ctx context.Context) error {
		network.Break()
		exec(t, admin, `UPDATE unwatch_locks SET renewed = 0`+d.row(), []byte("connections"))
		l.Renew()
		for renewed := int64(0); renewed == 0; {
			row := admin.QueryRowContext(ctx, `SELECT renewed FROM unwatch_locks`+d.row(), []byte("connections"))
			require.NoError(t, row.Scan(&renewed))
		}
		s, err := lock.SequencerOf(ctx)
		require.NoError(t, err)
		require.NoError(t, l.Check(ctx, s))
		return ctx.Err()
	}))
}

// Names of 64 KiB are locks, and differ in their last byte.
func testLongNames(t *testing.T, d database) {
	l, _ := d.locker(t, driver.Config{Lease: time.Minute})
	name := string(make([]byte, 64<<10-1))
	require.NoError(t, l.TryLock(t.Context(), name+"a", func(context.Context) error {
		return l.TryLock(t.Context(), name+"b", func(context.Context) error {
			err := l.TryLock(t.Context(), name+"a", func(context.Context) error { return nil })
			require.ErrorIs(t, err, rmw.ErrContended)
			assert.Less(t, len(err.Error()), 1000)
			return nil
		})
	}))
}

// A renewal at the same time as the one before changes no row in MySQL, which is no loss. Tokens grow also if the
// clock stands still.
func testClockStandsStill(t *testing.T, d database) {
	if d.frozen == nil {
		t.Skip("this clock cannot be stopped")
	}
	admin, _ := d.open(t)
	updates := func() (n int) {
		row := admin.QueryRowContext(t.Context(), `SHOW GLOBAL STATUS LIKE 'Com_update'`)
		require.NoError(t, row.Scan(new(string), &n))
		return n
	}
	l := lockerOver(t, d.frozen(t), d.dialect, driver.Config{Lease: time.Minute})
	var last uint64
	for range 3 {
		require.NoError(t, l.WithLock(t.Context(), "frozen", func(ctx context.Context) error {
			token, err := lock.Token(ctx)
			require.NoError(t, err)
			assert.Greater(t, token, last)
			last = token
			for range 3 { // the third begins after the first two
				before := updates()
				l.Renew()
				require.Eventually(t, func() bool { return updates() > before }, time.Minute, time.Millisecond)
			}
			return ctx.Err()
		}))
	}
}

// Locks exclude each other at every isolation level of the database.
func testSerializable(t *testing.T, d database) {
	if d.strict == nil {
		t.Skip("all transactions are serializable")
	}
	var inside, ran atomic.Int64
	var ended sync.WaitGroup
	for range 4 {
		l := lockerOver(t, d.strict(t), d.dialect, driver.Config{Lease: time.Minute})
		ended.Go(func() {
			for i := range 10 {
				err := l.WithLock(t.Context(), "strict"+strconv.Itoa(i%2), func(context.Context) error {
					return l.WithLock(t.Context(), "strict", func(context.Context) error {
						assert.EqualValues(t, 1, inside.Add(1))
						ran.Add(1)
						inside.Add(-1)
						return nil
					})
				})
				assert.NoError(t, err)
			}
		})
	}
	ended.Wait()
	assert.EqualValues(t, 40, ran.Load())
}

// A lock outlives a crash of the server.
func testRestart(t *testing.T, d database) {
	if d.restart == nil {
		t.Skip("there is no server")
	}
	l, _ := d.locker(t, driver.Config{Lease: time.Minute})
	peer, _ := d.locker(t, driver.Config{Lease: time.Minute})
	require.NoError(t, l.WithLock(t.Context(), "restart", func(ctx context.Context) error {
		d.restart(t)
		require.ErrorIs(t, peer.TryLock(t.Context(), "restart", nothing), rmw.ErrContended)
		return ctx.Err()
	}))
	require.NoError(t, peer.TryLock(t.Context(), "restart", nothing))
}

// Locks cost few statements.
func TestStatements(t *testing.T) {
	c := &connector{name: "file:" + filepath.Join(t.TempDir(), "locks.db") + "?_pragma=synchronous(OFF)"}
	db := closed(t, sql.OpenDB(c))
	db.SetMaxOpenConns(1)
	require.NoError(t, sqllock.Migrate(t.Context(), db, sqllock.SQLite))
	l := lockerOver(t, db, sqllock.SQLite, driver.Config{Lease: time.Hour})
	s := sqllock.ServiceOf(l)
	sent := func(do func()) int64 {
		before := c.sent.Load()
		do()
		return c.sent.Load() - before
	}
	for range 2 {
		assert.EqualValues(t, 2, sent(func() { require.NoError(t, l.TryLock(t.Context(), "a", nothing)) }), "take and release")
	}
	require.NoError(t, l.WithLock(t.Context(), "a", func(ctx context.Context) error {
		assert.EqualValues(t, 2, sent(func() {
			require.ErrorIs(t, l.TryLock(t.Context(), "a", nothing), rmw.ErrContended)
		}), "the first try")
		assert.EqualValues(t, 1, sent(func() {
			_, err := s.Acquire(ctx, driver.Request{Name: "a", Owner: "b", Wait: true, Tries: 1})
			require.ErrorIs(t, err, rmw.ErrContended)
		}), "a poll")
		return nil
	}))

	const locks = 1000
	for i := range locks {
		hold, err := l.Lock(t.Context(), strconv.Itoa(i))
		require.NoError(t, err)
		defer func() { assert.NoError(t, hold.Unlock()) }()
	}
	exec(t, db, `UPDATE unwatch_locks SET renewed = 0`)
	before, looks := c.sent.Load(), int64(0)
	l.Renew()
	for left := locks; left > 0; looks++ {
		count := db.QueryRowContext(t.Context(), `SELECT count(*) FROM unwatch_locks WHERE renewed = 0 AND owner <> ''`)
		require.NoError(t, count.Scan(&left))
	}
	assert.EqualValues(t, 2, c.sent.Load()-before-looks, "1000 renewals")
}

// A renewal that finds the database busy, as after a deadlock, is sent again at once: the locks are not in jeopardy.
// Negative control: a database that stays busy puts them there.
func TestBusyRenewal(t *testing.T) {
	d := openSQLite(t)
	db, network := d.open(t)
	require.NoError(t, sqllock.Migrate(t.Context(), db, d.dialect))
	file := network.(*connector)
	jeopardy := make(chan error, 100)
	l := lockerOver(t, db, d.dialect, driver.Config{Lease: time.Minute, Observer: func(_ context.Context, e lock.Event) {
		if e.Kind == lock.EventJeopardy {
			jeopardy <- e.Err
		}
	}})
	require.NoError(t, l.WithLock(t.Context(), "busy", func(ctx context.Context) error {
		file.busy.Store(2)
		before := file.sent.Load()
		l.Renew()
		require.Eventually(t, func() bool { return file.sent.Load() == before+3 }, 20*time.Second, time.Millisecond)
		assert.Equal(t, lock.Safe, lock.StateOf(ctx))
		assert.Empty(t, jeopardy)
		file.busy.Store(3)
		l.Renew()
		assert.ErrorContains(t, <-jeopardy, "busy")
		return nil
	}))
}
