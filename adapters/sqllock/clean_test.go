package sqllock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/adapters/sqllock"
	"github.com/unwatch/unwatch/lock/driver"
)

const week = int64(7 * 24 * time.Hour / time.Microsecond)

// Clean deletes only the rows of locks that have been free for a week.
func testClean(t *testing.T, d database) {
	db, _ := d.open(t)
	l, _ := d.locker(t, driver.Config{Lease: time.Minute})
	exec(t, db, `DELETE FROM unwatch_locks`)
	rows := func() (names []string) {
		rows, err := db.QueryContext(t.Context(), `SELECT name FROM unwatch_locks ORDER BY name`)
		require.NoError(t, err)
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var name []byte
			require.NoError(t, rows.Scan(&name))
			names = append(names, string(name))
		}
		require.NoError(t, rows.Err())
		return names
	}
	age := func(name string, by int64) {
		set := fmt.Sprintf(`UPDATE unwatch_locks SET expires = expires - (%d)`, by)
		exec(t, db, set+d.row(), []byte(name))
	}
	for _, name := range []string{"new", "old", "young"} {
		require.NoError(t, l.WithLock(t.Context(), name, func(context.Context) error { return nil }))
	}
	age("old", week+1e6)
	age("young", week-600e6)
	require.NoError(t, l.WithLock(t.Context(), "held", func(ctx context.Context) error {
		n, err := l.Clean(ctx)
		assert.EqualValues(t, 1, n)
		return err
	}))
	assert.Equal(t, []string{"held", "new", "young"}, rows())

	age("new", week+1e6)
	pool, _ := d.open(t)
	never := sqllock.New(pool, d.dialect, sqllock.Config{CleanEvery: -1})
	require.NoError(t, never.Close())
	assert.Equal(t, []string{"held", "new", "young"}, rows())
	age("new", -week-1e6)

	// The cleaner of a Locker does the same as Clean. A statement of it may yet be executed after Close.
	age("young", 1200e6)
	cleaner := sqllock.New(pool, d.dialect, sqllock.Config{CleanEvery: time.Millisecond})
	for len(rows()) == 3 {
		require.NoError(t, t.Context().Err())
	}
	require.NoError(t, cleaner.Close())
	assert.Equal(t, []string{"held", "new"}, rows())
}

// Clean waits for no lock of another transaction on a row that it keeps. In InnoDB, a DELETE without an index does.
func testCleanPassesOthers(t *testing.T, d database) {
	if d.sharedLock == "" {
		t.Skip("SQLite has one writer at a time")
	}
	db, _ := d.open(t)
	l, _ := d.locker(t, driver.Config{Lease: time.Minute})
	for _, name := range []string{"a renewed", "b old", "c renewed"} {
		require.NoError(t, l.WithLock(t.Context(), name, func(context.Context) error { return nil }))
	}
	exec(t, db, `UPDATE unwatch_locks SET expires = 1`+d.row(), []byte("b old"))
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, tx.Rollback()) }()
	for _, name := range []string{"a renewed", "c renewed"} {
		exec(t, tx, `UPDATE unwatch_locks SET renewed = renewed + 1`+d.row(), []byte(name))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	n, err := l.Clean(ctx)
	require.NoError(t, err)
	assert.EqualValues(t, 1, n)
}
