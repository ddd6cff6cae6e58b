// Package pubsub publishes and subscribes.
package pubsub

import (
	"context"

	redigo "github.com/gomodule/redigo/redis"
	"github.com/redis/go-redis/v9"
)

type channels interface {
	Subscribe(ctx context.Context, channels ...string) *redis.PubSub
}

// A connection of redigo hides behind one's own interface.
type conn interface {
	Do(command string, args ...any) (any, error)
	Send(command string, args ...any) error
}

type mailer interface {
	Send(to string, texts ...string) error
}

type bus struct{}

func (bus) Subscribe(ctx context.Context, topics ...string) {}
func (bus) Publish(ctx context.Context, topic string)       {}

func all(ctx context.Context, rdb *redis.Client, c channels, conn redigo.Conn, b bus) {
	rdb.Subscribe(ctx, "a")        // want `^SUBSCRIBE through .*Client\)\.Subscribe; the proxy refuses it \(MC201\)$`
	c.Subscribe(ctx, "a")          // want `MC201`
	rdb.Publish(ctx, "a", "b")     // want `PUBLISH through .*MC202`
	rdb.Do(ctx, "psubscribe", "a") // want `PSUBSCRIBE.*MC201`
	conn.Send("PUBLISH", "a", "b") // want `PUBLISH.*MC202`
	b.Subscribe(ctx, "a")
	b.Publish(ctx, "a")
}

type store struct{ conn conn }

func (s store) send(command string, args ...any) { s.conn.Do(command, args...) }

func hidden(c conn, m mailer, s store, name string) {
	c.Do("PUBLISH", "a", "b")   // want `PUBLISH.*MC202`
	c.Send("SUBSCRIBE", "a")    // want `SUBSCRIBE.*MC201`
	s.send("publish", "a", "b") // want `PUBLISH.*MC202`
	c.Do("news", "a")
	c.Do(name)
	m.Send("PUBLISH", "a")
}

// A sentinel publishes its events itself.
func ofSentinel(ctx context.Context, s *redis.SentinelClient) { s.PSubscribe(ctx, "+switch-master") }
