package main

import (
	"context"
	"database/sql"
	"errors"

	_ "modernc.org/sqlite" // the driver: SQLite in Go, without cgo
)

// Each statement takes the state, the token and the id. It checks and writes in one step.
const (
	fencedWrite = `UPDATE rooms SET state = ?1, token = ?2 WHERE id = ?3 AND token <= ?2`
	plainWrite  = `UPDATE rooms SET state = ?1, token = ?2 WHERE id = ?3` // the negative control
)

// errStale reports that a later holder of the lock has written.
var errStale = errors.New("stale token: a later holder has written")

// rooms is a table of rooms, each with the greatest token that has written it.
type rooms struct {
	db    *sql.DB
	write string // the statement
}

// openRooms returns a table in memory, with one empty room.
func openRooms(ctx context.Context, write, id string) (*rooms, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // each connection would have its own database
	_, err = db.ExecContext(ctx, `
		CREATE TABLE rooms (id TEXT PRIMARY KEY, state TEXT NOT NULL, token INTEGER NOT NULL);
		INSERT INTO rooms VALUES (?, '', 0)`, id)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &rooms{db: db, write: write}, nil
}

// set writes the state of a room, or returns errStale.
func (r *rooms) set(ctx context.Context, id, state string, token uint64) error {
	res, err := r.db.ExecContext(ctx, r.write, state, token, id)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		return errStale
	}
	return err
}

func (r *rooms) state(ctx context.Context, id string) (state string, err error) {
	err = r.db.QueryRowContext(ctx, `SELECT state FROM rooms WHERE id = ?`, id).Scan(&state)
	return state, err
}

func (r *rooms) close() error { return r.db.Close() }
