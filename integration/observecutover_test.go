package integration

import (
	"context"
	"net/http"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// faultyCutover is a cut-over between real servers, whose status is served by migrate-check.
type faultyCutover struct {
	t        *testing.T
	server   *servers.Server // the old one
	old, new *redis.Client
	relay    *proxytest.Proxy // before the new one
	metrics  http.Handler
}

func newFaultyCutover(t *testing.T) *faultyCutover {
	t.Helper()
	c := &faultyCutover{t: t, server: servers.Redis(t, "--appendonly", "yes", "--appendfsync", "always")}
	to := servers.Redis(t).Addr
	c.old, c.new, c.relay = client(t, c.server.Addr), client(t, to), relay(t, to)
	for _, key := range []string{"stuck", "blind", "calm"} {
		require.NoError(t, c.old.Set(t.Context(), key, "v", 0).Err())
	}
	page, err := url.Parse(serveStatus(t, migrateCheck(t), "-name", "desk", "-old", c.server.Addr, "-new", c.relay.Addr()))
	require.NoError(t, err)
	c.metrics = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(page)
		r.Out.URL.Path = "/metrics"
	}}
	return c
}

// strike leaves a key in transit, gives another one two homes, and restarts the old store.
func (c *faultyCutover) strike() {
	store := func(rdb *redis.Client) cutover.Side {
		s := lockupdate.New(rdb, lockupdate.Config{})
		c.t.Cleanup(func() { _ = s.Close() })
		return cutover.Side{Store: s, Redis: rdb}
	}
	remove := c.relay.Inject(proxytest.Fault{Times: -1, Action: proxytest.RefuseWith, Text: "ERR down", Match: func([]string) bool {
		return c.old.Type(context.Background(), "stuck").Val() == "list" // sealed
	}})
	moving := cutover.New(store(c.old), store(client(c.t, c.relay.Addr())), cutover.Config{
		Stage: cutover.Stage{Phase: cutover.Copying, Percent: 100},
	})
	c.t.Cleanup(func() { _ = moving.Close() })
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Second)
	defer cancel()
	_, err := moving.Update(ctx, rmw.Key{Name: "stuck"}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur, nil })
	assert.Error(c.t, err)
	remove()
	assert.NoError(c.t, c.new.Set(c.t.Context(), "blind", "v", 0).Err())
	c.server.Stop()
	assert.NoError(c.t, c.server.Restart(c.t.Context()))
}
