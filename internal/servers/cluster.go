package servers

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// clusterSlots is the number of slots of a Redis Cluster.
const clusterSlots = 16384

// clusterLimit is how long the nodes may take to agree. A node believes others only
// after a second or two, and calls one dead that was silent for five.
const clusterLimit = 60 * time.Second

// StartCluster is [StartClusterNodes] without replicas.
func StartCluster(ctx context.Context, dir string, masters int) ([]*Server, error) {
	c, err := StartClusterNodes(ctx, dir, masters, 0)
	if err != nil {
		return nil, err
	}
	return c.nodes, nil
}

// ClusterNodes are the nodes of a Redis Cluster. Its methods may be called from any
// goroutine.
type ClusterNodes struct {
	nodes    []*Server
	replicas int
	moving   sync.Mutex // held by the one MoveSlot under way
}

// StartClusterNodes starts a Redis Cluster of this many masters, at least three, each with
// this many replicas, and returns once all nodes call it complete and the replicas are
// attached. Their files are in dir; the options go to every node. All end with ctx; after an
// error none is left.
//
// A node that restarts is in the cluster again, because it keeps what it knows of it in its
// folder. A replica stays with its master, even with one that has lost all slots.
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

// clusterNode starts one node. Nodes talk to each other on a second port, which is
// 10000 above the first unless one says otherwise: and that may be taken, or too high.
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

// join gives each master its part of the slots, introduces all to the first, and attaches
// the replicas.
func (c *ClusterNodes) join(ctx context.Context, masters int) error {
	ctx, cancel := context.WithTimeout(ctx, clusterLimit)
	defer cancel()
	for i, node := range c.nodes {
		if i < masters {
			from, to := clusterSlots*i/masters, clusterSlots*(i+1)/masters-1
			if _, err := do(ctx, node.Addr, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(from), strconv.Itoa(to)); err != nil {
				return err
			}
		}
		if i == 0 {
			continue
		}
		host, port, _ := net.SplitHostPort(c.nodes[0].Addr) // it is ours
		if _, err := do(ctx, node.Addr, "CLUSTER", "MEET", host, port, strconv.Itoa(c.nodes[0].ports[1])); err != nil {
			return err
		}
	}
	for i, node := range c.nodes[masters:] {
		id, err := do(ctx, c.nodes[i%masters].Addr, "CLUSTER", "MYID")
		if err != nil {
			return err
		}
		// It is refused as long as the replica has not heard of its master.
		if err := poll(ctx, func() error {
			_, err := do(ctx, node.Addr, "CLUSTER", "REPLICATE", id.s)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// Servers are the masters of the start and then their replicas: of each master the first,
// then of each the second. They are the same servers whatever their roles are now.
func (c *ClusterNodes) Servers() []*Server { return append([]*Server(nil), c.nodes...) }

// Addrs is where the nodes listen.
func (c *ClusterNodes) Addrs() []string {
	var addrs []string
	for _, node := range c.nodes {
		addrs = append(addrs, node.Addr)
	}
	return addrs
}

// Stop kills all nodes.
func (c *ClusterNodes) Stop() { stopAll(c.nodes) }

// AwaitOK waits until all nodes are up, call the cluster complete and see all others, and
// all replicas are attached. All faults must have ended.
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

// ok asks one node.
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
	info := v.info()
	if info["cluster_state"] != "ok" || info["cluster_slots_ok"] != strconv.Itoa(clusterSlots) {
		return fmt.Errorf("it says %v", info)
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
			if link := v.info()["master_link_status"]; link != "up" {
				return fmt.Errorf("its link to its master is %s", link)
			}
		}
	}
	if len(peers) != len(c.nodes) || replicas != c.replicas {
		return fmt.Errorf("it sees %d nodes, %d of them replicas, not %d and %d", len(peers), replicas, len(c.nodes), c.replicas)
	}
	return nil
}

func stopAll(nodes []*Server) {
	for _, node := range nodes {
		node.Stop()
	}
}
