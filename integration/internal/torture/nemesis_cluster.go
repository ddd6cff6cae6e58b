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

	"github.com/unwatch/unwatch/internal/testing/servers"
)

// inTheCluster returns the nemeses that move slots. A slot migration, and a failover with the cooperation
// of the old master, must lose nothing. A killed master loses the data that its replica lacks.
func inTheCluster() []Nemesis {
	return []Nemesis{
		{Name: "slot-move", About: "a slot in use moves to another master, with a rest of up to three leases in the middle", every: 50 * time.Millisecond,
			needs: cluster, least: 4 * time.Second, inject: slotMove},
		{Name: "cluster-failover", About: "CLUSTER FAILOVER: a replica takes the place of a master that lives, once it has all", every: 500 * time.Millisecond,
			needs: cluster, least: 6 * time.Second, faults: 2, inject: clusterFailover},
		{Name: "master-kill", About: "a master is killed; its replica takes its place, and it comes back as one", every: 500 * time.Millisecond,
			needs: cluster, forgets: true, least: 8 * time.Second,
			inject: func(ctx context.Context, c *injection) error {
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
				_, err = c.cluster.AwaitTakeover(context.WithoutCancel(ctx), slot, master) // for the same reason
				if again := master.Restart(context.WithoutCancel(ctx)); again != nil {
					return again
				}
				return errors.Join(err, c.cluster.AwaitOK(ctx))
			}},
	}
}

// clusterFailover has a replica take over in one shard. It leaves out a shard if its replica has taken over a
// short time ago: Redis would lose acknowledged writes, see [servers.ErrResting].
func clusterFailover(ctx context.Context, c *injection) error {
	_, slot, err := c.slotInUse(ctx)
	if err != nil {
		return err
	}
	for _, slot := range []int{slot, (slot + 16384/3) % 16384, (slot + 2*16384/3) % 16384} { // one of each shard
		// The failover continues after ctx has ended, because the next cell empties the masters first.
		now, err := c.cluster.Failover(context.WithoutCancel(ctx), slot)
		if errors.Is(err, servers.ErrResting) {
			continue
		}
		if err != nil {
			return err
		}
		c.note("CLUSTER FAILOVER: slot %d belongs to %s", slot, now.Addr)
		return c.cluster.AwaitOK(ctx) // until then the old master could take over again
	}
	return nil
}

// keyInUse returns a random current key of the fleet, of a value or a lock: keys are replaced all the time,
// and the old ones are unused. "": no process has written yet.
func (c *injection) keyInUse(ctx context.Context) (key string, err error) {
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
				number = 0 // the desk's keys are not replaced
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

// slotInUse returns the slot of a current key.
func (c *injection) slotInUse(ctx context.Context) (key string, slot int, err error) {
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

// slotMove migrates one slot. Half of the time it pauses in the middle: the key is at the new owner, the
// old one redirects each command, and WATCH fails.
func slotMove(ctx context.Context, c *injection) error {
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
		c.note("slot %d of %s migrates to %s, with a pause of %v", slot, key, to.Addr, d)
		err = c.halfway(context.WithoutCancel(ctx), key, slot, from, to)
		_ = pause(ctx, d)
	} else {
		c.note("slot %d of %s migrates to %s", slot, key, to.Addr)
	}
	return errors.Join(err, c.cluster.MoveSlot(context.WithoutCancel(ctx), slot, to))
}

// halfway starts the migration of a slot with one key.
func (c *injection) halfway(ctx context.Context, key string, slot int, from, to *servers.Server) error {
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
	host, port, _ := strings.Cut(to.Addr, ":") // an address of this process, so it is valid
	_, err := do(from, "MIGRATE", host, port, key, 0, 5000)
	return err
}
