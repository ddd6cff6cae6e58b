package sqllock_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"

	"github.com/unwatch/unwatch/adapters/sqllock"
	"github.com/unwatch/unwatch/internal/testing/contract"
	"github.com/unwatch/unwatch/internal/testing/servers"
)

// database is a database of a test.
type database struct {
	dialect sqllock.Dialect
	// open returns a pool of its own, and the network below it.
	open func(tb testing.TB) (*sql.DB, network)
	// lockDelay and maxHold are those of the Lockers of the suite, as is lease; 0: the constant.
	lease, lockDelay, maxHold time.Duration
	// strict returns a pool whose transactions are serializable; nil if all are.
	strict func(tb testing.TB) *sql.DB
	// restart kills the server and starts it again; nil if there is none.
	restart func(tb testing.TB)
	// readOnly returns a pool that may not write.
	readOnly func(tb testing.TB) *sql.DB
	// frozen returns a pool for which the clock stands still; nil if there is none.
	frozen func(tb testing.TB) *sql.DB
	// sharedLock is a Guard that a renewal has to wait for; "" if there is none.
	sharedLock string
}

// network disturbs the connections of a pool. Without a real network, replies and requests cannot be held.
type network interface {
	Cut() (restore func())
	Break()
}

// each runs a test over each database, with a table.
func each(t *testing.T, test func(t *testing.T, d database)) {
	t.Helper()
	all := map[string]func(tb testing.TB) database{"SQLite": openSQLite, "PostgreSQL": openPostgreSQL, "MariaDB": openMariaDB}
	for name, open := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			db, _ := d.open(t)
			require.NoError(t, sqllock.Migrate(t.Context(), db, d.dialect))
			test(t, d)
		})
	}
}

// settings are what the suite knows without a server.
func settings(d sqllock.Dialect) database {
	switch d {
	case sqllock.PostgreSQL:
		return database{dialect: d, lockDelay: time.Second}
	case sqllock.SQLite:
		return database{dialect: d, maxHold: 4 * lease}
	}
	return database{dialect: d}
}

func openPostgreSQL(tb testing.TB) database {
	server := servers.Postgres(tb, "max_connections=200")
	open := func(tb testing.TB, options string) (*sql.DB, network) {
		cfg, err := pgx.ParseConfig(fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable%s", server.Addr, options))
		require.NoError(tb, err)
		network := &contract.Network{}
		cfg.DialFunc = network.Dialer(new(net.Dialer).DialContext)
		return closed(tb, stdlib.OpenDB(*cfg)), network
	}
	return database{
		dialect:   sqllock.PostgreSQL,
		lockDelay: settings(sqllock.PostgreSQL).lockDelay,
		open:      func(tb testing.TB) (*sql.DB, network) { return open(tb, "") },
		readOnly:  func(tb testing.TB) *sql.DB { db, _ := open(tb, "&default_transaction_read_only=on"); return db },
		strict: func(tb testing.TB) *sql.DB {
			db, _ := open(tb, "&default_transaction_isolation=serializable")
			return db
		},
		restart:    func(tb testing.TB) { restart(tb, server) },
		sharedLock: `SELECT 1 FROM unwatch_locks FOR SHARE`,
	}
}

func openMariaDB(tb testing.TB) database {
	server := servers.MariaDB(tb, "--max-connections=200")
	open := func(tb testing.TB, variables map[string]string) (*sql.DB, network) {
		network := &contract.Network{}
		cfg := mysql.NewConfig()
		cfg.User, cfg.Net, cfg.Addr, cfg.DBName, cfg.Logger = "test", "tcp", server.Addr, "test", &mysql.NopLogger{}
		cfg.DialFunc = network.Dialer(new(net.Dialer).DialContext)
		cfg.Params = variables
		connector, err := mysql.NewConnector(cfg)
		require.NoError(tb, err)
		return closed(tb, sql.OpenDB(connector)), network
	}
	return database{
		dialect: sqllock.MySQL,
		open:    func(tb testing.TB) (*sql.DB, network) { return open(tb, nil) },
		restart: func(tb testing.TB) { restart(tb, server) },
		strict: func(tb testing.TB) *sql.DB {
			db, _ := open(tb, map[string]string{"tx_isolation": "'SERIALIZABLE'"})
			return db
		},
		readOnly: func(tb testing.TB) *sql.DB {
			db, _ := open(tb, map[string]string{"tx_read_only": "1"})
			return db
		},
		frozen: func(tb testing.TB) *sql.DB {
			db, _ := open(tb, map[string]string{"timestamp": strconv.FormatInt(time.Now().Unix(), 10)})
			return db
		},
		sharedLock: `SELECT 1 FROM unwatch_locks LOCK IN SHARE MODE`,
	}
}

func openSQLite(tb testing.TB) database {
	file := "file:" + filepath.Join(tb.TempDir(), "locks.db")
	return database{
		dialect: sqllock.SQLite,
		maxHold: settings(sqllock.SQLite).maxHold,
		open: func(tb testing.TB) (*sql.DB, network) {
			c := &connector{name: file + "?_pragma=busy_timeout(2000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)"}
			return closed(tb, sql.OpenDB(c)), c
		},
		readOnly: func(tb testing.TB) *sql.DB {
			db, err := sql.Open("sqlite", file+"?mode=ro")
			require.NoError(tb, err)
			return closed(tb, db)
		},
	}
}

func restart(tb testing.TB, server *servers.Server) {
	require.NoError(tb, server.Kill())
	require.NoError(tb, server.Restart(tb.Context()))
}

// exec executes a statement in a database or a transaction.
func exec(tb testing.TB, db interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}, text string, args ...any,
) {
	tb.Helper()
	_, err := db.ExecContext(tb.Context(), text, args...)
	require.NoError(tb, err)
}

func closed(tb testing.TB, db *sql.DB) *sql.DB {
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

// connector opens connections to SQLite that can be cut, which has no network.
type connector struct {
	name   string
	isCut  atomic.Bool
	breaks atomic.Int64
	sent   atomic.Int64 // statements
	busy   atomic.Int64 // the next statements that find the database busy
}

func (c *connector) Driver() driver.Driver { return &sqlite.Driver{} }

func (c *connector) Connect(context.Context) (driver.Conn, error) {
	if c.isCut.Load() {
		return nil, errors.New("cut off by a test")
	}
	opened, err := c.Driver().Open(c.name)
	if err != nil {
		return nil, err
	}
	return &conn{opened.(sqliteConn), c, c.breaks.Load()}, nil
}

func (c *connector) Cut() (restore func()) {
	c.isCut.Store(true)
	return func() { c.isCut.Store(false) }
}

func (c *connector) Break() { c.breaks.Add(1) }

type sqliteConn interface {
	driver.Conn
	driver.ExecerContext
	driver.QueryerContext
	driver.ConnBeginTx
}

// conn is a connection that the pool discards before its next use when it is cut.
type conn struct {
	sqliteConn
	connector *connector
	breaks    int64 // of the connector when it was opened
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.connector.sent.Add(1)
	return c.sqliteConn.ExecContext(ctx, query, args)
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.connector.sent.Add(1)
	if c.connector.busy.Add(-1) >= 0 {
		return nil, errors.New("database is locked (5) (SQLITE_BUSY)")
	}
	return c.sqliteConn.QueryContext(ctx, query, args)
}

func (c *conn) ResetSession(context.Context) error {
	if c.connector.isCut.Load() || c.connector.breaks.Load() > c.breaks {
		return driver.ErrBadConn
	}
	return nil
}
