package desk_test

import (
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/internal/testing/contract"
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

// copyTo stores all that w has behind the proxy.
func (w *observedStore) copyTo(t *testing.T, p *proxytest.Proxy) {
	t.Helper()
	rdb := redis.NewClient(p.CalmOptions())
	for name, v := range w.values {
		if v.Exists() {
			require.NoError(t, rdb.Set(t.Context(), name, v.Text(), 0).Err())
		}
	}
	require.NoError(t, rdb.Close())
}

// copyFrom copies the proxy's values into w.
func (w *observedStore) copyFrom(t *testing.T, p *proxytest.Proxy) {
	t.Helper()
	rdb := redis.NewClient(p.CalmOptions())
	for _, name := range []string{
		"agent:a", "agent:b", "visitor:of-s", "visitor:of-t0", "visitor:of-t1", "session:s", "session:s2", "session:t0", "session:t1",
	} {
		if text, err := rdb.Get(t.Context(), name).Result(); err == nil {
			require.True(t, w.commit(rmw.Key{Name: name}, 0, rmw.String(text)))
		} else {
			require.ErrorIs(t, err, redis.Nil)
		}
	}
	clear(w.violations) // a copy is no operation: its next state counts
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

// assertSlots asserts that agents have slots for their sessions, and no others.
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
