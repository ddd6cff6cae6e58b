package torture

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/testing/servers"
)

func atTheServer() []Nemesis {
	ask := func(args ...any) func(ctx context.Context, rdb *redis.Client) error {
		return func(ctx context.Context, rdb *redis.Client) error { return rdb.Do(ctx, args...).Err() }
	}
	return []Nemesis{
		{Name: "freeze", About: "a server stands still (SIGSTOP), for up to three leases", every: 300 * time.Millisecond, needs: ownServers,
			inject: func(ctx context.Context, c *injection) error {
				return c.stalled(ctx, c.servers[c.rng.IntN(len(c.servers))], 10*time.Millisecond, 3*lease)
			}},
		{Name: "proxy-freeze", About: "the proxy stands still likewise", every: 300 * time.Millisecond,
			needs: ownProxy,
			inject: func(ctx context.Context, c *injection) error {
				return c.stalled(ctx, c.proxies[0], 10*time.Millisecond, 3*lease)
			}},
		{Name: "kill", About: "a server is killed (SIGKILL) and starts again with all that it had acknowledged", every: 300 * time.Millisecond, needs: ownServers,
			inject: func(ctx context.Context, c *injection) error {
				return c.killed(ctx, c.servers[c.rng.IntN(len(c.servers))])
			}},
		{Name: "proxy-kill", half: true, About: "the proxy is killed and starts again", every: 200 * time.Millisecond,
			needs:  ownProxy,
			inject: func(ctx context.Context, c *injection) error { return c.killed(ctx, c.proxies[0]) }},
		{Name: "script-flush", About: "SCRIPT FLUSH: each EVALSHA may meet a server without its script", every: 5 * time.Millisecond,
			inject: func(ctx context.Context, c *injection) error {
				return c.one(ctx, c.rng, ask("SCRIPT", "FLUSH", "SYNC"))
			}},
		{Name: "client-kill", About: "CLIENT KILL of all connections of a server, those of a proxy, too", every: 30 * time.Millisecond,
			inject: func(ctx context.Context, c *injection) error {
				c.note("CLIENT KILL")
				return c.one(ctx, c.rng, ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"))
			}},
		{Name: "client-pause", About: "CLIENT PAUSE of a server, for up to two leases", every: 200 * time.Millisecond,
			inject: func(ctx context.Context, c *injection) error {
				d := within(c.rng, time.Millisecond, 2*lease)
				c.note("CLIENT PAUSE %v", d)
				return c.one(ctx, c.rng, ask("CLIENT", "PAUSE", d.Milliseconds()))
			}},
		{Name: "debug-sleep", About: "DEBUG SLEEP: a server is busy, for up to two leases",
			every: 300 * time.Millisecond, needs: ownServers,
			inject: func(ctx context.Context, c *injection) error {
				d := within(c.rng, time.Millisecond, 2*lease)
				c.note("DEBUG SLEEP %v", d)
				return c.one(context.WithoutCancel(ctx), c.rng, ask("DEBUG", "SLEEP", d.Seconds()))
			}},
		{Name: "out-of-memory", About: "a server has no memory left for writes, for a moment", every: 100 * time.Millisecond,
			inject: outOfMemory},
	}
}

// killed kills a server, and restarts it after a while.
func (c *injection) killed(ctx context.Context, server *servers.Server) error {
	d := within(c.rng, time.Millisecond, 2*lease)
	c.note("%s is killed, and restarts %v later", server.Addr, d)
	if err := server.Kill(); err != nil {
		return err
	}
	_ = pause(ctx, d)
	return server.Restart(context.WithoutCancel(ctx))
}

// outOfMemory makes a server refuse locks and commits, but not deletions.
func outOfMemory(ctx context.Context, c *injection) error {
	return c.one(context.WithoutCancel(ctx), c.rng, func(ctx context.Context, rdb *redis.Client) error {
		if err := rdb.ConfigSet(ctx, "maxmemory", "1").Err(); err != nil {
			return err
		}
		c.note("out of memory")
		_ = pause(ctx, within(c.rng, time.Millisecond, lease))
		return rdb.ConfigSet(ctx, "maxmemory", "0").Err()
	})
}
