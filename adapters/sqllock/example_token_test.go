package sqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/adapters/sqllock"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
)

// inMemory opens an empty SQLite database and runs statements.
func inMemory(statements string) *sql.DB {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		panic(err)
	}
	db.SetMaxOpenConns(1) // each connection would have its own database
	if _, err := db.Exec(statements); err != nil {
		panic(err)
	}
	return db
}

// snippet:token
// setState writes a room. It checks the token and writes in one statement, so that no other write comes between.
func setState(ctx context.Context, rooms *sql.DB, id, state string) error {
	token, err := lock.Token(ctx)
	if err != nil {
		return err
	}
	res, err := rooms.ExecContext(ctx, `UPDATE rooms SET state = ?1, token = ?2 WHERE id = ?3 AND token <= ?2`, state, token, id)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 {
		return err
	}
	return errors.New("refused: a later holder has written")
}

// endsnippet

// setUnchecked is the negative control: it ignores the token.
func setUnchecked(ctx context.Context, rooms *sql.DB, id, state string) error {
	_, err := rooms.ExecContext(ctx, `UPDATE rooms SET state = ? WHERE id = ?`, state, id)
	return err
}

// The rows are in another database than the locks, so Guard cannot protect them. Ada stalls past her lease, and Bob gets
// the lock and writes. The token refuses Ada's late write. Without the token, Bob's write is lost.
func Example_token() {
	ctx := context.Background()
	rooms := inMemory(`CREATE TABLE rooms (id text PRIMARY KEY, state text NOT NULL, token bigint NOT NULL);
		INSERT INTO rooms VALUES ('7', '', 0), ('8', '', 0)`)
	defer func() { _ = rooms.Close() }()
	db := inMemory(``)
	defer func() { _ = db.Close() }()
	if err := sqllock.Migrate(ctx, db, sqllock.SQLite); err != nil {
		panic(err)
	}
	cfg := sqllock.Config{Config: driver.Config{Lease: time.Minute}}
	ada, bob := sqllock.New(db, sqllock.SQLite, cfg), sqllock.New(db, sqllock.SQLite, cfg)
	defer func() { _ = errors.Join(ada.Close(), bob.Close()) }()

	for id, set := range map[string]func(ctx context.Context, rooms *sql.DB, id, state string) error{"7": setState, "8": setUnchecked} {
		err := ada.WithLock(ctx, id, func(adas context.Context) error {
			if _, err := db.ExecContext(ctx, `UPDATE unwatch_locks SET expires = 0`); err != nil { // the lease ends
				return err
			}
			if err := bob.WithLock(ctx, id, func(ctx context.Context) error { return set(ctx, rooms, id, "bob was here") }); err != nil {
				return err
			}
			if err := adas.Err(); err != nil { // ada has not noticed
				return err
			}
			return set(adas, rooms, id, "ada is late")
		})
		var state string
		if err := rooms.QueryRowContext(ctx, `SELECT state FROM rooms WHERE id = ?`, id).Scan(&state); err != nil {
			panic(err)
		}
		fmt.Printf("room %s: ada: %v; %s\n", id, err, state)
	}
	// Unordered output:
	// room 7: ada: refused: a later holder has written; bob was here
	// room 8: ada: <nil>; ada is late
}

// A write that depends on a read needs a read that raises the token. After a plain read, a late write of an earlier
// holder could still come before the first write of the later one.
func Example_tokenRead() {
	ctx := context.Background()
	const write = `UPDATE rooms SET state = ?1, token = ?2 WHERE token <= ?2`
	for _, read := range []string{
		`SELECT state FROM rooms WHERE ?1 > 0`, // the negative control
		`UPDATE rooms SET token = ?1 WHERE token <= ?1 RETURNING state`,
	} {
		rooms := inMemory(`CREATE TABLE rooms (state text NOT NULL, token bigint NOT NULL); INSERT INTO rooms VALUES ('by 5', 5)`)
		var state string
		if err := rooms.QueryRowContext(ctx, read, 6).Scan(&state); err != nil {
			panic(err)
		}
		res, err := rooms.ExecContext(ctx, write, "late, by 5", 5)
		if err != nil {
			panic(err)
		}
		rows, _ := res.RowsAffected()
		fmt.Println(state, "is read by 6; late writes:", rows)
		_ = rooms.Close()
	}
	// Output:
	// by 5 is read by 6; late writes: 1
	// by 5 is read by 6; late writes: 0
}
