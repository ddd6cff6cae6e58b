package sqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/adapters/sqllock"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

func nothing(context.Context) error { return nil }

// An error says what to do. This test drops the table, and comes last.
func testErrors(t *testing.T, d database) {
	ctx := t.Context()
	db, _ := d.open(t)
	says := func(l *sqllock.Locker, reason error, text string) {
		t.Helper()
		for _, err := range []error{l.TryLock(ctx, "a", nothing), l.WithLock(ctx, "a", nothing)} {
			require.ErrorIs(t, err, reason)
			require.ErrorContains(t, err, `sqllock: lock "a": `)
			require.ErrorContains(t, err, text)
		}
	}
	readOnly := sqllock.New(d.readOnly(t), d.dialect, sqllock.Config{})
	says(readOnly, rmw.ErrUnavailable, "read-only; connect to the primary")
	require.NoError(t, readOnly.Close())

	l, _ := d.locker(t, driver.Config{Lease: 20 * time.Second})
	exec(t, db, `DROP TABLE unwatch_locks`)
	says(l, rmw.ErrInvalid, "has no table unwatch_locks; call sqllock.Migrate")
	_, err := l.Inspect(ctx, "a")
	require.ErrorIs(t, err, rmw.ErrInvalid)

	exec(t, db, `CREATE TABLE unwatch_locks (name varchar(99), owner varchar(99), token bigint)`)
	says(l, rmw.ErrInvalid, "is not the one of this version of sqllock")
	require.ErrorIs(t, sqllock.Migrate(ctx, db, d.dialect), rmw.ErrInvalid)
	exec(t, db, `DROP TABLE unwatch_locks`)

	var migrating sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		pool, _ := d.open(t)
		migrating.Go(func() { errs[i] = sqllock.Migrate(ctx, pool, d.dialect) })
	}
	migrating.Wait()
	require.NoError(t, errors.Join(errs...))
	require.NoError(t, l.WithLock(ctx, "a", nothing))
}

// stateError is an error of a driver of PostgreSQL.
type stateError string

func (e stateError) Error() string    { return "pq: failed" }
func (e stateError) SQLState() string { return string(e) }

// The Locker recognizes the errors of every driver.
func TestExplain(t *testing.T) {
	for _, c := range []struct {
		err    error
		reason error
		text   string
	}{
		{stateError("40001"), rmw.ErrContended, "busy"},
		{stateError("42P01"), rmw.ErrInvalid, "no table"},
		{stateError("25006"), rmw.ErrUnavailable, "read-only"},
		{stateError("42501"), rmw.ErrInvalid, "needs SELECT"},
		{&mysql.MySQLError{Number: 1213, SQLState: [5]byte{'4', '0', '0', '0', '1'}, Message: "Deadlock found"}, rmw.ErrContended, "busy"},
		{&mysql.MySQLError{Number: 1290, Message: "--read-only"}, rmw.ErrUnavailable, "read-only"},
		{errors.New("database is locked"), rmw.ErrContended, "busy"}, // github.com/mattn/go-sqlite3
		{errors.New("attempt to write a readonly database"), rmw.ErrUnavailable, "read-only"},
		{errors.New("no such table: unwatch_locks"), rmw.ErrInvalid, "no table"},
	} {
		err := sqllock.Explain(c.err)
		require.ErrorIs(t, err, c.reason)
		require.ErrorIs(t, err, c.err)
		require.ErrorContains(t, err, c.text)
	}
	for _, other := range []error{nil, stateError("22001"), errors.New("dial tcp 10.0.0.1:1146: refused"), context.Canceled} {
		assert.Equal(t, other, sqllock.Explain(other)) //nolint:testifylint // the very same error
	}
}

// A Locker that cannot work says so in all its calls.
func TestInvalid(t *testing.T) {
	for text, l := range map[string]*sqllock.Locker{
		"the *sql.DB is nil":                   sqllock.New(nil, sqllock.SQLite, sqllock.Config{}),
		"use sqllock.PostgreSQL":               sqllock.New(nil, 0, sqllock.Config{}),
		"Dialect(9) is no dialect":             sqllock.New(nil, 9, sqllock.Config{}),
		"Config.Lease is 1ns; use at least 10": sqllock.New(nil, sqllock.SQLite, sqllock.Config{Config: driver.Config{Lease: 1}}),
	} {
		err := l.WithLock(t.Context(), "a", nothing)
		require.ErrorIs(t, err, rmw.ErrInvalid)
		require.ErrorContains(t, err, text)
		_, err = l.Inspect(t.Context(), "a")
		require.ErrorIs(t, err, rmw.ErrInvalid)
		require.ErrorIs(t, l.GuardSequencer(t.Context(), nil, lock.Sequencer{}), rmw.ErrInvalid)
		require.NoError(t, l.Close())
	}
	require.ErrorIs(t, sqllock.Migrate(t.Context(), nil, 0), rmw.ErrInvalid)
	db, err := sql.Open("sqlite", ":memory:")
	require.NoError(t, err)
	l := sqllock.New(closed(t, db), sqllock.SQLite, sqllock.Config{})
	require.ErrorContains(t, l.GuardSequencer(t.Context(), nil, lock.Sequencer{}), "the *sql.Tx is nil")
	require.NoError(t, l.Close())
	assert.Equal(t, "PostgreSQL MySQL SQLite", sqllock.PostgreSQL.String()+" "+sqllock.MySQL.String()+" "+sqllock.SQLite.String())
}

// A closed database is not an outage: no retry can help.
func TestClosedDatabase(t *testing.T) {
	db, err := sql.Open("sqlite", "file:"+t.TempDir()+"/closed.db")
	require.NoError(t, err)
	require.NoError(t, sqllock.Migrate(t.Context(), db, sqllock.SQLite))
	l := sqllock.New(db, sqllock.SQLite, sqllock.Config{})
	require.NoError(t, db.Close())
	_, inspected := l.Inspect(t.Context(), "a")
	for _, err := range []error{l.WithLock(t.Context(), "a", nothing), l.TryLock(t.Context(), "a", nothing), inspected} {
		require.ErrorIs(t, err, rmw.ErrClosed)
		require.ErrorContains(t, err, "the *sql.DB was closed")
		require.False(t, rmw.Retryable(err))
	}
	require.NoError(t, l.Close())
}
