package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

const pkg = "sqllock"

// Config tunes a Locker. The zero Config works.
type Config struct {
	driver.Config

	// CleanEvery is the mean time between two runs of the cleaner, which deletes the rows of locks that were
	// free for a week. Default 1 h; below 0: never.
	CleanEvery time.Duration
}

// Locker is a [lock.Locker] over a table of a database. It is reentrant, and safe for concurrent use. Make it
// with [New].
type Locker struct {
	*driver.Locker

	service  *service
	clean    time.Duration // below 0: never
	stop     context.CancelFunc
	cleaning sync.WaitGroup
}

var (
	_ lock.Locker    = (*Locker)(nil)
	_ lock.Checker   = (*Locker)(nil)
	_ lock.Inspector = (*Locker)(nil)
)

// New makes a Locker over a database, which the caller still owns. The table must exist; see [Migrate]. All
// calls of a Locker with a Config or a Dialect that cannot work return an error. Close ends its cleaner.
func New(db *sql.DB, d Dialect, cfg Config) *Locker {
	cfg.Config = cfg.WithDefaults()
	if cfg.CleanEvery == 0 {
		cfg.CleanEvery = time.Hour
	}
	s := newService(db, d)
	if s.err == nil {
		s.err = cfg.Validate()
	}
	s.expiry = cfg.Expiry().Microseconds()
	l := &Locker{
		Locker:  driver.New(s, driver.Options{Package: pkg, Service: "sql", Tokens: true}, cfg.Config),
		service: s, clean: cfg.CleanEvery,
	}
	var ctx context.Context
	ctx, l.stop = context.WithCancel(context.Background())
	if l.clean > 0 && s.err == nil {
		l.cleaning.Go(func() { l.cleanUntil(ctx) })
	}
	return l
}

// Close does what [driver.Locker.Close] does, and ends the cleaner.
func (l *Locker) Close() error {
	l.stop()
	l.cleaning.Wait()
	return l.Locker.Close()
}

// Guard requires that the innermost lock that ctx holds, which must be one of this Locker, is not granted to
// another holder before tx ends. ctx is the ctx of a function under the lock, and tx a transaction in the database
// of the table. If Guard returns nil and tx commits, then tx as a whole lies before all that later holders do:
// a late write is impossible, and the data need no token.
//
//	err := locks.WithLock(ctx, "stock:7", func(ctx context.Context) error {
//		tx, err := db.BeginTx(ctx, nil)
//		if err != nil {
//			return err
//		}
//		defer tx.Rollback()
//		if err := locks.Guard(ctx, tx); err != nil {
//			return err
//		}
//		...
//		return tx.Commit()
//	})
//
// Call it first in the transaction. It returns rmw.ErrLockLost if the lock was lost; then roll back. With
// rmw.ErrContended the database was busy; roll back and begin again. Guard returns nil also after the lease has ended
// at the database, as long as no other process has taken the lock.
//
// In PostgreSQL and MySQL, renewals do not wait for tx. In PostgreSQL the lock counts as held until tx ends. In
// MySQL, a process that takes it after the end of its lease waits for tx, as long as its ctx and
// innodb_lock_wait_timeout permit. In SQLite, tx excludes all other writers, also renewals: end it soon.
func (l *Locker) Guard(ctx context.Context, tx *sql.Tx) error {
	s, err := lock.SequencerOf(ctx)
	if err != nil {
		return err
	}
	return l.GuardSequencer(ctx, tx, s)
}

// GuardSequencer is [Locker.Guard] for a process that was sent the Sequencer of the holder.
func (l *Locker) GuardSequencer(ctx context.Context, tx *sql.Tx, s lock.Sequencer) error {
	if err := l.service.guard(ctx, tx, s); err != nil {
		failed := &rmw.Error{Path: pkg, Op: "guard", Key: s.Name, Reason: rmw.ErrUnavailable, Cause: err}
		var inner *rmw.Error
		switch {
		case ctx.Err() != nil:
			failed.Reason = nil
		case errors.As(err, &inner):
			failed.Reason, failed.Cause = inner.Reason, inner.Cause
		case errors.Is(err, rmw.ErrLockLost), errors.Is(err, rmw.ErrInvalid):
			failed.Reason, failed.Cause = err, nil
		}
		return failed
	}
	return nil
}

// kept is the time for which the row of a free lock is kept, so that its token goes on without a clock.
const kept = 7 * 24 * time.Hour

// Clean deletes the rows of locks that were free for a week. The cleaner calls it. It returns their number.
func (l *Locker) Clean(ctx context.Context) (rows int64, err error) {
	for more := true; more && err == nil; {
		var names [][]byte
		err = l.service.query(ctx, old, params{"kept": kept.Microseconds()}, func(rows *sql.Rows) error {
			var name []byte
			err := rows.Scan(&name)
			names = append(names, name)
			return err
		})
		more = len(names) == 1000
		for _, name := range names {
			var result sql.Result
			if result, err = l.service.exec(ctx, clean, params{"name": name, "kept": kept.Microseconds()}); err != nil {
				break
			}
			n, _ := result.RowsAffected()
			rows += n
		}
	}
	if err != nil {
		return rows, fmt.Errorf("sqllock: clean: %w", err)
	}
	return rows, nil
}

// cleanUntil cleans at intervals until ctx ends. Its first run is within the first interval, so that also
// processes that live shortly take part.
func (l *Locker) cleanUntil(ctx context.Context) {
	for {
		t := time.NewTimer(time.Duration(2 * rand.Float64() * float64(l.clean)))
		select {
		case <-t.C:
			_, _ = l.Clean(ctx) // the next run deletes the same rows
		case <-ctx.Done():
			t.Stop()
			return
		}
	}
}

// Migrate creates the table unwatch_locks if the database has none, and returns an error if it has one of
// another version. Several processes may call it at once.
func Migrate(ctx context.Context, db *sql.DB, d Dialect) error {
	s := newService(db, d)
	_, err := s.exec(ctx, d.Schema(), nil)
	for range 3 { // PostgreSQL refuses one of two that create a table at once
		if err == nil {
			break
		}
		_, err = s.exec(ctx, d.Schema(), nil)
	}
	if err == nil {
		err = s.query(ctx, columns, nil, func(*sql.Rows) error { return nil })
	}
	if err != nil {
		return fmt.Errorf("sqllock: migrate: %w", err)
	}
	return nil
}
