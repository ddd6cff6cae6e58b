package torture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/proxycompat"
)

// masters is the number of servers of a Redlock.
const masters = 5

// quorums returns topologies for mitigations only: most for locks, which the stores do not support.
func quorums() []Topology {
	return append([]Topology{
		failing(),
		{Name: "masters", About: "five redis-servers that know nothing of each other, and write each command to their logs",
			start: startMasters(onDisk()...), only: []string{}},
		{Name: "forgetful", About: "the same without logs", start: startMasters(), only: []string{}},
	}, services()...)
}

func startMasters(options ...string) func(ctx context.Context, s *Environment, dir string) error {
	return func(ctx context.Context, s *Environment, dir string) error {
		for i := range masters {
			dir := filepath.Join(dir, fmt.Sprintf("redis-%d", i))
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
			server, err := servers.StartRedis(ctx, dir, options...)
			if err != nil {
				return err
			}
			s.servers = append(s.servers, server)
			s.end = append(s.end, server.Stop)
		}
		s.Profile = proxycompat.Redis()
		s.addr = s.servers[0].Addr
		return nil
	}
}

// atTheQuorum returns the nemeses that only concern mitigations.
func atTheQuorum() []Nemesis {
	return append([]Nemesis{
		{Name: "one-down", About: "one server is killed, or stands still, for up to a lease, and goes on",
			every: 200 * time.Millisecond, least: 5 * time.Second,
			inject: func(ctx context.Context, c *injection) error {
				all := slices.Concat(c.servers, c.members)
				return c.down(ctx, all[c.rng.IntN(len(all))])
			}},
		{Name: "failovers", About: "SENTINEL FAILOVER, or a partition of the primary with half of the processes, when all servers replicate the primary again",
			every: 2 * time.Second, needs: sentinels, least: 10 * time.Second,
			inject: func(ctx context.Context, c *injection) error {
				if c.rng.IntN(2) == 0 {
					return isolated(ctx, c)
				}
				c.note("SENTINEL FAILOVER")
				if _, err := c.sentinels.Failover(ctx); err != nil {
					return err
				}
				return c.sentinels.AwaitSettled(ctx)
			}},
		{Name: "most-down", About: "most of the servers are killed at once, as by a power cut, and start again", every: holdLease, least: 5 * time.Second,
			inject: func(ctx context.Context, c *injection) error {
				all := slices.Concat(c.servers, c.members)
				most := all[:0:0]
				for _, i := range c.rng.Perm(len(all))[:len(all)/2+1] {
					most = append(most, all[i])
				}
				c.note("%d of %d servers are killed", len(most), len(all))
				err := powerCut(ctx, most)
				if c.members != nil { // the members elect a leader, and clients connect again
					_ = pause(ctx, 2*holdLease)
				}
				return err
			}},
	}, atTheServices()...)
}

// powerCut kills all servers, and restarts each at once.
func powerCut(ctx context.Context, most []*servers.Server) error {
	errs := make([]error, len(most))
	var all sync.WaitGroup
	for i, server := range most {
		all.Go(func() {
			if errs[i] = server.Kill(); errs[i] == nil {
				errs[i] = server.Restart(context.WithoutCancel(ctx))
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
