package zklock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

// client is the part of zk.Conn that the Locker uses.
type client interface {
	AddAuth(scheme string, auth []byte) error
	Children(path string) ([]string, *zk.Stat, error)
	Close()
	Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
	CreateContainer(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
	Delete(path string, version int32) error
	Exists(path string) (bool, *zk.Stat, error)
	Get(path string) ([]byte, *zk.Stat, error)
	GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error)
	Multi(ops ...any) ([]zk.MultiResponse, error)
	SessionID() int64
	Sync(path string) (string, error)
}

// service is the driver.Service of a Locker, with one session for all of its locks.
type service struct {
	cfg     Config
	timeout time.Duration // of the session
	lease   time.Duration // the part on which a hold counts
	locker  *driver.Locker
	conn    client
	servers int
	touches touches

	mu            sync.Mutex // guards the fields below
	up            bool       // there is a session, with a connection
	refused       error      // why there is none
	changed       chan struct{}
	current       *conn
	authenticated bool
	old           bool      // the server has no containers
	touched       time.Time // the last time of which the leader has heard for sure
	nodes         map[string]*node
	watches       map[string]<-chan zk.Event
	left          bool // the session is left to its timeout
}

func newService(cfg Config) *service {
	return &service{
		cfg: cfg, timeout: cfg.timeout(), lease: cfg.driver().Lease,
		// A tick has at most half a session, and a member tells its leader twice a tick.
		touches: touches{delay: cfg.timeout() / 4},
		changed: make(chan struct{}),
		nodes:   map[string]*node{},
		watches: map[string]<-chan zk.Event{},
	}
}

// close ends the session, or leaves it to its timeout if that keeps a lost lock for its lock delay.
func (s *service) close() {
	s.mu.Lock()
	for _, n := range s.nodes {
		s.left = s.left || !n.dropped
	}
	s.mu.Unlock()
	s.conn.Close()
}

var errGone = fmt.Errorf("%w: the node of the request was deleted, or its session has expired", rmw.ErrUnavailable)

// Acquire implements [driver.Service].
func (s *service) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if len(r.Name) > maxName {
		return driver.Grant{}, fmt.Errorf("%w: the name has %d bytes; use at most %d", rmw.ErrInvalid, len(r.Name), maxName)
	}
	s.mu.Lock()
	n := s.nodes[r.Owner]
	if n == nil {
		n = &node{parent: s.parent(r.Name), owner: r.Owner, data: r.Data}
		s.nodes[r.Owner] = n
	}
	s.mu.Unlock()
	contended, reconnected := false, false
	for {
		grant, ahead, err := s.try(ctx, n)
		switch {
		case err == nil && ahead == "":
			if s.cfg.Now().Sub(grant.Since) < s.lease/2 || reconnected {
				return grant, nil
			}
			// The leader may not have heard of the session for so long that it is about to
			// expire: this process was stopped, for example.
			reconnected = true
			s.reconnect()
			err = errBroken
		case err == nil && !r.Wait:
			if err = s.Release(ctx, r.Name, r.Owner); err == nil {
				err = rmw.ErrContended
			}
			return driver.Grant{}, err
		case err == nil:
			contended = true
			err = s.await(ctx, n.parent+"/"+ahead)
		}
		switch {
		case ctx.Err() != nil && contended:
			return driver.Grant{}, rmw.ErrContended
		case ctx.Err() != nil || err != nil && !lost(err):
			return driver.Grant{}, explain(err)
		}
	}
}

// try makes the node, unless there is one, and returns the grant or the node ahead.
func (s *service) try(ctx context.Context, n *node) (g driver.Grant, ahead string, err error) {
	if err := s.ready(ctx); err != nil {
		return g, "", err
	}
	if err := s.create(ctx, n); err != nil {
		return g, "", err
	}
	children, err := s.children(ctx, n.parent)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return g, "", err
	}
	switch p := find(children, n.owner); {
	case p.own == "":
		return g, "", errGone
	case p.ahead != "":
		return g, p.ahead, nil
	}
	return s.grant(ctx, n)
}

// grant returns the grant of the lock to the first node in its queue.
func (s *service) grant(ctx context.Context, n *node) (g driver.Grant, ahead string, err error) {
	sent := s.cfg.Now()
	stat, err := call(ctx, func() (*zk.Stat, error) {
		_, stat, err := s.conn.Exists(n.path)
		return stat, err
	})
	switch {
	case err != nil:
		return g, "", err
	case stat.EphemeralOwner == 0 || stat.EphemeralOwner != s.conn.SessionID():
		return g, "", errGone // of a session that has expired, and about to be deleted
	}
	s.mu.Lock()
	n.session = stat.EphemeralOwner
	s.mu.Unlock()
	if sent.Sub(s.since(sent)) >= s.lease/2 {
		// After a wait, the last answer of a majority can be old.
		if _, err := s.check(ctx, []string{n.path}); errors.Is(err, zk.ErrNoNode) {
			return g, "", errGone
		} else if err != nil {
			return g, "", err
		}
	}
	return driver.Grant{Token: uint64(stat.Czxid), Since: s.since(sent)}, "", nil
}

// await returns when the node ahead may be gone.
func (s *service) await(ctx context.Context, path string) error {
	changed, err := s.watch(ctx, path)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil
	case err != nil:
		return err
	}
	select {
	case <-changed:
		s.unwatch(path, changed)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Release implements [driver.Service].
func (s *service) Release(ctx context.Context, _, owner string) error {
	s.mu.Lock()
	n := s.nodes[owner]
	var creating <-chan struct{}
	if n != nil {
		n.dropped = true
		creating = n.creating
	}
	s.mu.Unlock()
	if creating == nil {
		s.forget(owner)
		return nil
	}
	select {
	case <-creating: // else it could be created after it was looked for
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := s.ready(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	path, unsure := n.path, n.unsure
	s.mu.Unlock()
	if unsure {
		var err error
		if path, err = s.search(ctx, n); err != nil {
			return err
		}
	}
	if path == "" {
		s.forget(owner)
		return nil
	}
	_, err := call(ctx, func() (struct{}, error) {
		err := s.conn.Delete(path, -1)
		if errors.Is(err, zk.ErrNoNode) {
			err = nil
		}
		if err == nil {
			s.forget(owner)
		}
		return struct{}{}, err
	})
	return explain(err)
}

func (s *service) forget(owner string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.nodes, owner)
}

// droppedLocked returns the owners of the nodes that could not be deleted. Such a node lasts as
// long as the session, and its lock would stay taken.
func (s *service) droppedLocked() (owners []string) {
	for owner, n := range s.nodes {
		if n.dropped {
			owners = append(owners, owner)
		}
	}
	return owners
}

// sweep deletes the nodes of these owners. If it fails, the next connection tries again.
func (s *service) sweep(owners []string) {
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	for _, owner := range owners {
		if lost(s.Release(ctx, "", owner)) {
			return
		}
	}
}

// Inspect implements [driver.Service].
func (s *service) Inspect(ctx context.Context, name string) (info lock.Info, err error) {
	if len(name) > maxName {
		return info, fmt.Errorf("%w: the name has %d bytes; use at most %d", rmw.ErrInvalid, len(name), maxName)
	}
	parent := s.parent(name)
	for {
		if err := s.ready(ctx); err != nil {
			return info, err
		}
		_, err := call(ctx, func() (string, error) { return s.conn.Sync(parent) })
		var children []string
		if err == nil {
			children, err = s.children(ctx, parent)
		}
		first := find(children, "")
		switch {
		case errors.Is(err, zk.ErrNoNode) || err == nil && first.own == "":
			return info, nil
		case err != nil:
			return info, explain(err)
		}
		_, err = call(ctx, func() (struct{}, error) {
			data, stat, err := s.conn.Get(parent + "/" + first.own)
			if err == nil {
				info = lock.Info{Held: true, Data: data, Waiters: first.behind}
				info.Owner, _, _ = child(first.own)
				info.Token = uint64(stat.Czxid)
			}
			return struct{}{}, err
		})
		if !errors.Is(err, zk.ErrNoNode) {
			return info, explain(err)
		}
	}
}

// explain adds to errors of ZooKeeper what to do.
func explain(err error) error {
	switch {
	case errors.Is(err, zk.ErrNoAuth):
		return fmt.Errorf("%w: %w: the ACL of the lock's nodes refuses this session; see Config.Digest", rmw.ErrInvalid, err)
	case errors.Is(err, zk.ErrInvalidPath):
		return fmt.Errorf("%w: %w: Config.Root is no path of ZooKeeper", rmw.ErrInvalid, err)
	case errors.Is(err, zk.ErrInvalidACL):
		return fmt.Errorf("%w: %w: ZooKeeper refuses Config.ACL; one of scheme auth needs Config.Digest", rmw.ErrInvalid, err)
	}
	return err
}
