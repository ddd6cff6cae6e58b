package zklock_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/unwatch/unwatch/adapters/zklock"
	"github.com/unwatch/unwatch/internal/testing/contract"
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

// process is a Locker with a wire of its own.
type process struct {
	*zklock.Locker
	*wire
}

// wire is the clock and the network of one Locker. It records its requests, follows its session, and can lose replies.
type wire struct {
	contract.Clock
	contract.Network

	connections atomic.Int32

	mu       sync.Mutex
	counts   map[int32]int // of requests; those for a session are 0
	requests []int32       // since the last take
	lose     int32         // the operation whose next reply is lost; 0: none
	session  []byte        // its id and its password
}

func (w *wire) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	c, err := w.Dialer((&net.Dialer{Timeout: timeout}).DialContext)(context.Background(), network, address)
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

// count returns the number of requests of one kind.
func (w *wire) count(op int32) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts[op]
}

// all counts the requests of any kind.
func (w *wire) all() (sum int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.counts {
		sum += n
	}
	return sum
}

// loseReply breaks the connection when the reply to the next request of this kind arrives.
func (w *wire) loseReply(op int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lose = op
}

// The answer to the request for a session has its length, the protocol's version and the timeout before
// the session's id and its password, which has a length, too.
const (
	greetingHead = 4 + 4 + 4
	greetingID   = 8 + 4 + 16
)

type wireConn struct {
	net.Conn

	wire   *wire
	begun  bool
	head   []byte      // of the answer to the request for a session
	broken atomic.Bool // instead of its next reply
}

// Write implements net.Conn. The client writes each request at once: its length, its number, and
// its operation.
func (c *wireConn) Write(p []byte) (int, error) {
	c.wire.mu.Lock()
	op := int32(0)
	if c.begun {
		op = int32(binary.BigEndian.Uint32(p[8:]))
		c.wire.requests = append(c.wire.requests, op)
		if op == c.wire.lose {
			c.wire.lose = 0
			c.broken.Store(true)
		}
	}
	c.wire.counts[op]++
	c.begun = true // the request for a session has another form
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
	if missing := greetingHead + greetingID - len(c.head); missing > 0 && n > 0 {
		if c.head = append(c.head, p[:min(n, missing)]...); len(c.head) == greetingHead+greetingID {
			c.wire.mu.Lock()
			c.wire.session = c.head[greetingHead:]
			c.wire.mu.Unlock()
		}
	}
	return n, err
}

// expire ends the session from a connection of its own, as the end of its timeout does.
func (w *wire) expire(members []*servers.Server) error {
	w.mu.Lock()
	session := w.session
	w.mu.Unlock()
	c, err := net.Dial("tcp", members[0].Addr)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	request := binary.BigEndian.AppendUint32(nil, 0)         // the protocol's version
	request = binary.BigEndian.AppendUint64(request, 0)      // the last transaction that was seen
	request = binary.BigEndian.AppendUint32(request, 20_000) // the timeout
	request = append(request, session...)
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

// faulty is a client whose methods a test replaces. create makes nodes with a number.
type faulty struct {
	client // of zklock

	create          func(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
	createContainer func(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
	children        func(path string) ([]string, *zk.Stat, error)
	deletes         func(path string, version int32) error
	exists          func(path string) (bool, *zk.Stat, error)
	sessionID       func() int64
	sync            func(path string) (string, error)
}

// fail has a test replace methods of a Locker's client. It must be called before the first lock.
func fail(l *process, replace func(f *faulty)) {
	zklock.Wrap(l.Locker, func(c client) client {
		f := &faulty{c, c.Create, c.CreateContainer, c.Children, c.Delete, c.Exists, c.SessionID, c.Sync}
		replace(f)
		return f
	})
}

func (f *faulty) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	if flags != zk.FlagEphemeralSequential {
		return f.client.Create(path, data, flags, acl)
	}
	return f.create(path, data, flags, acl)
}

func (f *faulty) CreateContainer(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	return f.createContainer(path, data, flags, acl)
}

func (f *faulty) Children(path string) ([]string, *zk.Stat, error) { return f.children(path) }
func (f *faulty) Delete(path string, version int32) error          { return f.deletes(path, version) }
func (f *faulty) Exists(path string) (bool, *zk.Stat, error)       { return f.exists(path) }
func (f *faulty) SessionID() int64                                 { return f.sessionID() }
func (f *faulty) Sync(path string) (string, error)                 { return f.sync(path) }
