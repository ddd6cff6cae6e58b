package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
	"github.com/unwatch/unwatch/domains/desk"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/meter"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// The documented round trips are those counted at the socket, on either path and in each layout.
func TestRoundTrips(t *testing.T) {
	long.Repeats(t)
	for _, layout := range []domains.Layout{domains.JSON, domains.Hash, domains.HashByVersion} {
		for _, path := range []string{"cas", "lockupdate"} {
			calls := calls()
			for _, o := range operations() {
				assert.EqualValues(t, o.Trips, trips(t, path, layout, calls[o.Name]), "%s, %v, %s", o.Name, layout, path)
			}
		}
	}
}

// call is an operation. before prepares its data; round numbers the calls of one run, of which the last is counted.
type call struct {
	before func(ctx context.Context, s services) error
	do     func(ctx context.Context, s services, round int) error
}

const rounds = 4 // enough to warm connections and script caches

type services struct {
	store  rmw.Store
	rooms  chat.Rooms
	agents mcc.Agents
	desk   desk.Desk
}

func op(n int) domains.Op {
	return domains.Op{ID: fmt.Sprintf("op-%d", n), At: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)}
}

// errOf drops the result of a call.
func errOf(_ any, err error) error { return err }

func id(kind string, n int) string { return fmt.Sprintf("%s-%d", kind, n) }

func room(ctx context.Context, s services) error {
	return errOf(s.rooms.Create(ctx, "r", op(0), chat.Room{OwnerID: "owner"}))
}

func agent(ctx context.Context, s services, agentID string) error {
	return errors.Join(
		errOf(s.agents.Create(ctx, agentID, op(0), mcc.Agent{Max: rounds})),
		errOf(s.agents.SetStatus(ctx, agentID, op(1), mcc.Online)),
		errOf(s.agents.SetAccepting(ctx, agentID, op(2), true)),
	)
}

func open(ctx context.Context, s services, round int) error {
	return errOf(s.desk.Open(ctx, op(round), id("s", round), session.Session{VisitorID: id("v", round), Status: session.Queued}))
}

func queued(ctx context.Context, s services) error {
	failed := []error{agent(ctx, s, "a"), agent(ctx, s, "b")}
	for round := range rounds {
		failed = append(failed, open(ctx, s, round))
	}
	return errors.Join(failed...)
}

func assigned(ctx context.Context, s services) error {
	failed := []error{queued(ctx, s)}
	for round := range rounds {
		failed = append(failed, errOf(s.desk.Assign(ctx, op(50+round), id("s", round), "a")))
	}
	return errors.Join(failed...)
}

func calls() map[string]call {
	return map[string]call{
		"chat Get": {room, func(ctx context.Context, s services, _ int) error {
			return errOf(s.rooms.Get(ctx, "r"))
		}},
		"chat Join": {room, func(ctx context.Context, s services, round int) error {
			return errOf(s.rooms.Join(ctx, "r", op(10+round), id("guest", round), chat.Member{Role: chat.Visitor}))
		}},
		"desk Open": {func(context.Context, services) error { return nil }, open},
		"desk Assign": {queued, func(ctx context.Context, s services, round int) error {
			return errOf(s.desk.Assign(ctx, op(10+round), id("s", round), "a"))
		}},
		"desk Transfer": {assigned, func(ctx context.Context, s services, round int) error {
			return errOf(s.desk.Transfer(ctx, op(10+round), id("s", round), desk.TransferTo{AgentID: "b"}))
		}},
		"desk Close": {assigned, func(ctx context.Context, s services, round int) error {
			return errOf(s.desk.Close(ctx, op(10+round), id("s", round), session.ByAgent))
		}},
		"desk Reap": {assigned, func(ctx context.Context, s services, round int) error {
			return errOf(s.desk.Reap(ctx, op(10+round).At, "a"))
		}},
	}
}

// warm opens more connections than an operation uses, so that no dial is counted.
func warm(t *testing.T, rdb *redis.Client) {
	t.Helper()
	for range 8 {
		c := rdb.Conn()
		require.NoError(t, c.Ping(t.Context()).Err())
		defer c.Close()
	}
}

// trips returns the round trips of one call, including its background work.
func trips(t *testing.T, path string, layout domains.Layout, call call) (n int64) {
	synctest.Test(t, func(t *testing.T) {
		profile, engines := proxycompat.Redis(), 1
		if path == "lockupdate" {
			profile, engines = proxycompat.Codis32(), 2
		}
		p, err := proxytest.Start(proxytest.Config{Profile: profile, Engines: engines, InMemory: true})
		require.NoError(t, err)
		wire, opts := &meter.Meter{}, p.Options()
		opts.Dialer = wire.Dialer(opts.Dialer)
		rdb := redis.NewClient(opts)
		warm(t, rdb)
		var store rmw.Store
		if path == "cas" {
			s := cas.New(rdb, cas.Config{})
			defer s.Close()
			store = s
		} else {
			s := lockupdate.New(rdb, lockupdate.Config{})
			defer s.Close()
			store = s
		}
		s := services{
			store:  store,
			rooms:  chat.New(store, chat.Config{Layout: layout}),
			agents: mcc.New(store, mcc.Config{Layout: layout}),
		}
		s.desk = desk.New(session.New(store, session.Config{Layout: layout}), s.agents, desk.Config{})
		require.NoError(t, call.before(t.Context(), s))
		for round := range rounds {
			synctest.Wait()
			start := wire.Read()
			require.NoError(t, call.do(t.Context(), s, round))
			time.Sleep(time.Second) // fake time: the release follows in the background
			synctest.Wait()
			n = int64(wire.Read().Sub(start).RoundTrips)
		}
		require.NoError(t, rdb.Close())
		require.NoError(t, p.Close())
	})
	return n
}
