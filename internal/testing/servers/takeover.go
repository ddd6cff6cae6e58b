package servers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// failoverAgain is the time after which the command to take over is repeated: a replica abandons an attempt
// after five seconds, and an earlier command would restart it.
const failoverAgain = 6 * time.Second

// ErrResting: a replica that takes over again within 4 × cluster-node-timeout of its last election may lose
// acknowledged writes. Until 2 × cluster-node-timeout have passed, it wins by the votes of that election,
// without a new epoch, and the cluster makes it a replica again. Then until 4 × cluster-node-timeout it can
// win no election, while its master refuses writes for five seconds.
var ErrResting = errors.New("the replica's last election is too recent")

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
// replica has all data. It returns the new master once the old one reports itself as a replica. It changes
// nothing and returns [ErrResting] if the replica's last election is too recent.
func (c *ClusterNodes) Failover(ctx context.Context, slot int) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, clusterLimit)
	defer cancel()
	old, err := c.Owner(ctx, slot)
	if err != nil {
		return nil, err
	}
	for first := true; ; first = false {
		err := c.order(ctx, old)
		if errors.Is(err, ErrResting) && !first { // the replica's attempt has failed, and has begun an election
			err = poll(ctx, func() error { return c.order(ctx, old) })
		}
		if err != nil {
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
			if err := rested(ctx, node); err != nil {
				return err
			}
			_, err = do(ctx, node.Addr, "CLUSTER", "FAILOVER")
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// rested returns [ErrResting] if a node began an election within 4 × cluster-node-timeout. The log has the
// elections that no command has asked for as well.
func rested(ctx context.Context, node *Server) error {
	v, err := do(ctx, node.Addr, "CONFIG", "GET", "cluster-node-timeout")
	if err != nil {
		return err
	}
	timeout, err := strconv.Atoi(v.Fields()["cluster-node-timeout"])
	if err != nil {
		return fmt.Errorf("the cluster-node-timeout of %s: %w", node.Addr, err)
	}
	rest := 4 * max(time.Duration(timeout)*time.Millisecond, time.Second) // Redis takes a shorter one for a second
	if last := lastElection(node.Log()); time.Since(last) < rest {
		return fmt.Errorf("%w: %s began it at %v, and has to rest for %v", ErrResting, node.Addr, last, rest)
	}
	return nil
}

// electionBegins is the line of a log at the begin of an election.
const electionBegins = "Starting a failover election"

// lastElection returns the time of the last election in a log; zero: there is none. A line is
//
//	PID:ROLE DAY MONTH YEAR HOUR:MINUTE:SECOND.MILLISECONDS LEVEL TEXT
func lastElection(log string) (last time.Time) {
	for line := range strings.Lines(log) {
		fields := strings.Fields(line)
		if len(fields) < 5 || !strings.Contains(line, electionBegins) {
			continue
		}
		if at, err := time.ParseInLocation("02 Jan 2006 15:04:05.000", strings.Join(fields[1:5], " "), time.Local); err == nil {
			last = at
		}
	}
	return last
}

func isReplica(ctx context.Context, node *Server) error {
	me, err := myself(ctx, node)
	if err == nil && !me.is("slave") {
		return fmt.Errorf("%s is no replica: %s", node.Addr, me.flags)
	}
	return err
}
