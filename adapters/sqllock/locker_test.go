package sqllock_test

import (
	"cmp"
	"context"
	"database/sql"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/adapters/sqllock"
	"github.com/unwatch/unwatch/internal/docs/doccheck"
	"github.com/unwatch/unwatch/internal/testing/contract"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/lock/locktest"
)

const lease = 2 * time.Second

// locker opens a Locker with a pool of its own.
func (d database) locker(tb testing.TB, cfg driver.Config) (*sqllock.Locker, network) {
	db, network := d.open(tb)
	return lockerOver(tb, db, d.dialect, cfg), network
}

func lockerOver(tb testing.TB, db *sql.DB, d sqllock.Dialect, cfg driver.Config) *sqllock.Locker {
	l := sqllock.New(db, d, sqllock.Config{Config: cfg})
	tb.Cleanup(func() { assert.NoError(tb, l.Close()) })
	return l
}

func testSuite(t *testing.T, d database) {
	long.Only(t)
	admin, _ := d.open(t)
	locktest.Run(t, func(t *testing.T) locktest.Target {
		target := d.target(t, admin)
		target.ReleasedWithin = lease / 3 // WithLock waits an eighth of a lease for the release, which a busy machine may exceed
		return target
	})
}

// A Locker over each database passes the clauses that wait for no lease. So theirs outlasts the pauses of a busy machine.
func TestLocker(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d database) {
		d.lease, d.maxHold = 20*time.Second, 0
		admin, _ := d.open(t)
		locktest.RunQuick(t, func(t *testing.T) locktest.Target { return d.target(t, admin) })
	})
}

// A lock can be held for many leases.
func TestLongForEver(t *testing.T) {
	t.Parallel()
	long.Only(t)
	each(t, func(t *testing.T, d database) {
		d.maxHold = 0
		admin, _ := d.open(t)
		locktest.Run(t, func(t *testing.T) locktest.Target {
			endless := d.target(t, admin)
			endless.Patience = 64 * time.Second
			return endless
		}, "for-ever")
	})
}

// target is the subject of the suite.
func (d database) target(t *testing.T, admin *sql.DB) locktest.Target {
	networks, clocks := map[lock.Locker]network{}, map[lock.Locker]*contract.Clock{}
	cfg := driver.Config{Lease: cmp.Or(d.lease, lease), LockDelay: d.lockDelay, MaxHold: d.maxHold}
	target := locktest.Target{
		Open: func(tb testing.TB) lock.Locker {
			clock, cfg := &contract.Clock{}, cfg
			cfg.Now = clock.Now
			l, network := d.locker(tb, cfg)
			networks[l], clocks[l] = network, clock
			return l
		},
		Observe: func(tb testing.TB, o lock.Observer) lock.Locker {
			cfg := cfg
			cfg.Observer = o
			l, network := d.locker(tb, cfg)
			networks[l] = network
			return l
		},
		Share: func(tb testing.TB) (a, b lock.Locker) {
			db, _ := d.open(tb)
			return lockerOver(tb, db, d.dialect, cfg), lockerOver(tb, db, d.dialect, cfg)
		},
		Reentrant: true,
		Tokens:    true,
		Lease:     cfg.Lease,
		LockDelay: d.lockDelay,
		MaxHold:   d.maxHold,
		Jeopardy:  true,
		Checks:    true,
		Inspects:  true,
		Data:      true,
		Faults: locktest.Faults{
			TakeAway:  func(ctx context.Context, name string) error { return d.takeAway(ctx, admin, name) },
			Cut:       func(l lock.Locker) func() { return networks[l].Cut() },
			Stall:     func(l lock.Locker, d time.Duration) { clocks[l].Stall(d) },
			Reconnect: func(l lock.Locker) { networks[l].Break() },
			Clock: func(d time.Duration) { // all times in the table move to the other side
				by := strconv.FormatInt(d.Microseconds(), 10)
				const set = `UPDATE unwatch_locks SET expires = expires - (?), renewed = renewed - (?), taken = taken - (?)`
				exec(t, admin, strings.ReplaceAll(set, `?`, by))
			},
		},
	}
	if d.dialect != sqllock.SQLite { // there is a server, and a network
		target.Faults.Forget = func() { exec(t, admin, `DELETE FROM unwatch_locks`) }
		target.Faults.Restart = func() { d.restart(t) }
		target.Faults.LoseReply = func(l lock.Locker) func() { return networks[l].(*contract.Network).LoseReplies() }
		target.Faults.Late = func(l lock.Locker) func() { return networks[l].(*contract.Network).Delay() }
	}
	return target
}

// row is a part of a statement: the row of a lock.
func (d database) row() string {
	if d.dialect == sqllock.PostgreSQL {
		return ` WHERE name = $1`
	}
	return ` WHERE name = ?`
}

// takeAway frees a lock behind its holder's back.
func (d database) takeAway(ctx context.Context, db *sql.DB, name string) error {
	_, err := db.ExecContext(ctx, `UPDATE unwatch_locks SET owner = ''`+d.row(), []byte(name))
	return err
}

// A Locker over each database passes the suite for Lockers, and the tests of this package.
func TestLongDatabases(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		for _, test := range []struct {
			name string
			run  func(*testing.T, database)
		}{
			{"suite", testSuite},
			{"repeated requests", testRepeatedRequests},
			{"tokens go on", testTokensGoOn},
			{"clock set back", testClockSetBack},
			{"clock stands still", testClockStandsStill},
			{"connections do not matter", testConnectionsDoNotMatter},
			{"serializable", testSerializable},
			{"restart", testRestart},
			{"long names", testLongNames},
			{"Guard refuses late writes", testGuardRefusesLateWrites},
			{"Guard keeps others out", testGuardKeepsOthersOut},
			{"renewal passes Guard", testRenewalPassesGuard},
			{"Guard refuses", testGuardRefuses},
			{"clean", testClean},
			{"clean passes others", testCleanPassesOthers},
			{"errors", testErrors},
		} {
			t.Run(test.name, func(t *testing.T) { test.run(t, d) })
		}
	})
}

// The declarations and the skipped clauses are rows of the documentation.
func TestDocumentedRows(t *testing.T) {
	require.NoError(t, doccheck.HasLines("../../docs/locks.md", database{lockDelay: time.Second}.target(t, nil).Row("SQL")))
	for name, d := range map[string]sqllock.Dialect{"PostgreSQL": sqllock.PostgreSQL, "MariaDB": sqllock.MySQL, "SQLite": sqllock.SQLite} {
		require.NoError(t, doccheck.HasLines("../../docs/results/locks.md", settings(d).target(t, nil).Skipped(name)))
	}
}
