package zklock

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
)

// held is a hold with its node.
type held struct {
	*driver.Hold

	node *node
	path string
}

// Renew implements [driver.Service]. It asks a majority of the servers whether the nodes of all
// holds exist: one request for all of them. A member cut off from its leader would still answer
// reads.
func (s *service) Renew(ctx context.Context, holds []*driver.Hold) error {
	session := s.conn.SessionID()
	all := s.held(holds, session)
	if _, err := s.status(); err != nil {
		return err
	}
	since := s.cfg.Now()
	for rest := all; len(rest) > 0; {
		next := rest[:fits(rest)]
		missing, err := s.check(ctx, paths(next))
		switch {
		case errors.Is(err, zk.ErrNoNode):
			reason := lock.LossTaken
			if s.conn.SessionID() != session {
				reason = lock.LossSession
			}
			next[missing].Lose(reason, "its node was deleted, or its session has expired")
			rest = append(next[:missing:missing], rest[missing+1:]...)
			continue
		case err != nil:
			if ctx.Err() != nil && s.servers > 1 {
				s.reconnect() // another server may answer
			}
			return explain(err)
		}
		rest = rest[len(next):]
	}
	if s.conn.SessionID() != session {
		return errBroken
	}
	since = s.since(since)
	for _, h := range all {
		h.Since(since)
	}
	s.want(ctx, all)
	return nil
}

// held returns the holds that have a node of this session, and ends the others. It leaves out
// requests without a node.
func (s *service) held(holds []*driver.Hold, session int64) (all []held) {
	var expired []*driver.Hold
	s.mu.Lock()
	for _, h := range holds {
		switch n := s.nodes[h.Owner()]; {
		case n == nil || n.dropped || n.path == "":
		case n.session != 0 && n.session != session:
			expired = append(expired, h)
		default:
			all = append(all, held{h, n, n.path})
		}
	}
	s.mu.Unlock()
	for _, h := range expired {
		h.Lose(lock.LossSession, "its ZooKeeper session has expired")
	}
	return all
}

// maxCheck is the size of the paths in one request. ZooKeeper takes 1 MiB by default.
const maxCheck = 256 << 10

// fits returns how many of the holds one request can check.
func fits(holds []held) int {
	size := 0
	for i, h := range holds {
		if size += len(h.path) + 32; size > maxCheck && i > 0 {
			return i
		}
	}
	return len(holds)
}

func paths(holds []held) (all []string) {
	for _, h := range holds {
		all = append(all, h.path)
	}
	return all
}

// check asks a majority of the servers whether the nodes exist. After zk.ErrNoNode, missing is
// the index of the first that does not.
func (s *service) check(ctx context.Context, paths []string) (missing int, err error) {
	ops := make([]any, len(paths))
	for i, path := range paths {
		ops[i] = &zk.CheckVersionRequest{Path: path, Version: -1}
	}
	return call(ctx, func() (int, error) {
		sent := s.cfg.Now()
		replies, err := s.conn.Multi(ops...)
		if err == nil {
			s.heard(sent)
			return 0, nil
		}
		for i, r := range replies {
			if errors.Is(r.Error, zk.ErrNoNode) {
				return i, zk.ErrNoNode
			}
		}
		return 0, err
	})
}

// want tells the holders of locks that others wait for, once.
func (s *service) want(ctx context.Context, holds []held) {
	for _, h := range holds {
		s.mu.Lock()
		wanted := h.node.wanted
		s.mu.Unlock()
		if wanted || h.Waiting() {
			continue
		}
		children, err := s.children(ctx, h.node.parent)
		if err != nil {
			return
		}
		if find(children, h.node.owner).behind {
			s.mu.Lock()
			h.node.wanted = true
			s.mu.Unlock()
			h.Want()
		}
	}
}

var _ driver.Service = (*service)(nil)
var _ client = (*zk.Conn)(nil)
