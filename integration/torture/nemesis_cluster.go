package torture

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/servers"
)

// inTheCluster is what makes slots change hands. Of a move nothing may be lost, nor of a
// failover that the old master takes part in; a master that dies takes along what its replica
// did not have yet.
func inTheCluster() []Nemesis {
	return []Nemesis{
		{Name: "slot-move", About: "a slot in use moves to another master, with a rest of up to three leases in the middle", every: 50 * time.Millisecond,
			needs: cluster, least: 4 * time.Second, strike: slotMove},
		{Name: "cluster-failover", About: "CLUSTER FAILOVER: a replica takes the place of a master that lives, once it has all", every: 500 * time.Millisecond,
			needs: cluster, least: 6 * time.Second,
			strike: func(ctx context.Context, c *striking) error {
				_, slot, err := c.slotInUse(ctx)
				if err != nil {
					return err
				}
				c.note("CLUSTER FAILOVER of who has slot %d", slot)
				// To its end, whatever ctx says: the next cell empties the masters first.
				if _, err := c.cluster.Failover(context.WithoutCancel(ctx), slot); err != nil {
					return err
				}
				return c.cluster.AwaitOK(ctx) // the old one follows, and could take over again
			}},
		{Name: "master-kill", About: "a master is killed; its replica takes its place, and it comes back as one", every: 500 * time.Millisecond,
			needs: cluster, forgets: true, least: 8 * time.Second,
			strike: func(ctx context.Context, c *striking) error {
				_, slot, err := c.slotInUse(ctx)
				if err != nil {
					return err
				}
				master, err := c.cluster.Owner(ctx, slot)
				if err != nil {
					return err
				}
				c.note("the master %s is killed", master.Addr)
				if err := master.Kill(); err != nil {
					return err
				}
				_, err = c.cluster.AwaitTakeover(context.WithoutCancel(ctx), slot, master) // as above
				if again := master.Restart(context.WithoutCancel(ctx)); again != nil {
					return again
				}
				return errors.Join(err, c.cluster.AwaitOK(ctx))
			}},
	}
}

// keyInUse is one of the fleet's youngest, by chance, values and locks alike: names change all
// the time, and the old ones are nobody's any more. "": nobody has written yet.
func (c *striking) keyInUse(ctx context.Context) (key string, err error) {
	type generation struct {
		number int
		name   string
	}
	youngest := map[string]generation{} // of each kind
	err = c.direct(ctx, func(ctx context.Context, rdb *redis.Client) error {
		names, err := rdb.Keys(ctx, "*"+keyPrefix+"*").Result()
		for _, name := range names {
			end := strings.LastIndex(name, ":")
			number, err := strconv.Atoi(name[end+1:])
			if err != nil {
				number = 0 // the desk's keep their names
				end = len(name)
			}
			if last, known := youngest[name[:end]]; !known || last.number < number {
				youngest[name[:end]] = generation{number, name}
			}
		}
		return err
	})
	if err != nil || len(youngest) == 0 {
		return "", err
	}
	kinds := slices.Sorted(maps.Keys(youngest))
	return youngest[kinds[c.rng.IntN(len(kinds))]].name, nil
}

// slotInUse is that of such a key.
func (c *striking) slotInUse(ctx context.Context) (key string, slot int, err error) {
	key, err = c.keyInUse(ctx)
	if err != nil || key == "" {
		return "", c.rng.IntN(16384), err
	}
	err = c.one(ctx, c.rng, func(ctx context.Context, rdb *redis.Client) error {
		n, err := rdb.ClusterKeySlot(ctx, key).Result()
		slot = int(n)
		return err
	})
	return key, slot, err
}

// slotMove moves one slot. In every other case it rests in the middle: the key is at the new
// owner, all that ask the old one are sent there for each command, and WATCH is not let in.
func slotMove(ctx context.Context, c *striking) error {
	key, slot, err := c.slotInUse(ctx)
	if err != nil {
		return err
	}
	masters, err := c.cluster.Masters(ctx)
	if err != nil {
		return err
	}
	from, err := c.cluster.Owner(ctx, slot)
	if err != nil {
		return err
	}
	to := masters[c.rng.IntN(len(masters))]
	if to == from {
		return nil
	}
	if key != "" && c.rng.IntN(2) == 0 {
		d := within(c.rng, 10*time.Millisecond, 3*lease)
		c.note("slot %d of %s goes to %s, and rests for %v", slot, key, to.Addr, d)
		err = c.halfway(context.WithoutCancel(ctx), key, slot, from, to)
		_ = pause(ctx, d)
	} else {
		c.note("slot %d of %s goes to %s", slot, key, to.Addr)
	}
	return errors.Join(err, c.cluster.MoveSlot(context.WithoutCancel(ctx), slot, to))
}

// halfway begins the move of a slot with one key.
func (c *striking) halfway(ctx context.Context, key string, slot int, from, to *servers.Server) error {
	ids := map[*servers.Server]string{}
	do := func(server *servers.Server, args ...any) (any, error) {
		rdb := redis.NewClient(&redis.Options{Addr: server.Addr, Protocol: 2, DisableIdentity: true})
		reply, err := rdb.Do(ctx, args...).Result()
		return reply, errors.Join(err, rdb.Close())
	}
	for _, server := range []*servers.Server{from, to} {
		id, err := do(server, "CLUSTER", "MYID")
		if err != nil {
			return err
		}
		ids[server] = fmt.Sprint(id)
	}
	if _, err := do(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", ids[from]); err != nil {
		return err
	}
	if _, err := do(from, "CLUSTER", "SETSLOT", slot, "MIGRATING", ids[to]); err != nil {
		return err
	}
	host, port, _ := strings.Cut(to.Addr, ":") // it is ours
	_, err := do(from, "MIGRATE", host, port, key, 0, 5000)
	return err
}
