package zklock_test

import (
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/unwatch/unwatch/adapters/zklock"
)

// The operations of ZooKeeper's protocol that the tests name.
const (
	opCreate          = 1
	opDelete          = 2
	opExists          = 3
	opGetData         = 4
	opSync            = 9
	opPing            = 11
	opGetChildren     = 12
	opMulti           = 14
	opCreateContainer = 19
	opSetWatches      = 101
)

// wire records the requests of one Locker, and can lose replies. The zero wire works.
type wire struct {
	connections atomic.Int32

	mu       sync.Mutex
	requests []int32
	lose     int32 // the operation whose next reply is lost; 0: none
}

func (w *wire) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	c, err := net.DialTimeout(network, address, timeout)
	w.connections.Add(1)
	return &wireConn{Conn: c, wire: w}, err
}

// take returns the requests since the last take, without those of the session.
func (w *wire) take() (requests []int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, op := range w.requests {
		if op != opPing && op != opSetWatches {
			requests = append(requests, op)
		}
	}
	w.requests = nil
	return requests
}

// takeCalls is take without renewals, which a slow machine sends in between.
func (w *wire) takeCalls() []int32 {
	return slices.DeleteFunc(w.take(), func(op int32) bool { return op == opMulti })
}

// loseReply breaks the connection when the reply to the next request of this kind arrives.
func (w *wire) loseReply(op int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lose = op
}

type wireConn struct {
	net.Conn

	wire   *wire
	begun  bool
	broken atomic.Bool // instead of its next reply
}

// Write implements net.Conn. The client writes each request at once: its length, its number, and
// its operation.
func (c *wireConn) Write(p []byte) (int, error) {
	if !c.begun {
		c.begun = true // the request for a session has another form
		return c.Conn.Write(p)
	}
	op := int32(binary.BigEndian.Uint32(p[8:]))
	c.wire.mu.Lock()
	c.wire.requests = append(c.wire.requests, op)
	if op == c.wire.lose {
		c.wire.lose = 0
		c.broken.Store(true)
	}
	c.wire.mu.Unlock()
	return c.Conn.Write(p)
}

// Read implements net.Conn.
func (c *wireConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.broken.Load() {
		_ = c.Close()
		return 0, io.EOF
	}
	return n, err
}

// client is embedded by faulty.
type client = zklock.Client

// faulty is a client whose methods a test replaces.
type faulty struct {
	client // of zklock

	create          func(next func() (string, error)) (string, error)
	createContainer func() (string, error)
	children        func(next func() ([]string, *zk.Stat, error)) ([]string, *zk.Stat, error)
	deletes         func(next func() error) error
	exists          func(next func() (bool, *zk.Stat, error)) (bool, *zk.Stat, error)
	sessionID       func(id int64) int64
	sync            func(next func() (string, error)) (string, error)
}

func (f *faulty) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	next := func() (string, error) { return f.client.Create(path, data, flags, acl) }
	if f.create == nil || flags != zk.FlagEphemeralSequential {
		return next()
	}
	return f.create(next)
}

func (f *faulty) CreateContainer(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	if f.createContainer == nil {
		return f.client.CreateContainer(path, data, flags, acl)
	}
	return f.createContainer()
}

func (f *faulty) Children(path string) ([]string, *zk.Stat, error) {
	next := func() ([]string, *zk.Stat, error) { return f.client.Children(path) }
	if f.children == nil {
		return next()
	}
	return f.children(next)
}

func (f *faulty) Delete(path string, version int32) error {
	next := func() error { return f.client.Delete(path, version) }
	if f.deletes == nil {
		return next()
	}
	return f.deletes(next)
}

func (f *faulty) Exists(path string) (bool, *zk.Stat, error) {
	next := func() (bool, *zk.Stat, error) { return f.client.Exists(path) }
	if f.exists == nil {
		return next()
	}
	return f.exists(next)
}

func (f *faulty) SessionID() int64 {
	if f.sessionID == nil {
		return f.client.SessionID()
	}
	return f.sessionID(f.client.SessionID())
}

func (f *faulty) Sync(path string) (string, error) {
	next := func() (string, error) { return f.client.Sync(path) }
	if f.sync == nil {
		return next()
	}
	return f.sync(next)
}
