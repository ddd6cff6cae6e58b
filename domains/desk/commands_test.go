package desk_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/internal/contract"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// wire is one path, down to the commands.
type wire struct {
	name    string
	profile func() *proxycompat.Profile
	engines int
	open    func(*redis.Client) rmw.Store
}

func wires() []wire {
	return []wire{
		{"cas", proxycompat.Redis, 1, func(rdb *redis.Client) rmw.Store { return cas.New(rdb, cas.Config{}) }},
		{"lockupdate", proxycompat.Codis32, 2, func(rdb *redis.Client) rmw.Store { return lockupdate.New(rdb, lockupdate.Config{}) }},
	}
}

// A process may die at each command of each operation: its network is gone from there
// on, with the command executed or not, and whatever it holds stays behind. As with the
// steps, whoever sends the operation again completes it, and if nobody does, time heals.
func TestCrashAtEveryCommand(t *testing.T) {
	died, stride := 0, 1
	if underRace {
		stride = 5
	}
	for _, wire := range wires() {
		for _, story := range stories() {
			for _, executed := range []bool{false, true} {
				for _, again := range []bool{true, false} {
					for n := 1; ; n += stride {
						struck := false
						t.Run(fmt.Sprintf("%s/%s/%d,executed=%v,again=%v", wire.name, story.name, n, executed, again), func(t *testing.T) {
							synctest.Test(t, func(t *testing.T) { struck = crashAt(t, wire, story, n, executed, again) })
						})
						if !struck || t.Failed() {
							break
						}
						died++
						require.Less(t, n, 100)
					}
				}
			}
		}
	}
	t.Logf("%d deaths", died)
	assert.Greater(t, died, 500/stride)
}

func crashAt(t *testing.T, w wire, story story, n int, executed, again bool) (struck bool) {
	p, err := proxytest.Start(proxytest.Config{Profile: w.profile(), Engines: w.engines, InMemory: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	ctx, stage := t.Context(), newWorld()
	story.play(t, stage)
	stage.copyTo(t, p)
	live, closeLive := process(w, p, &contract.Network{})
	defer closeLive()
	network := &contract.Network{}
	doomed, closeDoomed := process(w, p, network)
	action := proxytest.DropRequest
	if executed {
		action = proxytest.DropReply
	}
	remove := p.Inject(proxytest.Fault{Match: ofAPath, Skip: n - 1, Action: action, Do: func() {
		struck = true
		network.Cut()
	}})
	op := domains.NewOp(begin().Add(time.Second))
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	err = story.op(limited, doomed, op)
	cancel()
	remove()
	closeDoomed()
	if !struck {
		require.NoError(t, err)
	}
	time.Sleep(11 * time.Second) // what the dead process has locked is free after a lease
	if again {
		require.NoError(t, story.op(ctx, live, op), "the same operation again")
		s, err := live.sessions.Get(ctx, "s")
		require.NoError(t, err)
		story.after(t, s)
		assertSlots(t, live)
	}
	later := op.At.Add(patience + time.Second)
	require.NoError(t, live.reapAll(ctx, later, "a", "b"))
	assertSlots(t, live)
	return struck
}

// copyTo stores all that w has behind the proxy.
func (w *world) copyTo(t *testing.T, p *proxytest.Proxy) {
	t.Helper()
	rdb := redis.NewClient(p.CalmOptions())
	for name, v := range w.values {
		if v.Exists() {
			require.NoError(t, rdb.Set(t.Context(), name, v.Text(), 0).Err())
		}
	}
	require.NoError(t, rdb.Close())
}

// ofAPath tells the commands of a path from those that set a connection up.
func ofAPath(args []string) bool {
	return !slices.Contains([]string{"HELLO", "CLIENT", "AUTH", "SELECT", "PING"}, strings.ToUpper(args[0]))
}

// process is one more process on the path.
func process(w wire, p *proxytest.Proxy, network *contract.Network) (s service, exit func()) {
	opts := p.Options()
	opts.Dialer = network.Dialer(opts.Dialer)
	rdb := redis.NewClient(opts)
	store := w.open(rdb)
	return newService(store), func() {
		if c, ok := store.(io.Closer); ok {
			_ = c.Close()
		}
		_ = rdb.Close()
	}
}

// assertSlots: the agents have slots for what they have, and for nothing else.
func assertSlots(t *testing.T, s service) {
	t.Helper()
	n, err := s.sessions.Get(t.Context(), "s")
	require.NoError(t, err)
	for _, id := range []string{"a", "b"} {
		a, err := s.agents.Get(t.Context(), id)
		require.NoError(t, err)
		want := []string(nil)
		if n.AgentID == id {
			want = []string{"s"}
			assert.Equal(t, mcc.Held, a.Slots["s"].State)
		}
		assert.Equal(t, want, slices.Sorted(maps.Keys(a.Slots)), "slots of %s, while the session is %s of %q", id, n.Status, n.AgentID)
	}
	if v, err := s.sessions.Visitor(t.Context(), "of-s"); assert.NoError(t, err) && n.Status != session.Closed {
		assert.Equal(t, "s", v.SessionID)
	}
}
