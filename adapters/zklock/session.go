package zklock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/unwatch/unwatch/rmw"
)

var (
	errNoSession = fmt.Errorf("%w: no ZooKeeper server has answered for as long as a session lasts", rmw.ErrUnavailable)
	errBroken    = fmt.Errorf("%w: the connection to ZooKeeper is broken", rmw.ErrUnavailable)
)

// event is told of the states of the session by the client, which must not be held up.
func (s *service) event(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	switch e.State {
	case zk.StateHasSession:
		s.mu.Lock()
		s.up, s.refused = true, nil
		s.changedLocked()
		sweep := s.droppedLocked()
		s.mu.Unlock()
		if len(sweep) > 0 {
			go s.sweep(sweep)
		}
	case zk.StateDisconnected, zk.StateExpired:
		s.mu.Lock()
		s.up = false
		s.mu.Unlock()
	default:
		return
	}
	s.locker.Renew()
}

// refuse tells why there is no session.
func (s *service) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = err
	s.changedLocked()
}

func (s *service) changedLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// status returns nil if there is a session with a connection, or why there is none.
func (s *service) status() (changed <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.up:
		return nil, nil
	case s.refused != nil:
		return s.changed, s.refused
	}
	return s.changed, errBroken
}

// ready waits for a session with a connection, for as long as a session lasts at most.
func (s *service) ready(ctx context.Context) error {
	waiting, cancel := context.WithTimeoutCause(ctx, s.timeout, errNoSession)
	defer cancel()
	for {
		changed, err := s.status()
		switch {
		case err == nil:
			return s.authenticate(ctx)
		case errors.Is(err, rmw.ErrInvalid):
			return err
		}
		select {
		case <-changed:
		case <-waiting.Done():
			return context.Cause(waiting)
		}
	}
}

// authenticate sends the digest. The client repeats it on each new connection.
func (s *service) authenticate(ctx context.Context) error {
	s.mu.Lock()
	done := s.cfg.Digest == "" || s.authenticated
	s.mu.Unlock()
	if done {
		return nil
	}
	_, err := call(ctx, func() (struct{}, error) {
		err := s.conn.AddAuth("digest", []byte(s.cfg.Digest))
		s.mu.Lock()
		defer s.mu.Unlock()
		s.authenticated = s.authenticated || err == nil
		return struct{}{}, err
	})
	return err
}

// reconnect breaks the connection, so that the client makes another, to the next server if there
// are several. The new server asks the leader for the session, which so hears of it.
func (s *service) reconnect() {
	s.mu.Lock()
	c := s.current
	s.mu.Unlock()
	if c != nil {
		_ = c.Close()
	}
}

// heard notes the answer of a majority of the servers to a request that was sent at this time.
func (s *service) heard(sent time.Time) {
	touched := s.touches.heard(sent)
	s.mu.Lock()
	defer s.mu.Unlock()
	if touched.After(s.touched) {
		s.touched = touched
	}
}

// since returns the begin of a lease that ends with the session or before. sent is the time at
// which the answer was asked for that the session lasts.
func (s *service) since(sent time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return earlier(sent, s.touched.Add(s.timeout-s.lease))
}

// call runs a request, which knows no ctx, in a goroutine of its own. If ctx ends first, the
// goroutine lasts until the client has an answer or has lost the connection.
func call[T any](ctx context.Context, request func() (T, error)) (T, error) {
	type reply struct {
		value T
		err   error
	}
	done := make(chan reply, 1)
	go func() {
		value, err := request()
		done <- reply{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// lost reports whether err tells that the answer to a request was lost.
func lost(err error) bool {
	var failed net.Error
	if errors.As(err, &failed) {
		return !errors.Is(err, context.DeadlineExceeded) // of a ctx: a net.Error, too
	}
	return slices.ContainsFunc([]error{
		zk.ErrConnectionClosed, zk.ErrNoServer, zk.ErrSessionMoved, zk.ErrSessionExpired, errBroken,
	}, func(broken error) bool { return errors.Is(err, broken) })
}
