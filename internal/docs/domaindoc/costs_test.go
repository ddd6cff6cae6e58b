package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
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

var update = flag.Bool("update", false, "write costs.tsv anew")

// The documented round trips and bytes are those counted at the socket.
func TestCosts(t *testing.T) {
	long.Repeats(t)
	var b strings.Builder
	b.WriteString("what\tsize\tlayout\tpath\ttrips\tsent\treceived\n")
	for _, layout := range []domains.Layout{domains.JSON, domains.Hash, domains.HashByVersion} {
		for _, path := range []string{"cas", "lockupdate"} {
			for _, work := range works() {
				for _, size := range work.sizes {
					c := count(t, path, layout, work, size)
					fmt.Fprintf(&b, "%s\t%d\t%v\t%s\t%d\t%d\t%d\n",
						work.name, size, layout, path, c.RoundTrips, c.BytesSent, c.BytesReceived)
				}
			}
		}
	}
	if *update {
		require.NoError(t, os.WriteFile("costs.tsv", []byte(b.String()), 0o600))
	}
	stored, err := os.ReadFile("costs.tsv")
	require.NoError(t, err)
	if b.String() != string(stored) {
		assert.Equal(t, strings.Split(string(stored), "\n"), strings.Split(b.String(), "\n"),
			"go test ./internal/docs/domaindoc -update && make domains")
	}
}

// work is one operation on an entity of some size.
type work struct {
	name  string
	sizes []int
	// before makes an entity of that size; do is counted. round numbers the operations of one run, of which
	// the last is counted.
	before func(ctx context.Context, s services, size int) error
	do     func(ctx context.Context, s services, round int) error
}

const rounds = 4 // enough to warm connections and script caches

type services struct {
	store    rmw.Store
	layout   domains.Layout
	rooms    chat.Rooms
	sessions session.Sessions
	agents   mcc.Agents
	desk     desk.Desk
}

// The ids have a common, constant length.
func op(n int) domains.Op {
	return domains.Op{ID: fmt.Sprintf("op-%023d", n), At: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)}
}

// errOf drops the result of a call.
func errOf(_ any, err error) error { return err }

func id(kind string, n int) string { return fmt.Sprintf("%s-%08d", kind, n) }

// remembered is the list of operations that every busy entity has, of a common kind.
func remembered(name string) domains.Header {
	h := domains.Header{Format: domains.Format, Version: 1_000}
	for n := range domains.Remembered {
		h.Applied = append(h.Applied, domains.Applied{ID: op(100 + n).ID, Op: name})
	}
	return h
}

// put stores an entity as a whole.
func put[T any, E domains.Entity[T]](ctx context.Context, s services, key string, t T) error {
	codec := domains.CodecOf[T, E](s.layout, nil)
	_, err := s.store.Update(ctx, rmw.Key{Name: key, Kind: codec.Kind()}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		return codec.Encode(&t, cur)
	})
	return err
}

func room(ctx context.Context, s services, size int) error {
	now := op(0).Time()
	r := chat.Room{
		Header: remembered("MarkRead"), ID: "r", Status: chat.Open, Seq: 100, OwnerID: id("user", 0),
		CreatedAt: now, ActiveAt: now, Members: map[string]chat.Member{},
	}
	for i := range size {
		r.Members[id("user", i)] = chat.Member{Role: chat.Visitor, JoinedAt: now}
	}
	return put[chat.Room](ctx, s, "chat:room:r", r)
}

func agent(ctx context.Context, s services, size int) error {
	now := op(0).Time()
	a := mcc.Agent{
		Header: remembered("SetStatus"), ID: "a", Status: mcc.Online, Accepting: true, StatusAt: now, UpdatedAt: now, LastAssignedAt: now,
		Slots: map[string]mcc.Slot{},
	}
	for i := range size {
		a.Slots[id("session", i)] = mcc.Slot{Epoch: 1, State: mcc.Held, Since: now}
	}
	return put[mcc.Agent](ctx, s, "agent:a", a)
}

func open(ctx context.Context, s services, round int) error {
	return errOf(s.desk.Open(ctx, op(round), id("s", round), session.Session{VisitorID: id("v", round), Status: session.Queued}))
}

func queued(ctx context.Context, s services, size int) error {
	failed := []error{agent(ctx, s, size)}
	for round := range rounds {
		failed = append(failed, open(ctx, s, round))
	}
	return errors.Join(failed...)
}

func given(ctx context.Context, s services, size int) error {
	failed := []error{queued(ctx, s, size)}
	for round := range rounds {
		failed = append(failed, errOf(s.desk.Assign(ctx, op(50+round), id("s", round), "a")))
	}
	return errors.Join(failed...)
}

func givenWithOther(ctx context.Context, s services, size int) error {
	return errors.Join(
		errOf(s.agents.Create(ctx, "b", op(0), mcc.Agent{})),
		errOf(s.agents.SetStatus(ctx, "b", op(1), mcc.Online)),
		given(ctx, s, size),
	)
}

func works() []work {
	return []work{
		{"chat Get", []int{10}, room, func(ctx context.Context, s services, _ int) error {
			return errOf(s.rooms.Get(ctx, "r"))
		}},
		{"chat Join", []int{10}, room, func(ctx context.Context, s services, round int) error {
			return errOf(s.rooms.Join(ctx, "r", op(10+round), id("guest", round), chat.Member{Role: chat.Visitor}))
		}},
		{"chat Post", []int{10}, room, func(ctx context.Context, s services, round int) error {
			_, _, err := s.rooms.Post(ctx, "r", op(10+round), id("user", 0))
			return err
		}},
		{"chat MarkRead", []int{10, 100, 1_000, 10_000}, room, func(ctx context.Context, s services, round int) error {
			return errOf(s.rooms.MarkRead(ctx, "r", op(10+round), id("user", 1), uint64(10+round)))
		}},
		{"session Reply", []int{1}, given, func(ctx context.Context, s services, round int) error {
			return errOf(s.sessions.Reply(ctx, id("s", 0), op(10+round), "a"))
		}},
		{"mcc SetAccepting", []int{5, 50, 500}, agent, func(ctx context.Context, s services, round int) error {
			return errOf(s.agents.SetAccepting(ctx, "a", op(10+round), round%2 == 1))
		}},
		{"desk Open", []int{1}, func(context.Context, services, int) error { return nil }, open},
		{"desk Assign", []int{5}, queued, func(ctx context.Context, s services, round int) error {
			return errOf(s.desk.Assign(ctx, op(10+round), id("s", round), "a"))
		}},
		{"desk Transfer", []int{5}, givenWithOther, func(ctx context.Context, s services, round int) error {
			return errOf(s.desk.Transfer(ctx, op(10+round), id("s", round), desk.TransferTo{AgentID: "b"}))
		}},
		{"desk Close", []int{5}, given, func(ctx context.Context, s services, round int) error {
			return errOf(s.desk.Close(ctx, op(10+round), id("s", round), session.ByAgent))
		}},
		{"desk Reap", []int{5}, given, func(ctx context.Context, s services, round int) error {
			return errOf(s.desk.Reap(ctx, op(10+round).At, "a"))
		}},
	}
}

// calm waits for background work between calls: while a release is in flight, the next acquire names the
// previous owner, which is 45 B more.
type calm struct{ rmw.Store }

func (s calm) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	time.Sleep(time.Millisecond)
	return s.Store.Read(ctx, key)
}

func (s calm) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	time.Sleep(time.Millisecond)
	return s.Store.Update(ctx, key, fn)
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

// count returns the cost of one operation, including its background work.
func count(t *testing.T, path string, layout domains.Layout, w work, size int) (c meter.Count) {
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
		store = calm{store}
		s := services{
			store: store, layout: layout,
			rooms:    chat.New(store, chat.Config{Layout: layout}),
			sessions: session.New(store, session.Config{Layout: layout}),
			agents:   mcc.New(store, mcc.Config{Layout: layout}),
		}
		s.desk = desk.New(s.sessions, s.agents, desk.Config{})
		require.NoError(t, w.before(t.Context(), s, size))
		for round := range rounds {
			synctest.Wait()
			start := wire.Read()
			require.NoError(t, w.do(t.Context(), s, round))
			time.Sleep(time.Second) // fake time: the release follows in the background
			synctest.Wait()
			c = wire.Read().Sub(start)
		}
		require.NoError(t, rdb.Close())
		require.NoError(t, p.Close())
	})
	return c
}
