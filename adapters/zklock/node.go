package zklock

import (
	"context"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"
)

// node is the ephemeral sequential node of one request: its place in the queue for the lock. All
// but its first three fields are guarded by the service's mutex.
type node struct {
	parent, owner string
	data          []byte

	creating <-chan struct{} // closed when no request to create it is under way; nil: none was
	unsure   bool            // the reply to a request to create it was lost
	path     string          // "": it was not created, as far as is known
	session  int64           // that created it; 0: unknown
	wanted   bool            // its holder was told of others behind it
	dropped  bool            // it is to be deleted
}

func (s *service) parent(name string) string {
	return s.cfg.Root + "/" + hex.EncodeToString([]byte(name))
}

// child splits the name of a node into its owner and its number in the queue.
func child(name string) (owner string, number int32, ok bool) {
	i := strings.LastIndexByte(name, '_')
	if i < 0 {
		return "", 0, false
	}
	n, err := strconv.ParseInt(name[i+1:], 10, 32)
	return name[:i], int32(n), err == nil
}

// place is the place of an owner in the queue.
type place struct {
	own    string // "": it has none
	ahead  string // the node directly before; "": the lock is its own
	behind bool   // there are others behind
}

// find returns the place of owner, or of the first node if owner is "". Numbers are counted by
// ZooKeeper in 32 bits and can overflow, so their difference decides.
func find(children []string, owner string) (p place) {
	var own, ahead int32
	for _, name := range children {
		if who, n, ok := child(name); ok && (who == owner || owner == "" && (p.own == "" || n-own < 0)) {
			p.own, own = name, n
		}
	}
	if p.own == "" {
		return place{}
	}
	for _, name := range children {
		switch _, n, ok := child(name); {
		case !ok || name == p.own:
		case n-own > 0:
			p.behind = true
		case p.ahead == "" || n-ahead > 0:
			p.ahead, ahead = name, n
		}
	}
	return p
}

// create makes the node unless there is one.
func (s *service) create(ctx context.Context, n *node) error {
	s.mu.Lock()
	path, unsure := n.path, n.unsure
	s.mu.Unlock()
	if path != "" {
		return nil
	}
	if unsure {
		if path, err := s.search(ctx, n); err != nil || path != "" {
			return err
		}
	}
	for {
		err := s.createOnce(ctx, n)
		if !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		if err := s.createParent(ctx, n.parent); err != nil {
			return err
		}
	}
}

func (s *service) createOnce(ctx context.Context, n *node) error {
	created := make(chan struct{})
	s.mu.Lock()
	n.creating = created
	s.mu.Unlock()
	_, err := call(ctx, func() (struct{}, error) {
		defer close(created)
		sent, session := s.cfg.Now(), s.conn.SessionID()
		path, err := s.conn.Create(n.parent+"/"+n.owner+"_", n.data, zk.FlagEphemeralSequential, s.cfg.ACL)
		if err == nil {
			s.heard(sent)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		n.unsure = lost(err)
		if err == nil {
			n.path = path
			if s.conn.SessionID() == session {
				n.session = session
			}
		}
		return struct{}{}, err
	})
	return err
}

// search looks for a node of which the reply to its creation was lost. The client's server may
// lag behind the one that had the request, so it catches up with the leader first.
func (s *service) search(ctx context.Context, n *node) (path string, err error) {
	_, err = call(ctx, func() (string, error) { return s.conn.Sync(n.parent) })
	var children []string
	if err == nil {
		children, err = s.children(ctx, n.parent)
	}
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return "", err
	}
	if p := find(children, n.owner); p.own != "" {
		path = n.parent + "/" + p.own
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n.path, n.unsure = path, false
	return path, nil
}

// createParent makes the node below which the nodes of a lock are. It is a container, which
// ZooKeeper deletes when it is empty.
func (s *service) createParent(ctx context.Context, path string) error {
	for {
		err := s.createEmpty(ctx, path, true)
		if !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		for i := 1; i <= len(s.cfg.Root); i++ {
			if i == len(s.cfg.Root) || s.cfg.Root[i] == '/' {
				if err := s.createEmpty(ctx, s.cfg.Root[:i], false); err != nil {
					return err
				}
			}
		}
	}
}

func (s *service) createEmpty(ctx context.Context, path string, container bool) error {
	s.mu.Lock()
	container = container && !s.old
	s.mu.Unlock()
	_, err := call(ctx, func() (string, error) {
		if container {
			return s.conn.CreateContainer(path, nil, zk.FlagContainer, s.cfg.ACL)
		}
		return s.conn.Create(path, nil, zk.FlagPersistent, s.cfg.ACL)
	})
	switch {
	case errors.Is(err, zk.ErrNodeExists):
		return nil
	case container && err != nil && err.Error() == unimplemented:
		s.mu.Lock()
		s.old = true
		s.mu.Unlock()
		return s.createEmpty(ctx, path, false)
	}
	return err
}

// unimplemented is the client's text for the code of a ZooKeeper before 3.5 that has no
// containers. There is no error value for the code.
const unimplemented = "unknown error: -6"

func (s *service) children(ctx context.Context, path string) ([]string, error) {
	return call(ctx, func() ([]string, error) {
		children, _, err := s.conn.Children(path)
		return children, err
	})
}

// watch returns a channel that becomes readable when the node changes or is gone. The client
// cannot end a watch, so the watch of a waiter that has given up serves the next one. A watch of
// the data, and not of the existence, leaves nothing behind if the node is gone already.
func (s *service) watch(ctx context.Context, path string) (<-chan zk.Event, error) {
	s.mu.Lock()
	changed := s.watches[path]
	s.mu.Unlock()
	if changed != nil {
		return changed, nil
	}
	return call(ctx, func() (<-chan zk.Event, error) {
		_, _, changed, err := s.conn.GetW(path)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for path, ended := range s.watches {
			select {
			case <-ended:
				delete(s.watches, path)
			default:
			}
		}
		s.watches[path] = changed
		return changed, nil
	})
}

func (s *service) unwatch(path string, changed <-chan zk.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watches[path] == changed {
		delete(s.watches, path)
	}
}
