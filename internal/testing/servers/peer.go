package servers

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// peer is a cluster node as seen by another node.
type peer struct {
	id, addr, flags string
	master          string // the id of a replica's master
	epoch           int
	well            bool // connected and healthy
	slots           [][2]int
}

// peersOf returns all nodes that a node knows, itself included.
func peersOf(ctx context.Context, node *Server) ([]peer, error) {
	v, err := do(ctx, node.Addr, "CLUSTER", "NODES")
	if err != nil {
		return nil, err
	}
	var peers []peer
	for line := range strings.Lines(v.Word()) {
		p, err := parsePeer(line)
		if err != nil {
			return nil, err
		}
		peers = append(peers, p)
	}
	return peers, nil
}

// parsePeer reads
//
//	ID HOST:PORT@CPORT FLAGS MASTER PING PONG EPOCH LINK SLOT FROM-TO [SLOT->-ID]...
func parsePeer(line string) (peer, error) {
	fields := strings.Fields(line)
	if len(fields) < 8 {
		return peer{}, fmt.Errorf("a node that is none: %q", line)
	}
	addr, _, _ := strings.Cut(fields[1], "@")
	p := peer{id: fields[0], addr: addr, flags: fields[2], master: fields[3]}
	var err error
	if p.epoch, err = strconv.Atoi(fields[6]); err != nil {
		return p, fmt.Errorf("a node without an epoch: %q", line)
	}
	p.well = fields[7] == "connected"
	for _, bad := range []string{"fail", "fail?", "handshake", "noaddr"} {
		p.well = p.well && !p.is(bad)
	}
	for _, field := range fields[8:] {
		if strings.HasPrefix(field, "[") {
			continue // migrating, and still owned by the source
		}
		from, to, ok := strings.Cut(field, "-")
		if !ok {
			to = from
		}
		a, err := strconv.Atoi(from)
		if err != nil {
			return p, fmt.Errorf("a slot that is none: %q", field)
		}
		b, err := strconv.Atoi(to)
		if err != nil {
			return p, fmt.Errorf("a slot that is none: %q", field)
		}
		p.slots = append(p.slots, [2]int{a, b})
	}
	return p, nil
}

func (p peer) is(flag string) bool { return slices.Contains(strings.Split(p.flags, ","), flag) }

func (p peer) has(slot int) bool {
	return slices.ContainsFunc(p.slots, func(r [2]int) bool { return r[0] <= slot && slot <= r[1] })
}

// myself returns a node's entry for itself.
func myself(ctx context.Context, node *Server) (peer, error) {
	peers, err := peersOf(ctx, node)
	if err != nil {
		return peer{}, err
	}
	for _, p := range peers {
		if p.is("myself") {
			return p, nil
		}
	}
	return peer{}, fmt.Errorf("%s does not list itself", node.Addr)
}
