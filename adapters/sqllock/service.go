package sqllock

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"math/bits"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

// service is the [driver.Service] of a database.
type service struct {
	db     *sql.DB
	sql    statements
	expiry int64 // of a lease, in microseconds
	err    error // why nothing can work
}

func newService(db *sql.DB, d Dialect) *service {
	s := &service{db: db, sql: d.statements(), err: d.validate()}
	if db == nil && s.err == nil {
		s.err = fmt.Errorf("%w: the *sql.DB is nil; open one", rmw.ErrInvalid)
	}
	return s
}

// column returns the name of a lock as the table has it.
func column(name string) []byte {
	if len(name) <= 255 {
		return []byte(name)
	}
	hash := sha256.Sum256([]byte(name))
	return append([]byte(name[:224]), hash[:]...) // 256 bytes, which no other name has
}

// exec sends a statement that returns no rows.
func (s *service) exec(ctx context.Context, text string, p params) (sql.Result, error) {
	if s.err != nil {
		return nil, s.err
	}
	text, args := s.sql.render(text, p)
	result, err := s.db.ExecContext(ctx, text, args...)
	return result, explain(err)
}

// query sends a statement and reads all of its rows. Before the last one is read, a statement that writes may
// not have been committed.
func (s *service) query(ctx context.Context, text string, p params, scan func(*sql.Rows) error) error {
	if s.err != nil {
		return s.err
	}
	text, args := s.sql.render(text, p)
	rows, err := s.db.QueryContext(ctx, text, args...)
	if err != nil {
		return explain(err)
	}
	for rows.Next() {
		if err := scan(rows); err != nil {
			_ = rows.Close()
			return err
		}
	}
	return explain(errors.Join(rows.Err(), rows.Close()))
}

// busyTries are tries of a statement without a pause, as long as the database is busy.
const busyTries = 3

// Acquire implements [driver.Service]. After the first try, a held lock costs one read.
func (s *service) Acquire(ctx context.Context, r driver.Request) (grant driver.Grant, err error) {
	for range busyTries { // for TryLock
		grant, err = s.acquire(ctx, r)
		if r.Wait || !errors.Is(err, errBusy) {
			break
		}
	}
	return grant, err
}

func (s *service) acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if r.Tries == 0 {
		if token, err := s.take(ctx, r); err != nil || token > 0 {
			return driver.Grant{Token: uint64(token)}, err
		}
	}
	row, err := s.look(ctx, r.Name)
	switch {
	case err != nil:
		return driver.Grant{}, err
	case row.held() && row.owner != r.Owner:
		if row.ahead > 0 {
			if _, err := s.exec(ctx, rebase, params{"name": column(r.Name)}); err != nil {
				return driver.Grant{}, err
			}
		}
		return driver.Grant{}, rmw.ErrContended
	case !row.found && s.sql.seed != "":
		if _, err := s.exec(ctx, s.sql.seed, params{"name": column(r.Name)}); err != nil {
			return driver.Grant{}, err
		}
	}
	token, err := s.take(ctx, r)
	if err == nil && token == 0 {
		err = rmw.ErrContended
	}
	return driver.Grant{Token: uint64(token)}, err
}

// take takes the lock if it is free. The token is 0 if it is not.
func (s *service) take(ctx context.Context, r driver.Request) (token int64, err error) {
	p := params{"name": column(r.Name), "owner": r.Owner, "expiry": s.expiry, "data": r.Data}
	if !s.sql.takeByID {
		err = s.query(ctx, s.sql.take, p, func(rows *sql.Rows) error { return rows.Scan(&token) })
		return token, err
	}
	result, err := s.exec(ctx, s.sql.take, p)
	if err != nil {
		return 0, err
	}
	changed, err := result.RowsAffected()
	if err != nil || changed == 0 {
		return 0, err
	}
	return result.LastInsertId()
}

// row is a row of the table.
type row struct {
	found bool
	owner string
	token int64
	left  int64 // of the lease, in microseconds
	ahead int64 // of the clock: above 0 if that was set back since the last renewal
	data  []byte
}

func (r row) held() bool { return r.owner != "" && r.left > 0 }

func (s *service) look(ctx context.Context, name string) (r row, err error) {
	err = s.query(ctx, look, params{"name": column(name)}, func(rows *sql.Rows) error {
		r.found = true
		return rows.Scan(&r.owner, &r.token, &r.left, &r.ahead, &r.data)
	})
	return r, err
}

// Renew implements [driver.Service].
func (s *service) Renew(ctx context.Context, holds []*driver.Hold) error {
	const most = 512 // locks of a statement
	for len(holds) > 0 {
		n := min(len(holds), most)
		err := s.renew(ctx, holds[:n])
		for try := 1; try < busyTries && errors.Is(err, errBusy); try++ {
			err = s.renew(ctx, holds[:n]) // or a deadlock would put all of them in jeopardy
		}
		if err != nil {
			return err
		}
		holds = holds[n:]
	}
	return nil
}

// renew renews leases with one statement.
func (s *service) renew(ctx context.Context, holds []*driver.Hold) error {
	var names, owners []any
	held := map[string]*driver.Hold{}
	for _, h := range holds {
		if !h.Waiting() {
			names, owners, held[h.Owner()] = append(names, column(h.Name())), append(owners, h.Owner()), h
		}
	}
	if len(held) == 0 {
		return nil
	}
	// Ten lengths instead of 512, since drivers and servers keep prepared statements.
	for length := 1 << bits.Len(uint(len(held)-1)); len(names) < length; {
		names, owners = append(names, names[0]), append(owners, owners[0])
	}
	p := params{"names": names, "owners": owners, "expiry": s.expiry}
	left := len(held)
	prolonged := func(rows *sql.Rows) error {
		var owner string
		err := rows.Scan(&owner)
		delete(held, owner)
		return err
	}
	if s.sql.renewed == "" {
		if err := s.query(ctx, s.sql.renew, p, prolonged); err != nil {
			return err
		}
	} else {
		result, err := s.exec(ctx, s.sql.renew, p)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if err != nil || n == int64(left) {
			return err
		}
		if err := s.query(ctx, s.sql.renewed, p, prolonged); err != nil {
			return err
		}
	}
	for _, h := range held {
		h.Lose(lock.LossTaken, "its row in the table unwatch_locks has expired, or belongs to another owner")
	}
	return nil
}

// Release implements [driver.Service]. The row stays, so that tokens go on from it.
func (s *service) Release(ctx context.Context, name, owner string) error {
	_, err := s.exec(ctx, release, params{"name": column(name), "owner": owner})
	return err
}

// Inspect implements [driver.Service].
func (s *service) Inspect(ctx context.Context, name string) (lock.Info, error) {
	r, err := s.look(ctx, name)
	if err != nil || !r.held() {
		return lock.Info{}, err
	}
	return lock.Info{
		Sequencer: lock.Sequencer{Name: name, Owner: r.owner, Token: uint64(r.token)},
		Held:      true,
		Left:      time.Duration(r.left) * time.Microsecond,
		Data:      r.data,
	}, nil
}

// guard requires that a sequencer is valid until the end of the transaction.
func (s *service) guard(ctx context.Context, tx *sql.Tx, q lock.Sequencer) error {
	switch {
	case s.err != nil:
		return s.err
	case tx == nil:
		return fmt.Errorf("%w: the *sql.Tx is nil; begin a transaction", rmw.ErrInvalid)
	case q.Owner == "": // as in the row of a free lock
		return fmt.Errorf("%w: the sequencer has no owner; pass that of lock.SequencerOf; roll back", rmw.ErrLockLost)
	}
	text, args := s.sql.render(s.sql.guard, params{"name": column(q.Name), "owner": q.Owner, "token": int64(q.Token)})
	var found int64
	var err error
	if s.sql.guardWrites {
		var result sql.Result
		if result, err = tx.ExecContext(ctx, text, args...); err == nil {
			found, err = result.RowsAffected()
		}
	} else {
		err = tx.QueryRowContext(ctx, text, args...).Scan(&found)
	}
	switch {
	case err == nil && found == 0, errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("%w: another process has taken it since, or it is no lock of this table; roll back", rmw.ErrLockLost)
	}
	return explain(err)
}
