package torture

import (
	"context"
	"errors"
	"time"
)

// atTheSentinels returns the nemeses that replace the primary. Replication is asynchronous: data that the
// replicas lack is lost, with any client.
func atTheSentinels() []Nemesis {
	return []Nemesis{
		{Name: "failover", About: "SENTINEL FAILOVER: a replica takes the place of a primary that lives", every: time.Second,
			needs: sentinels, forgets: true, least: 10 * time.Second,
			inject: func(ctx context.Context, c *injection) error {
				c.note("SENTINEL FAILOVER")
				_, err := c.sentinels.Failover(ctx)
				return err
			}},
		{Name: "primary-kill", About: "the primary is killed; a replica takes its place, and it comes back as one", every: time.Second,
			needs: sentinels, forgets: true, least: 10 * time.Second,
			inject: func(ctx context.Context, c *injection) error {
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
		{Name: "primary-freeze", About: "the primary stands still (SIGSTOP) until another one has its place, and goes on as if nothing had happened",
			every: time.Second, needs: sentinels, forgets: true, least: 6 * time.Second,
			inject: func(ctx context.Context, c *injection) error {
				primary, err := c.sentinels.Primary(ctx)
				if err != nil {
					return err
				}
				c.note("the primary %s is suspended", primary.Addr)
				if err := primary.Pause(); err != nil {
					return err
				}
				_, err = c.sentinels.AwaitPrimary(ctx, primary)
				if again := primary.Resume(); again != nil {
					return again
				}
				c.note("the primary is resumed")
				return errors.Join(err, c.sentinels.AwaitSettled(ctx))
			}},
		{Name: "isolated-primary", About: "the primary and half of the clients are cut off from replicas, sentinels and the others, until another one has its place",
			every: time.Second, needs: sentinels, forgets: true, least: 8 * time.Second, inject: isolated},
	}
}

// isolated makes two primaries: that of the sentinels, and the isolated old one, each with clients. About
// ten seconds after the partition heals, the sentinels make the old one a replica.
func isolated(ctx context.Context, c *injection) error {
	primary, err := c.sentinels.Primary(ctx)
	if err != nil {
		return err
	}
	cut := c.relays.around(c.rng, primary.Addr)
	c.note("the primary %s is partitioned with half of the processes", primary.Addr)
	var heal func() // heals both partitions
	for _, stream := range []string{"upstream", "downstream"} {
		if heal, err = poison(cut, toxic{Type: "timeout", Stream: stream, Attributes: map[string]any{"timeout": 0}}); err != nil {
			return err
		}
	}
	_, err = c.sentinels.AwaitPrimary(ctx, primary)
	_ = pause(ctx, within(c.rng, 0, time.Second))
	heal()
	c.note("the partition is healed")
	return errors.Join(err, c.sentinels.AwaitSettled(ctx))
}
