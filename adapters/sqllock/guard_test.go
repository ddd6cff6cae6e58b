package sqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

// write adds to the only row of the table notes, in one transaction behind an optional guard.
func write(ctx context.Context, db *sql.DB, text string, guard func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if guard != nil {
		if err := guard(tx); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, `UPDATE notes SET text = '`+text+`'`); err != nil {
		return err
	}
	return tx.Commit()
}

func newNotes(t *testing.T, db *sql.DB) {
	t.Helper()
	for _, text := range []string{
		`CREATE TABLE IF NOT EXISTS notes (text varchar(99))`, `DELETE FROM notes`, `INSERT INTO notes VALUES ('')`,
	} {
		exec(t, db, text)
	}
}

// A holder whose lock was taken by another cannot write with Guard. Negative control: it can without.
func testGuardRefusesLateWrites(t *testing.T, d database) {
	db, _ := d.open(t)
	ada, _ := d.locker(t, driver.Config{Lease: time.Minute})
	bob, _ := d.locker(t, driver.Config{Lease: time.Minute})
	for _, guarded := range []bool{true, false} {
		newNotes(t, db)
		err := ada.WithLock(t.Context(), "late", func(ctx context.Context) error {
			guard := func(tx *sql.Tx) error { return ada.Guard(ctx, tx) }
			require.NoError(t, write(ctx, db, "ada", guard))
			require.NoError(t, d.takeAway(ctx, db, "late")) // as the end of the lease does
			require.NoError(t, bob.WithLock(t.Context(), "late", func(ctx context.Context) error {
				return write(ctx, db, "bob", func(tx *sql.Tx) error { return bob.Guard(ctx, tx) })
			}))
			require.NoError(t, ctx.Err(), "ada has not noticed")
			if !guarded {
				guard = nil
			}
			return write(ctx, db, "ada is late", guard)
		})
		var text string
		require.NoError(t, db.QueryRowContext(t.Context(), `SELECT text FROM notes`).Scan(&text))
		if guarded {
			require.ErrorIs(t, err, rmw.ErrLockLost)
			require.ErrorContains(t, err, "another process has taken it since")
			assert.Equal(t, "bob", text)
		} else {
			require.NoError(t, err)
			assert.Equal(t, "ada is late", text)
		}
	}
}

// Nobody gets the lock before a guarded transaction ends, also after the end of the lease. Negative control:
// without Guard, it is free at once.
func testGuardKeepsOthersOut(t *testing.T, d database) {
	db, _ := d.open(t)
	ada, _ := d.locker(t, driver.Config{Lease: time.Minute})
	bob, _ := d.locker(t, driver.Config{Lease: time.Minute})
	for _, guarded := range []bool{true, false} {
		err := ada.WithLock(t.Context(), "open", func(ctx context.Context) error {
			token, err := lock.Token(ctx)
			require.NoError(t, err)
			exec(t, db, `UPDATE unwatch_locks SET expires = 0`+d.row(), []byte("open"))
			tx, err := db.BeginTx(ctx, nil)
			require.NoError(t, err)
			trying, cancel := context.WithCancel(t.Context())
			defer cancel()
			if guarded {
				require.NoError(t, ada.Guard(ctx, tx), "the lease has ended, but nobody has taken the lock")
				time.AfterFunc(300*time.Millisecond, cancel)
			}
			var before uint64
			err = bob.TryLock(trying, "open", func(ctx context.Context) error { before, _ = lock.Token(ctx); return nil })
			if !guarded {
				require.NoError(t, err)
				assert.Greater(t, before, token)
				return tx.Rollback()
			}
			require.Error(t, err)
			assert.Zero(t, before, "bob is in, although ada has not committed")
			require.NoError(t, tx.Commit())
			return bob.WithLock(t.Context(), "open", func(ctx context.Context) error {
				after, err := lock.Token(ctx)
				assert.Greater(t, after, token)
				return err
			})
		})
		require.NoError(t, err)
	}
}

// A renewal does not wait for a guarded transaction. Negative control: it waits for another shared lock.
func testRenewalPassesGuard(t *testing.T, d database) {
	if d.sharedLock == "" {
		t.Skip("SQLite has one writer at a time, so that a renewal waits for any transaction that writes")
	}
	db, _ := d.open(t)
	jeopardy := make(chan error, 100)
	l, _ := d.locker(t, driver.Config{Lease: 8 * time.Second, Observer: func(_ context.Context, e lock.Event) {
		if e.Kind == lock.EventJeopardy {
			jeopardy <- e.Err
		}
	}})
	renewed := func(ctx context.Context) (at int64) {
		require.NoError(t, db.QueryRowContext(ctx, `SELECT renewed FROM unwatch_locks`+d.row(), []byte("renewed")).Scan(&at))
		return at
	}
	err := l.WithLock(t.Context(), "renewed", func(ctx context.Context) error {
		tx, err := db.BeginTx(ctx, nil)
		require.NoError(t, err)
		require.NoError(t, l.Guard(ctx, tx))
		before := renewed(ctx)
		l.Renew()
		for renewed(ctx) == before {
			require.Equal(t, lock.Safe, lock.StateOf(ctx))
			require.NoError(t, ctx.Err())
		}
		require.NoError(t, tx.Commit())

		tx, err = db.BeginTx(ctx, nil)
		require.NoError(t, err)
		exec(t, tx, d.sharedLock)
		l.Renew()
		require.Error(t, <-jeopardy)
		return tx.Rollback()
	})
	require.NoError(t, err)
}

// Guard refuses a sequencer of no present holder, and a ctx without a lock.
func testGuardRefuses(t *testing.T, d database) {
	db, _ := d.open(t)
	newNotes(t, db)
	l, _ := d.locker(t, driver.Config{Lease: time.Minute})
	require.NoError(t, l.WithLock(t.Context(), "refuses", func(ctx context.Context) error {
		s, err := lock.SequencerOf(ctx)
		require.NoError(t, err)
		for _, forged := range []lock.Sequencer{
			{Name: s.Name, Owner: s.Owner, Token: s.Token + 1},
			{Name: s.Name, Owner: s.Owner + "0", Token: s.Token},
			{Name: s.Name + "0", Owner: s.Owner, Token: s.Token},
			{},
		} {
			err := write(ctx, db, "", func(tx *sql.Tx) error { return l.GuardSequencer(ctx, tx, forged) })
			require.ErrorIs(t, err, rmw.ErrLockLost)
		}
		require.NoError(t, write(ctx, db, "", func(tx *sql.Tx) error { return l.GuardSequencer(ctx, tx, s) }))
		return nil
	}))
	err := write(t.Context(), db, "", func(tx *sql.Tx) error { return l.Guard(t.Context(), tx) })
	require.ErrorIs(t, err, rmw.ErrInvalid, "this ctx has no lock")
	var last uint64
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT token FROM unwatch_locks`+d.row(), []byte("refuses")).Scan(&last))
	for _, token := range []uint64{last, 0} {
		free := lock.Sequencer{Name: "refuses", Token: token} // the row of a free lock has no owner either
		err = write(t.Context(), db, "", func(tx *sql.Tx) error { return l.GuardSequencer(t.Context(), tx, free) })
		require.ErrorIs(t, err, rmw.ErrLockLost)
	}
	require.NoError(t, l.WithLock(t.Context(), "refuses", func(ctx context.Context) error {
		canceled, cancel := context.WithCancel(ctx)
		tx, err := db.BeginTx(ctx, nil)
		require.NoError(t, err)
		cancel()
		err = l.Guard(canceled, tx)
		require.ErrorIs(t, err, context.Canceled)
		assert.False(t, errors.Is(err, rmw.ErrLockLost))
		return tx.Rollback()
	}))
}
