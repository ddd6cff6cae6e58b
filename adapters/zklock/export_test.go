package zklock

import (
	"context"

	"github.com/unwatch/unwatch/lock"
)

// Client is the part of zk.Conn that a Locker uses.
type Client = client

// Wrap replaces the client of a Locker. It must be called before the first lock.
func Wrap(l *Locker, wrap func(Client) Client) { l.service.conn = wrap(l.service.conn) }

// Kept returns the nodes and watches that a Locker remembers.
func Kept(l *Locker) (nodes, watches int) {
	l.service.mu.Lock()
	defer l.service.mu.Unlock()
	return len(l.service.nodes), len(l.service.watches)
}

// Reconnect breaks the connection of a Locker.
func Reconnect(l *Locker) { l.service.reconnect() }

// NodeOf returns the node under which the nodes of a lock are.
func NodeOf(l *Locker, name string) string { return l.service.parent(name) }

// Release deletes the node of a hold, once.
func Release(ctx context.Context, l *Locker, s lock.Sequencer) error {
	return l.service.Release(ctx, s.Name, s.Owner)
}
