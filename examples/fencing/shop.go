package main

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"time"

	"github.com/unwatch/unwatch/adapters/sqllock"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

const (
	requests = 1600
	items    = 200
	every    = 20 // every 20th request stalls past the end of its lease,
	overtake = 5  // until 5 others were served
)

// protection is a way to refuse late sales. Its statements take the token, and return a row if that is not stale.
type protection struct {
	name, read, write string
	guard             bool
}

func protections() []protection {
	const read, write = `SELECT remaining FROM stock WHERE ?1 > 0`, `UPDATE stock SET remaining = ?2 WHERE ?1 > 0 RETURNING remaining`
	return []protection{
		{name: "lock alone", read: read, write: write}, // the negative control
		{
			name:  "lock and token",
			read:  `UPDATE stock SET token = ?1 WHERE token <= ?1 RETURNING remaining`,
			write: `UPDATE stock SET token = ?1, remaining = ?2 WHERE token <= ?1 RETURNING remaining`,
		},
		{name: "lock and Guard", read: read, write: write, guard: true},
	}
}

// shop sells one product.
type shop struct {
	protection

	db              *sql.DB
	locks           *sqllock.Locker
	served, refused int
}

// sell serves all requests, one at a time, so that the figures are the same in each run. A request that stalls goes on
// after later ones, as a late write does. sell returns the number of sold items, and of refused late sales.
func sell(ctx context.Context, p protection) (sold, refused int, err error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1) // each connection would have its own database
	_, err = db.ExecContext(ctx, `
		CREATE TABLE stock (remaining INTEGER NOT NULL, token INTEGER NOT NULL);
		CREATE TABLE sales (token INTEGER NOT NULL);
		INSERT INTO stock VALUES (?, 0)`, items)
	err = errors.Join(err, sqllock.Migrate(ctx, db, sqllock.SQLite))
	s := &shop{protection: p, db: db}
	s.locks = sqllock.New(db, sqllock.SQLite, sqllock.Config{Config: driver.Config{Lease: time.Minute}})
	defer func() { err = errors.Join(err, s.locks.Close()) }()
	for s.served < requests && err == nil {
		err = s.serve(ctx)
	}
	err = errors.Join(err, db.QueryRowContext(ctx, `SELECT count(*) FROM sales`).Scan(&sold))
	return sold, s.refused, err
}

// serve sells one item under the lock, if one is left.
func (s *shop) serve(ctx context.Context) error {
	number := s.served
	s.served++
	err := s.locks.WithLock(ctx, "stock", func(locked context.Context) error {
		token, err := lock.Token(locked)
		if err != nil {
			return err
		}
		var left int
		err = s.db.QueryRowContext(locked, s.read, token).Scan(&left)
		if err != nil || left == 0 {
			return err
		}
		if number%every == 0 {
			_, err = s.db.ExecContext(ctx, `UPDATE unwatch_locks SET expires = 0`) // as time does
			for range overtake {
				err = errors.Join(err, s.serve(ctx))
			}
		}
		return errors.Join(err, s.sale(locked, token, left-1))
	})
	if errors.Is(err, sql.ErrNoRows) || errors.Is(err, rmw.ErrLockLost) { // the token is stale, or Guard refuses
		s.refused++
		return nil
	}
	return err
}

// sale writes a sale and what is left, in one transaction.
func (s *shop) sale(ctx context.Context, token uint64, left int) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if s.guard {
		if err := s.locks.Guard(ctx, tx); err != nil {
			return err
		}
	}
	if err := tx.QueryRowContext(ctx, s.write, token, left).Scan(&left); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO sales VALUES (?)`, token); err != nil {
		return err
	}
	return tx.Commit()
}

// oversell reports whether the lock alone sells more than there is, and the others do not.
func oversell(ctx context.Context, out io.Writer) (ok bool, err error) {
	say(out, "\n%d requests for %d items; each %dth stalls past its lease\n", requests, items, every)
	ok = true
	for i, p := range protections() {
		sold, refused, err := sell(ctx, p)
		if err != nil {
			return false, err
		}
		say(out, "  %-14s sold %d, refused %d late sales\n", p.name, sold, refused)
		ok = ok && (sold > items) == (i == 0) && sold >= items
	}
	return ok, nil
}
