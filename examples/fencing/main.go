// Command fencing guards a SQL table with lock.Token. It needs no server:
// Redis, a Codis proxy in front of it and SQLite all run in this process.
//
//	go run .
//
// # Why
//
// What lockupdate.Store.Update writes to Redis is guarded. What a function under
// WithLock writes elsewhere is not: its process can stall between its last look at
// ctx and its write, for a garbage collection, a suspended machine or a slow network,
// until the lease has ended and somebody else has taken the lock and written. The
// late write then wipes the newer one, and nobody is told.
//
// The store itself can tell who is late. Whoever gets the lock later draws a greater
// token, the row remembers the greatest that has written it, and a write with a
// smaller one changes no row. Here with SQLite; with PostgreSQL it is
//
//	CREATE TABLE rooms (id text PRIMARY KEY, state text NOT NULL, token bigint NOT NULL);
//	UPDATE rooms SET state = $1, token = $2 WHERE id = $3 AND token <= $2;
//
// # How to use it
//
//   - Look at the number of rows affected: 0 means that a later holder was there. It
//     is also 0 if there is no such row, so create it first, with token 0. MySQL does
//     not count a row that stays as it was, unless told to: clientFoundRows=true.
//   - Check and write are one statement, so that nothing comes between them. Where
//     there are more, put them into one transaction and roll back when one is refused.
//   - It is <= and not <, because one holder may write more than once.
//
// A write that depends on what was read needs a read that raises the token, or a late
// write could still come between the two:
//
//	UPDATE rooms SET token = $1 WHERE id = $2 AND token <= $1 RETURNING state;
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

// run plays the same stall twice, with the token and without it, and reports whether
// the outcome is as it should be.
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
	return ok, nil
}

// verdict judges the states that are left. A control that loses nothing is a failure
// too: a stall that does no harm anyway proves nothing.
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
