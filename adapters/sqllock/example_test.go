package sqllock_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/unwatch/unwatch/adapters/sqllock"
	"github.com/unwatch/unwatch/lock"
)

// A sale is exclusive, because the lock and the stock are in the same database.
func Example() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1) // each connection would have its own database
	if err := sqllock.Migrate(ctx, db, sqllock.SQLite); err != nil {
		panic(err)
	}
	if _, err := db.ExecContext(ctx, `CREATE TABLE stock (remaining int); INSERT INTO stock VALUES (7)`); err != nil {
		panic(err)
	}
	locks := sqllock.New(db, sqllock.SQLite, sqllock.Config{})
	defer func() { _ = locks.Close() }()

	ctx = lock.WithData(ctx, []byte("sale 1")) // for operators
	// snippet:guard
	err = locks.WithLock(ctx, "stock", func(ctx context.Context) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		if err := locks.Guard(ctx, tx); err != nil { // before all that depends on the lock
			return err
		}
		var left int
		if err := tx.QueryRowContext(ctx, `SELECT remaining FROM stock`).Scan(&left); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE stock SET remaining = ?`, left-1); err != nil {
			return err
		}
		fmt.Println(left-1, "left")
		return tx.Commit()
	})
	// endsnippet
	fmt.Println(err)
	// Output:
	// 6 left
	// <nil>
}
