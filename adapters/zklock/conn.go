package zklock

import (
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// dial connects for the client.
func (s *service) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	nc, err := s.cfg.Dial(network, address, min(timeout, s.timeout/4))
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: nc, service: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = c
	return c, nil
}

// headSize is the size of the length, the protocol version, the timeout and the session's id,
// with which the reply to the request for a session begins.
const headSize = 4 + 4 + 4 + 8

// conn is one connection of the client. It reads the granted session timeout, which the client
// does not show, and refuses any other than was asked for. It records when something is sent.
type conn struct {
	net.Conn

	service *service
	asked   time.Time // when the session was asked for
	head    []byte
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if missing := headSize - len(c.head); missing > 0 && n > 0 {
		c.head = append(c.head, p[:min(n, missing)]...)
		if len(c.head) == headSize {
			if err := c.greeted(); err != nil {
				return 0, err
			}
		}
	}
	return n, err
}

func (c *conn) greeted() error {
	granted := time.Duration(int32(binary.BigEndian.Uint32(c.head[8:]))) * time.Millisecond
	switch session := binary.BigEndian.Uint64(c.head[12:]); {
	case session == 0: // the old session has expired
		return nil
	case granted != c.service.timeout:
		err := fmt.Errorf("%w: ZooKeeper at %s grants a session of %v instead of %v; set Config.Lease between its minSessionTimeout and maxSessionTimeout",
			rmw.ErrInvalid, c.RemoteAddr(), granted, c.service.timeout)
		c.service.refuse(err)
		return err
	}
	c.service.touches.connected(c.asked)
	return nil
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	c.service.mu.Lock()
	left := c.service.left
	c.service.mu.Unlock()
	if left { // it would be the request to end the session
		return 0, net.ErrClosed
	}
	if at := c.service.cfg.Now(); c.asked.IsZero() {
		c.asked = at
	} else {
		c.service.touches.sent(at)
	}
	return c.Conn.Write(p)
}

// SetReadDeadline implements net.Conn. The client waits seven timeouts for a session: it would
// miss its timeout at a server that hangs.
func (c *conn) SetReadDeadline(t time.Time) error {
	if limit := time.Now().Add(c.service.timeout / 4); len(c.head) < headSize && t.After(limit) {
		t = limit
	}
	return c.Conn.SetReadDeadline(t)
}

// touches are the times at which the session sent something, the newest last.
type touches struct {
	delay time.Duration // until ZooKeeper's leader has heard

	mu     sync.Mutex
	direct bool // the leader has answered the first itself
	times  []time.Time
}

// maxTouches times, which are a quarter of delay apart, cover several delays.
const maxTouches = 32

func (t *touches) connected(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.direct, t.times = true, append(t.times[:0], at)
}

func (t *touches) sent(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.times)
	if n > 0 && at.Sub(t.times[n-1]) < t.delay/4 {
		return
	}
	if n == maxTouches {
		t.direct = false
		t.times = append(t.times[:0], t.times[1:]...)
	}
	t.times = append(t.times, at)
}

// heard returns the last time of which the leader has heard if it answers a request that was
// sent at this time. The zero Time is unknown.
func (t *touches) heard(at time.Time) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := len(t.times) - 1; i >= 0; i-- {
		switch touched := t.times[i]; {
		case at.Sub(touched) >= t.delay:
			return touched
		case i == 0 && t.direct:
			return earlier(at, touched)
		}
	}
	return time.Time{}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
