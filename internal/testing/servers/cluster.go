package servers

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

const clusterSlots = 16384

// clusterLimit limits the time in which the nodes agree. A node trusts others only after a second or two,
// and marks one as failed after five seconds of silence.
const clusterLimit = 60 * time.Second

// StartCluster is [StartClusterNodes] without replicas.
func StartCluster(ctx context.Context, dir string, masters int) ([]*Server, error) {
	c, err := StartClusterNodes(ctx, dir, masters, 0, "--cluster-node-timeout", "60000") // nothing takes over
	if err != nil {
		return nil, err
	}
	return c.nodes, nil
}

// ClusterNodes are the nodes of a Redis Cluster. Its methods are safe for concurrent use.
type ClusterNodes struct {
	nodes    []*Server
	replicas int
	moving   sync.Mutex // held by the running MoveSlot
}

// StartClusterNodes starts a Redis Cluster of this many masters, at least three, each with this many
// replicas, and returns once all nodes report it complete and the replicas are attached. Their files are in
// dir; the options go to every node. All end with ctx; after an error none is left.
//
// A restarted node rejoins the cluster, because its folder keeps the cluster state. A replica stays with
// its master, even if that has lost all slots.
func StartClusterNodes(ctx context.Context, dir string, masters, replicas int, options ...string) (c *ClusterNodes, err error) {
	if masters < 3 || replicas < 0 {
		return nil, fmt.Errorf("cluster: needs at least 3 masters, not %d, and 0 replicas, not %d", masters, replicas)
	}
	c = &ClusterNodes{replicas: masters * replicas}
	defer func() {
		if err != nil {
			c.Stop()
			c = nil
		}
	}()
	for i := range masters * (1 + replicas) {
		folder, err := subfolder(dir, "node", i)
		if err != nil {
			return c, fmt.Errorf("cluster: %w", err)
		}
		node, err := clusterNode(ctx, folder, options)
		if err != nil {
			return c, err
		}
		c.nodes = append(c.nodes, node)
	}
	if err := c.join(ctx, masters); err != nil {
		return c, fmt.Errorf("cluster: %w", err)
	}
	return c, c.AwaitOK(ctx)
}

// clusterNode starts one node. Its bus port is given explicitly: the default, 10000 above the first, may be
// taken or too high.
func clusterNode(ctx context.Context, dir string, options []string) (*Server, error) {
	l := redisLaunch(dir, nil)
	l.ports = 2
	plain := l.args
	l.args = func(s *Server) ([]string, error) {
		args, err := plain(s)
		args = append(args, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(s.ports[1]),
			"--cluster-config-file", filepath.Join(dir, "nodes.conf"), "--cluster-node-timeout", "5000",
			"--cluster-allow-replica-migration", "no")
		return append(append(args, fastReplicas()...), options...), err
	}
	return l.start(ctx)
}

// join gives each node an epoch of its own, assigns the slots to the masters, introduces all nodes to the
// first, and attaches the replicas.
func (c *ClusterNodes) join(ctx context.Context, masters int) error {
	ctx, cancel := context.WithTimeout(ctx, clusterLimit)
	defer cancel()
	for i, node := range c.nodes {
		if _, err := do(ctx, node.Addr, "CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)); err != nil {
			return err
		}
		if i < masters {
			from, to := clusterSlots*i/masters, clusterSlots*(i+1)/masters-1
			if _, err := do(ctx, node.Addr, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(from), strconv.Itoa(to)); err != nil {
				return err
			}
		}
		if i == 0 {
			continue
		}
		host, port, _ := net.SplitHostPort(c.nodes[0].Addr) // an address of this process, so it is valid
		if _, err := do(ctx, node.Addr, "CLUSTER", "MEET", host, port, strconv.Itoa(c.nodes[0].ports[1])); err != nil {
			return err
		}
	}
	for i, node := range c.nodes[masters:] {
		id, err := do(ctx, c.nodes[i%masters].Addr, "CLUSTER", "MYID")
		if err != nil {
			return err
		}
		// A replica refuses this until it knows its master.
		if err := poll(ctx, func() error {
			_, err := do(ctx, node.Addr, "CLUSTER", "REPLICATE", id.Word())
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// Servers returns the initial masters, then their replicas: the first of each master, then the second of
// each. The order does not change with their roles.
func (c *ClusterNodes) Servers() []*Server { return slices.Clone(c.nodes) }

// Addrs returns the addresses of the nodes.
func (c *ClusterNodes) Addrs() []string { return addrsOf(c.nodes) }

// Stop kills all nodes.
func (c *ClusterNodes) Stop() { stopAll(c.nodes) }

// AwaitOK waits until all nodes are up, report the cluster as complete and know all others, and all
// replicas are attached. All faults must have ended.
func (c *ClusterNodes) AwaitOK(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, clusterLimit)
	defer cancel()
	for _, node := range c.nodes {
		if err := poll(ctx, func() error { return c.ok(ctx, node) }); err != nil {
			return fmt.Errorf("cluster: node %s is not ready: %w; its log ends with:\n%s", node.Addr, err, tail(node.Log(), 10))
		}
	}
	return nil
}

// ok checks one node.
func (c *ClusterNodes) ok(ctx context.Context, node *Server) error {
	select {
	case <-node.Done():
		return os.ErrProcessDone
	default:
	}
	v, err := do(ctx, node.Addr, "CLUSTER", "INFO")
	if err != nil {
		return err
	}
	state := info(v)
	if state["cluster_state"] != "ok" || state["cluster_slots_ok"] != strconv.Itoa(clusterSlots) {
		return fmt.Errorf("it says %v", state)
	}
	peers, err := peersOf(ctx, node)
	if err != nil {
		return err
	}
	replicas := 0
	for _, p := range peers {
		if !p.well {
			return fmt.Errorf("it sees %s as %s", p.addr, p.flags)
		}
		if p.is("slave") {
			replicas++
		}
		if p.is("slave") && p.is("myself") {
			v, err := do(ctx, node.Addr, "INFO", "replication")
			if err != nil {
				return err
			}
			if link := info(v)["master_link_status"]; link != "up" {
				return fmt.Errorf("its link to its master is %s", link)
			}
		}
	}
	if len(peers) != len(c.nodes) || replicas != c.replicas {
		return fmt.Errorf("it sees %d nodes, %d of them replicas, not %d and %d", len(peers), replicas, len(c.nodes), c.replicas)
	}
	return nil
}

func addrsOf(nodes []*Server) (addrs []string) {
	for _, node := range nodes {
		addrs = append(addrs, node.Addr)
	}
	return addrs
}

func stopAll(nodes []*Server) {
	for _, node := range nodes {
		node.Stop()
	}
}
