// Command fencing guards a SQL table with lock.Token, and with a Guard. It needs no server: Redis, a Codis proxy
// in front of it and SQLite all run in this process.
//
//	go run .
//
// # Why
//
// lockupdate.Store.Update guards its writes to Redis. WithLock cannot guard a write to another store: the
// process can stall between its last check of ctx and its write, for a garbage collection, a suspended
// machine or a slow network. Meanwhile the lease ends, and another process takes the lock and writes. The
// late write then overwrites the newer one without an error.
//
// The other store can detect the late write. Each later holder of the lock gets a greater token, the row
// keeps the greatest token that has written it, and a write with a smaller one changes no row. This example
// uses SQLite; with PostgreSQL it is
//
//	CREATE TABLE rooms (id text PRIMARY KEY, state text NOT NULL, token bigint NOT NULL);
//	UPDATE rooms SET state = $1, token = $2 WHERE id = $3 AND token <= $2;
//
// # How to use it
//
//   - Check the number of affected rows: 0 means that a later holder has written. It
//     is also 0 if there is no such row, so create it first, with token 0. MySQL does
//     not count an unchanged row unless clientFoundRows=true.
//   - Check and write in one statement, so that no other write comes between. If
//     there are more statements, put them into one transaction and roll back when one is refused.
//   - Use <= and not <, because one holder may write more than once.
//
// A write that depends on a read needs a read that raises the token, or a late write could still come
// between the two:
//
//	UPDATE rooms SET token = $1 WHERE id = $2 AND token <= $1 RETURNING state;
//
// # Without tokens
//
// If the lock is a row of the same database, the transaction of a write can check it, by Guard of package sqllock.
// Then no row needs a token. The second part of this example sells with a token, with Guard, and with neither.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
)

func main() {
	ok, err := run(context.Background(), os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fencing:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// run plays the stall with the token and without it, and then the sale. It reports whether all have the expected
// outcome.
func run(ctx context.Context, out io.Writer) (ok bool, err error) {
	fenced, err := play(ctx, out, fencedWrite)
	if err != nil {
		return false, err
	}
	control, err := play(ctx, out, plainWrite)
	if err != nil {
		return false, err
	}
	ok, text := verdict(fenced, control)
	say(out, "%s\n", text)
	sold, err := oversell(ctx, out)
	return ok && sold, err
}

// verdict checks the final states. The control must lose the write: otherwise the stall proves nothing.
func verdict(fenced, control string) (ok bool, text string) {
	switch {
	case fenced != newer:
		return false, "FAILED: the newer write is lost in spite of its token."
	case control != late:
		return false, "FAILED: without the token nothing is lost, so this proves nothing."
	}
	return true, "OK: the token kept the newer write; without it, it was lost."
}

func say(out io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }
