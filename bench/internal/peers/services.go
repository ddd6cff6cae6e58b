package peers

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/go-zookeeper/zk"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"modernc.org/sqlite"

	"github.com/unwatch/unwatch/adapters/etcdlock"
	"github.com/unwatch/unwatch/adapters/sqllock"
	"github.com/unwatch/unwatch/adapters/zklock"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/lockupdate/redlock"
)

// The Lockers of the bench. Options.Commands counts commands of Redis, requests of etcd and ZooKeeper, and
// statements of databases. The clients end with the process.

func openRedisLock(o Options) (lock.Locker, error) {
	return lockupdate.New(Client(o), lockupdate.Config{Lease: lease}), nil
}

// openRedlock takes several addresses, with commas between them.
func openRedlock(o Options) (lock.Locker, error) {
	var nodes []redlock.Node
	for addr := range strings.SplitSeq(o.Addr, ",") {
		one := o
		one.Addr = addr
		nodes = append(nodes, Client(one))
	}
	return redlock.New(nodes, redlock.Config{Lease: lease}), nil
}

func openEtcdLock(o Options) (lock.Locker, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{o.Addr}, DialOptions: []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(
			ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
		) error {
			o.Commands.Add(1)
			return invoke(ctx, method, req, reply, conn, opts...)
		}),
		grpc.WithChainStreamInterceptor(func(
			ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption,
		) (grpc.ClientStream, error) {
			stream, err := open(ctx, desc, conn, method, opts...)
			return countedStream{stream, o.Commands}, err
		}),
	}})
	if err != nil {
		return nil, err
	}
	return etcdlock.New(client, driver.Config{Lease: lease}), nil
}

// countedStream counts watches and renewals, which share a stream.
type countedStream struct {
	grpc.ClientStream
	n *atomic.Int64
}

func (s countedStream) SendMsg(m any) error {
	s.n.Add(1)
	return s.ClientStream.SendMsg(m)
}

func openZooKeeperLock(o Options) (lock.Locker, error) {
	return zklock.New([]string{o.Addr}, zklock.Config{
		Config: driver.Config{Lease: lease},
		Dial: func(network, addr string, timeout time.Duration) (net.Conn, error) {
			conn, err := zk.Dialer(net.DialTimeout)(network, addr, timeout)
			return countedWrites{conn, o.Commands}, err
		},
	})
}

// countedWrites counts requests of a client that writes each one by itself.
type countedWrites struct {
	net.Conn
	n *atomic.Int64
}

func (c countedWrites) Write(p []byte) (int, error) {
	c.n.Add(1)
	return c.Conn.Write(p)
}

func openPostgreSQLLock(o Options) (lock.Locker, error) {
	cfg, err := pgx.ParseConfig("postgres://postgres@" + o.Addr + "/postgres?sslmode=disable")
	if err != nil {
		return nil, err
	}
	return openSQLLock(o, sqllock.PostgreSQL, stdlib.GetConnector(*cfg))
}

func openMariaDBLock(o Options) (lock.Locker, error) {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr, cfg.DBName, cfg.InterpolateParams = "test", "tcp", o.Addr, "test", true
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	return openSQLLock(o, sqllock.MySQL, connector)
}

func openSQLiteLock(o Options) (lock.Locker, error) {
	return openSQLLock(o, sqllock.SQLite, sqliteFile(o.Addr))
}

// sqliteFile opens a file that several processes share.
type sqliteFile string

func (f sqliteFile) Driver() sqldriver.Driver { return &sqlite.Driver{} }

func (f sqliteFile) Connect(context.Context) (sqldriver.Conn, error) {
	return f.Driver().Open("file:" + string(f) + "?_pragma=busy_timeout(2000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
}

func openSQLLock(o Options, d sqllock.Dialect, c sqldriver.Connector) (lock.Locker, error) {
	db := sql.OpenDB(countedConnector{c, o.Commands})
	ctx, cancel := context.WithTimeout(context.Background(), lease)
	defer cancel()
	if err := sqllock.Migrate(ctx, db, d); err != nil {
		return nil, err
	}
	return sqllock.New(db, d, sqllock.Config{Config: driver.Config{Lease: lease}}), nil
}

// countedConnector counts statements.
type countedConnector struct {
	sqldriver.Connector
	n *atomic.Int64
}

func (c countedConnector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return countedConn{conn.(sqlConn), c.n}, nil
}

type sqlConn interface {
	sqldriver.Conn
	sqldriver.ExecerContext
	sqldriver.QueryerContext
}

type countedConn struct {
	sqlConn
	n *atomic.Int64
}

func (c countedConn) ExecContext(ctx context.Context, text string, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	c.n.Add(1)
	return c.sqlConn.ExecContext(ctx, text, args)
}

func (c countedConn) QueryContext(ctx context.Context, text string, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	c.n.Add(1)
	return c.sqlConn.QueryContext(ctx, text, args)
}

func (c countedConn) CheckNamedValue(v *sqldriver.NamedValue) error {
	if own, ok := c.sqlConn.(sqldriver.NamedValueChecker); ok {
		return own.CheckNamedValue(v)
	}
	return sqldriver.ErrSkip
}
