package torture

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/unwatch/unwatch/adapters/sqllock"
	"github.com/unwatch/unwatch/internal/testing/servers"
)

// postgres is a primary with an asynchronous replica. The nemesis replaces both, while clients look for the
// primary.
type postgres struct {
	primary atomic.Pointer[servers.Server]
	replica *servers.Server
	// replicate starts a replica of the primary, which lives as long as the environment.
	replicate func() (*servers.Server, error)
}

func startPostgres(ctx context.Context, s *Environment, dir string) error {
	const connections = "max_connections=200"
	primary, err := servers.StartPostgres(ctx, filepath.Join(dir, "0"), connections)
	if err != nil {
		return err
	}
	s.end = append(s.end, primary.Stop)
	p := &postgres{}
	p.primary.Store(primary)
	s.postgres = p
	made := 0
	p.replicate = func() (*servers.Server, error) {
		made++
		replica, err := servers.StartPostgresReplica(ctx, filepath.Join(dir, fmt.Sprint(made)), p.primary.Load(), connections)
		if err == nil {
			s.end = append(s.end, replica.Stop)
		}
		return replica, err
	}
	db, err := p.open()
	if err != nil {
		return err
	}
	if err := errors.Join(sqllock.Migrate(ctx, db, sqllock.PostgreSQL), db.Close()); err != nil {
		return err
	}
	p.replica, err = p.replicate()
	return err
}

// open returns a pool that connects to the server that is the primary by then.
func (p *postgres) open() (*sql.DB, error) {
	cfg, err := pgx.ParseConfig("postgres://postgres@127.0.0.1/postgres?sslmode=disable")
	if err != nil {
		return nil, err
	}
	cfg.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: time.Second}).DialContext(ctx, network, p.primary.Load().Addr)
	}
	return stdlib.OpenDB(*cfg), nil
}

// ask executes statements at a server, each by itself.
func ask(ctx context.Context, server *servers.Server, statements ...string) error {
	conn, err := pgx.Connect(ctx, fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable", server.Addr))
	if err != nil {
		return err
	}
	for _, text := range statements {
		if _, again := conn.Exec(ctx, text); again != nil {
			err = fmt.Errorf("%s: %w", text, again)
			break
		}
	}
	return errors.Join(err, conn.Close(ctx))
}

func openSQL(s *Environment, _ int) (opened, error) {
	db, err := s.postgres.open()
	if err != nil {
		return opened{}, err
	}
	locks := sqllock.New(db, sqllock.PostgreSQL, sqllock.Config{Config: serviceConfig(), CleanEvery: -1})
	return opened{store: locks, also: []io.Closer{db}}, nil
}

// atPostgres returns the nemeses of a primary with a replica.
func atPostgres() []Nemesis {
	return []Nemesis{
		{Name: "server-kill", About: "PostgreSQL is killed, and restarts with all that it had acknowledged",
			every: 300 * time.Millisecond, least: serviceLeast,
			inject: func(ctx context.Context, c *injection) error { return c.killed(ctx, c.postgres.primary.Load()) }},
		{Name: "server-stop", About: "PostgreSQL and its backends stand still (SIGSTOP), for up to two leases",
			every: 300 * time.Millisecond, least: serviceLeast,
			inject: func(ctx context.Context, c *injection) error {
				return c.stalled(ctx, c.postgres.primary.Load(), lease, 2*holdLease)
			}},
		{Name: "terminate", About: "pg_terminate_backend of all connections", every: 100 * time.Millisecond, least: serviceLeast,
			inject: func(ctx context.Context, c *injection) error {
				c.note("pg_terminate_backend")
				return ask(context.WithoutCancel(ctx), c.postgres.primary.Load(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
					WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`)
			}},
		{Name: "promote", About: "an asynchronous replica receives nothing for up to a lease, the primary dies, and the replica is promoted",
			every: 500 * time.Millisecond, least: serviceLeast, forgets: true, inject: promote},
	}
}

// promote replaces the primary by its replica, which may lack its last transactions.
func promote(ctx context.Context, c *injection) error {
	p, life := c.postgres, context.WithoutCancel(ctx) // the next cell needs a primary
	d := within(c.rng, 0, holdLease)
	c.note("the replica is %v behind, and promoted", d)
	if err := ask(life, p.replica, `ALTER SYSTEM SET primary_conninfo = ''`, `SELECT pg_reload_conf()`); err != nil {
		return err
	}
	_ = pause(ctx, d)
	if err := p.primary.Load().Kill(); err != nil {
		return err
	}
	if err := ask(life, p.replica, `SELECT pg_promote()`); err != nil {
		return err
	}
	p.primary.Store(p.replica)
	replica, err := p.replicate()
	p.replica = replica
	return err
}

// advisory is a session lock of PostgreSQL. Its holder does not notice the end of its connection.
type advisory struct{ *sql.DB }

func openAdvisory(s *Environment, _ int) (opened, error) {
	db, err := s.postgres.open()
	return opened{store: advisory{db}}, err
}

// WithLock implements withLock.
func (a advisory) WithLock(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	conn, err := a.Conn(ctx)
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock(hashtext($1))`, name); err != nil {
		return errors.Join(err, conn.Close())
	}
	err = fn(ctx)
	_, again := conn.ExecContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock(hashtext($1))`, name)
	return errors.Join(err, again, conn.Close())
}
