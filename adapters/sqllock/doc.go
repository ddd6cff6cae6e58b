// Package sqllock is a [lock.Locker] over a table of PostgreSQL, MySQL, MariaDB or SQLite, for services that have
// a database and no lock service. For data in the same database, [Locker.Guard] makes exclusion certain.
//
//	if err := sqllock.Migrate(ctx, db, sqllock.PostgreSQL); err != nil { ... }
//	locks := sqllock.New(db, sqllock.PostgreSQL, sqllock.Config{})
//	defer locks.Close()
//	err := locks.WithLock(ctx, "invoice:7", func(ctx context.Context) error {
//		token, err := lock.Token(ctx)
//		...
//	})
//
// # How it works
//
// A lock is a row: its owner, its token, and when its lease ends by the clock of the database. One statement,
// which commits by itself, takes the lock, renews the leases of up to 512 locks, or releases a lock. Each may be
// sent again if its reply was lost. No statement needs the session of another one: connections may break, and
// poolers such as PgBouncer may give each statement another one. (A driver's prepared statements may need
// sessions; see its manual.) The tests give each statement a new connection, and run no pooler.
//
// The name and the token identify a holding, so there is no column for an id. The row of a lock stays after a release, so
// that the next token is greater. A cleaner deletes the row a week
// later; then tokens go on from the clock, in microseconds.
//
// # Waiting
//
// Waiters poll, with the pauses of Config.Poll, and are not served in order. A poll is one read by primary key.
// There is no column for waiters, because then each poll would be a write; so no lock.EventWanted is sent.
//
// # Requirements
//
//   - The pool must have a connection for renewals: with SetMaxOpenConns(1) a transaction of the holder would
//     keep them waiting. A *sql.DB of its own for the Locker is best.
//   - SQLite needs a busy timeout, shorter than a quarter of the lease: _pragma=busy_timeout(2000) with
//     modernc.org/sqlite. Without it, TryLock may return rmw.ErrContended because another transaction writes.
//   - interpolateParams=true of github.com/go-sql-driver/mysql halves the round trips: a statement with arguments
//     is prepared before it is executed otherwise.
//
// # Where it ends
//
//   - A failover to a replica that lacks the last transactions can lose a row, and the lock is granted twice. Use
//     synchronous replication, or Guard, whose transaction is then lost with the row. Tokens still grow, by the clock.
//   - A clock of the database that is set forward ends leases early. One that is set back prolongs a lease by at
//     most its own length; if the table was cleaned since, a token may be less than one of over a week ago.
package sqllock
