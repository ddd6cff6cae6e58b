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
	"github.com/unwatch/unwatch/internal/testing/servers"
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

// session follows a session of the client, and counts its requests.
type session struct {
	requests *atomic.Int64

	mu sync.Mutex
	id []byte // of the session, and its password
}

func (s *session) dialer(next zk.Dialer) zk.Dialer {
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		c, err := next(network, address, timeout)
		return &sessionConn{Conn: c, session: s}, err
	}
}

// The answer to the request for a session has its length, the protocol's version and the timeout before
// the session's id and its password, which has a length, too.
const (
	greetingHead = 4 + 4 + 4
	greetingID   = 8 + 4 + 16
)

type sessionConn struct {
	net.Conn

	session *session
	head    []byte
}

func (c *sessionConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if missing := greetingHead + greetingID - len(c.head); missing > 0 && n > 0 {
		if c.head = append(c.head, p[:min(n, missing)]...); len(c.head) == greetingHead+greetingID {
			c.session.mu.Lock()
			c.session.id = c.head[greetingHead:]
			c.session.mu.Unlock()
		}
	}
	return n, err
}

func (c *sessionConn) Write(p []byte) (int, error) {
	c.session.requests.Add(1)
	return c.Conn.Write(p)
}

// expire ends the session from a connection of its own, as the end of its timeout does.
func (s *session) expire(members []*servers.Server) error {
	s.mu.Lock()
	id := s.id
	s.mu.Unlock()
	c, err := net.Dial("tcp", members[0].Addr)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	request := binary.BigEndian.AppendUint32(nil, 0)         // the protocol's version
	request = binary.BigEndian.AppendUint64(request, 0)      // the last transaction that was seen
	request = binary.BigEndian.AppendUint32(request, 20_000) // the timeout
	request = append(request, id...)
	for _, next := range [][]byte{request, {0, 0, 0, 1, 0xff, 0xff, 0xff, 0xf5}} { // closes the session: operation -11
		if _, err := c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(next))), next...)); err != nil {
			return err
		}
	}
	_, err = io.Copy(io.Discard, c) // until the server ends the connection
	return err
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
