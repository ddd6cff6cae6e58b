package servers

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// failoverAgain is the time after which the command to take over is repeated: a replica abandons an attempt
// after five seconds, and an earlier command would restart it.
const failoverAgain = 6 * time.Second

// Masters returns the nodes with slots, by their own entries. During a takeover both the replica and its
// master may be among them.
func (c *ClusterNodes) Masters(ctx context.Context) ([]*Server, error) {
	var masters []*Server
	var errs []error
	for _, node := range c.nodes {
		me, err := myself(ctx, node)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if me.is("master") && len(me.slots) > 0 {
			masters = append(masters, node)
		}
	}
	if len(masters) == 0 {
		return nil, fmt.Errorf("cluster: no master has slots: %w", errors.Join(errs...))
	}
	return masters, nil
}

// AwaitTakeover waits until a slot belongs to a master other than not. Call it after a kill of not.
func (c *ClusterNodes) AwaitTakeover(ctx context.Context, slot int, not *Server) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, clusterLimit)
	defer cancel()
	var owner *Server
	err := poll(ctx, func() (err error) {
		if owner, err = c.Owner(ctx, slot); err == nil && owner == not {
			return fmt.Errorf("it is still %s", not.Addr)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cluster: slot %d has no other owner: %w", slot, err)
	}
	return owner, nil
}

// Failover promotes a replica of a slot's master by CLUSTER FAILOVER: the master refuses writes until the
// replica has all data. It returns the new master once the old one reports itself as a replica.
func (c *ClusterNodes) Failover(ctx context.Context, slot int) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, clusterLimit)
	defer cancel()
	old, err := c.Owner(ctx, slot)
	if err != nil {
		return nil, err
	}
	for {
		if err := c.order(ctx, old); err != nil {
			return nil, fmt.Errorf("cluster: failover of %s: %w", old.Addr, err)
		}
		try, cancel := context.WithTimeout(ctx, failoverAgain)
		now, err := c.AwaitTakeover(try, slot, old)
		cancel()
		if err == nil {
			return now, poll(ctx, func() error { return isReplica(ctx, old) })
		}
		if ctx.Err() != nil {
			return nil, err
		}
	}
}

// order tells a replica of a master to take over.
func (c *ClusterNodes) order(ctx context.Context, master *Server) error {
	of, err := myself(ctx, master)
	if err != nil {
		return err
	}
	errs := []error{errors.New("it has no replica")}
	for _, node := range c.nodes {
		me, err := myself(ctx, node)
		if err == nil && me.is("slave") && me.master == of.id {
			_, err = do(ctx, node.Addr, "CLUSTER", "FAILOVER")
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func isReplica(ctx context.Context, node *Server) error {
	me, err := myself(ctx, node)
	if err == nil && !me.is("slave") {
		return fmt.Errorf("%s is no replica: %s", node.Addr, me.flags)
	}
	return err
}
