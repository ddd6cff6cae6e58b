package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/resp"
)

const (
	// moveKeys is the number of keys that move at once. Both nodes block meanwhile.
	moveKeys = 100

	// migrateLimit limits the time of one such transfer.
	migrateLimit = 5 * time.Second
)

// Owner returns the master that owns the slot, by the masters' own entries. Of two it is the one with the
// later epoch, because the other will learn of it.
func (c *ClusterNodes) Owner(ctx context.Context, slot int) (*Server, error) {
	var owner *Server
	var errs []error
	epoch := -1
	for _, node := range c.nodes {
		me, err := myself(ctx, node)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if me.is("master") && me.has(slot) && me.epoch > epoch {
			owner, epoch = node, me.epoch
		}
	}
	if owner == nil {
		return nil, fmt.Errorf("cluster: slot %d has no owner: %w", slot, errors.Join(errs...))
	}
	return owner, nil
}

// MoveSlot migrates a slot with all its keys to another master while clients use it, as redis-cli does, and
// returns once every reachable node knows. Only one slot moves at a time.
//
// The migration loses no key: the old owner serves a key until the new one has it, and redirects clients
// for a missing key. While the new owner is down the migration waits for it. After an error the slot may
// stay in migration, which works for clients; MoveSlot may be called again, and continues.
//
// Losses of Redis itself remain: data that a killed node had not persisted, and, because replicas do not
// know of a migration, keys of a slot whose old or new owner is replaced by a replica meanwhile.
func (c *ClusterNodes) MoveSlot(ctx context.Context, slot int, to *Server) error {
	c.moving.Lock()
	defer c.moving.Unlock()
	ctx, cancel := context.WithTimeout(ctx, clusterLimit)
	defer cancel()
	if err := c.moveSlot(ctx, slot, to); err != nil {
		return fmt.Errorf("cluster: slot %d to %s: %w", slot, to.Addr, err)
	}
	return nil
}

func (c *ClusterNodes) moveSlot(ctx context.Context, slot int, to *Server) error {
	target, err := myself(ctx, to)
	if err != nil {
		return err
	}
	if !target.is("master") {
		return errors.New("it is no master")
	}
	from, err := c.Owner(ctx, slot)
	if err != nil {
		return err
	}
	number := strconv.Itoa(slot)
	if from != to {
		source, err := myself(ctx, from)
		if err != nil {
			return err
		}
		// In this order, since the new owner must accept redirected clients before the old one redirects
		// them.
		if _, err := do(ctx, to.Addr, "CLUSTER", "SETSLOT", number, "IMPORTING", source.id); err != nil {
			return err
		}
		if _, err := do(ctx, from.Addr, "CLUSTER", "SETSLOT", number, "MIGRATING", target.id); err != nil {
			return err
		}
		if err := moveAll(ctx, number, from, to); err != nil {
			return err
		}
		if err := c.settle(ctx); err != nil {
			return err
		}
	}
	return c.announce(ctx, slot, target.id, to, from)
}

// moveAll moves keys until none is left. Then no key can appear: the old owner creates no key in a
// migrating slot.
func moveAll(ctx context.Context, slot string, from, to *Server) error {
	c, err := connect(ctx, from.Addr)
	if err != nil {
		return err
	}
	defer c.Close()
	c.Timeout = 2 * migrateLimit
	host, port, _ := net.SplitHostPort(to.Addr) // an address of this process, so it is valid
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		keys, err := c.Do(ctx, "CLUSTER", "GETKEYSINSLOT", slot, strconv.Itoa(moveKeys))
		if err != nil {
			return fmt.Errorf("CLUSTER GETKEYSINSLOT at %s: %w", from.Addr, err)
		}
		if len(keys.Words()) == 0 {
			return nil
		}
		// With REPLACE: if both have a key, a transfer was interrupted, and all later writes went to the
		// old owner.
		args := []string{"MIGRATE", host, port, "", "0", strconv.FormatInt(migrateLimit.Milliseconds(), 10), "REPLACE", "KEYS"}
		_, err = c.Do(ctx, append(args, keys.Words()...)...)
		if err == nil {
			continue
		}
		if !passes(err) {
			return fmt.Errorf("MIGRATE at %s: %w", from.Addr, err)
		}
		select { // the keys that did not arrive are still here
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// passes reports whether the error of a transfer is temporary: the new owner is down, or restarting.
func passes(err error) bool {
	var no resp.ErrorReply
	errors.As(err, &no)
	return resp.MeaningOf(strings.TrimPrefix(string(no), "ERR Target instance replied with error: ")).Temporary()
}

// settle waits until the reachable masters agree on the latest epoch, and no two share one. The new owner
// takes the slot with the next epoch. If the old owner had the same, it would take a later one and claim the
// slot again, and the new owner would delete its keys.
func (c *ClusterNodes) settle(ctx context.Context) error {
	return poll(ctx, func() error {
		var latest string
		owners := map[int]*Server{}
		for _, node := range c.nodes {
			me, err := myself(ctx, node)
			if err != nil || !me.is("master") {
				continue
			}
			v, err := do(ctx, node.Addr, "CLUSTER", "INFO")
			if err != nil {
				continue
			}
			if other := owners[me.epoch]; other != nil {
				return fmt.Errorf("%s and %s share epoch %d", other.Addr, node.Addr, me.epoch)
			}
			owners[me.epoch] = node
			known := info(v)["cluster_current_epoch"]
			if latest != "" && known != latest {
				return fmt.Errorf("%s knows epoch %s, another %s", node.Addr, known, latest)
			}
			latest = known
		}
		return ctx.Err()
	})
}

// announce tells all nodes the owner of the slot: first the new owner, so that the slot always has one,
// then the old one, which refuses if it still has a key. The others would learn it by gossip, as replicas
// do, which reject the command.
func (c *ClusterNodes) announce(ctx context.Context, slot int, id string, to, from *Server) error {
	set := func(node *Server) error {
		_, err := do(ctx, node.Addr, "CLUSTER", "SETSLOT", strconv.Itoa(slot), "NODE", id)
		return err
	}
	if err := set(to); err != nil {
		return err
	}
	if err := set(from); err != nil {
		return err
	}
	for _, node := range c.nodes {
		if node != to && node != from {
			_ = set(node)
		}
	}
	for _, node := range c.nodes {
		if err := poll(ctx, func() error { return knowsOwner(ctx, node, slot, id) }); err != nil {
			return err
		}
	}
	return nil
}

// knowsOwner returns no error for an unreachable node, which may be down.
func knowsOwner(ctx context.Context, node *Server, slot int, id string) error {
	peers, err := peersOf(ctx, node)
	if err != nil {
		return ctx.Err()
	}
	for _, p := range peers {
		if p.has(slot) && p.id != id {
			return fmt.Errorf("%s takes %s for its owner", node.Addr, p.addr)
		}
	}
	return nil
}
