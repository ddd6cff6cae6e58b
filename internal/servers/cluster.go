package servers

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// clusterSlots is the number of slots of a Redis Cluster.
const clusterSlots = 16384

// clusterLimit is how long the nodes may take to agree. A node believes others only
// after a second or two.
const clusterLimit = 30 * time.Second

// StartCluster starts a Redis Cluster of this many masters, at least three, without
// replicas, and returns its nodes once all of them call it complete. Their files are in
// dir. All end with ctx; after an error none is left.
func StartCluster(ctx context.Context, dir string, masters int) (nodes []*Server, err error) {
	if masters < 3 {
		return nil, fmt.Errorf("cluster: needs at least 3 masters, not %d", masters)
	}
	defer func() {
		if err != nil {
			stopAll(nodes)
			nodes = nil
		}
	}()
	for i := range masters {
		folder := filepath.Join(dir, "node"+strconv.Itoa(i))
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nodes, fmt.Errorf("cluster: %w", err)
		}
		node, err := clusterNode(ctx, folder)
		if err != nil {
			return nodes, err
		}
		nodes = append(nodes, node)
	}
	if err := join(ctx, nodes); err != nil {
		return nodes, fmt.Errorf("cluster: %w", err)
	}
	return nodes, nil
}

// clusterNode starts one node. Nodes talk to each other on a second port, which is
// 10000 above the first unless one says otherwise: and that may be taken, or too high.
func clusterNode(ctx context.Context, dir string) (*Server, error) {
	l := redisLaunch(dir, nil)
	l.ports = 2
	plain := l.args
	l.args = func(s *Server) ([]string, error) {
		args, err := plain(s)
		return append(args, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(s.ports[1]),
			"--cluster-config-file", filepath.Join(dir, "nodes.conf"), "--cluster-node-timeout", "5000"), err
	}
	return l.start(ctx)
}

// join gives each node its part of the slots, introduces all to the first, and waits
// until each sees all slots served.
func join(ctx context.Context, nodes []*Server) error {
	ctx, cancel := context.WithTimeout(ctx, clusterLimit)
	defer cancel()
	for i, node := range nodes {
		from, to := clusterSlots*i/len(nodes), clusterSlots*(i+1)/len(nodes)-1
		if _, err := do(ctx, node.Addr, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(from), strconv.Itoa(to)); err != nil {
			return err
		}
		if i == 0 {
			continue
		}
		host, port, _ := net.SplitHostPort(nodes[0].Addr) // it is ours
		if _, err := do(ctx, node.Addr, "CLUSTER", "MEET", host, port, strconv.Itoa(nodes[0].ports[1])); err != nil {
			return err
		}
	}
	for _, node := range nodes {
		if err := node.awaitCluster(ctx, len(nodes)); err != nil {
			return err
		}
	}
	return nil
}

// awaitCluster waits until the node sees all of the nodes and all slots served.
func (s *Server) awaitCluster(ctx context.Context, nodes int) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		v, err := do(ctx, s.Addr, "CLUSTER", "INFO")
		info := v.info()
		if err == nil && info["cluster_state"] == "ok" && info["cluster_size"] == strconv.Itoa(nodes) &&
			info["cluster_slots_ok"] == strconv.Itoa(clusterSlots) {
			return nil
		}
		select {
		case <-tick.C:
		case <-s.Done():
			return fmt.Errorf("node %s: %w; its log ends with:\n%s", s.Addr, errExited, tail(s.Log(), 10))
		case <-ctx.Done():
			return fmt.Errorf("node %s is not ready: %w; it says %v, %w", s.Addr, context.Cause(ctx), info, err)
		}
	}
}

func stopAll(nodes []*Server) {
	for _, node := range nodes {
		node.Stop()
	}
}
