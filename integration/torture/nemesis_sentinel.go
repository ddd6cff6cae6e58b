package torture

import (
	"context"
	"time"
)

// atTheSentinels is what has another server take the place of the primary. Replication does
// not wait for replicas: what they did not have yet is gone, whoever the client is.
func atTheSentinels() []Nemesis {
	behind := func(s *Site) bool { return s.sentinels != nil }
	return []Nemesis{
		{Name: "failover", About: "SENTINEL FAILOVER: a replica takes the place of a primary that lives", every: time.Second,
			on: behind, forgets: true, least: 15 * time.Second,
			strike: func(ctx context.Context, c *striking) error {
				c.note("SENTINEL FAILOVER")
				_, err := c.sentinels.Failover(ctx)
				return err
			}},
		{Name: "primary-kill", About: "the primary is killed; a replica takes its place, and it comes back as one", every: time.Second,
			on: behind, forgets: true, least: 15 * time.Second,
			strike: func(ctx context.Context, c *striking) error {
				primary, err := c.sentinels.Primary(ctx)
				if err != nil {
					return err
				}
				c.note("the primary %s is killed", primary.Addr)
				if err := primary.Kill(); err != nil {
					return err
				}
				_, err = c.sentinels.AwaitPrimary(ctx, primary)
				if again := primary.Restart(context.WithoutCancel(ctx)); again != nil {
					return again
				}
				return err
			}},
	}
}
