package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

const (
	room  = "7"
	late  = "ada was here" // by the process that stalls
	newer = "bob was here" // by the next holder of the lock
)

// play stalls ada under the lock until bob has written, and then lets ada write. It returns the final
// state.
func play(ctx context.Context, out io.Writer, write string) (state string, err error) {
	proxy, err := proxytest.Start(proxytest.Config{InMemory: true})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, proxy.Close()) }()
	table, err := openRooms(ctx, write, room)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, table.close()) }()
	ada, bob := newProcess(proxy), newProcess(proxy)
	defer func() { err = errors.Join(err, ada.close(), bob.close()) }()

	say(out, "%s\n", write)
	err = ada.locks.WithLock(ctx, room, func(ctx context.Context) error {
		token, err := lock.Token(ctx)
		if err != nil {
			return err
		}
		say(out, "  ada  has the lock and token %d, and stalls\n", token)
		if err := expire(ctx, proxy); err != nil {
			return err
		}
		if err := bob.writes(ctx, out, table); err != nil {
			return err
		}
		say(out, "  ada  wakes up; ctx.Err() is still %v\n", ctx.Err())
		return table.set(ctx, room, late, token)
	})
	switch {
	case errors.Is(err, errStale):
		say(out, "       writes and is refused: %v\n", err)
	case err == nil:
		say(out, "       writes and is told: done\n")
	default:
		return "", err
	}
	state, err = table.state(ctx, room)
	say(out, "  the table says %q\n\n", state)
	return state, err
}

// process simulates a process with its own client.
type process struct {
	rdb   *redis.Client
	locks *lockupdate.Store
}

func newProcess(proxy *proxytest.Proxy) process {
	rdb := redis.NewClient(proxy.Options()) // for a real proxy: proxycompat.Options
	// With a long lease no renewal detects the loss too early here.
	return process{rdb, lockupdate.New(rdb, lockupdate.Config{Lease: time.Minute})}
}

func (p process) close() error { return errors.Join(p.locks.Close(), p.rdb.Close()) }

// writes locks, draws a token and writes, as every holder should.
func (p process) writes(ctx context.Context, out io.Writer, table *rooms) error {
	return p.locks.WithLock(ctx, room, func(ctx context.Context) error {
		token, err := lock.Token(ctx)
		if err != nil {
			return err
		}
		say(out, "  bob  has the lock and token %d, and writes\n", token)
		return table.set(ctx, room, newer, token)
	})
}

// expire has the effect of an expired lease, without the wait.
func expire(ctx context.Context, proxy *proxytest.Proxy) error {
	rdb := redis.NewClient(proxy.Options())
	n, err := rdb.Del(ctx, "/lock/"+room).Result()
	if err == nil && n == 0 {
		err = errors.New("there was no lock to take away")
	}
	return errors.Join(err, rdb.Close())
}
