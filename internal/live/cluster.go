package live

import (
	"context"
	"net"
	"slices"
	"strings"
	"time"
)

// member is a line of CLUSTER NODES.
type member struct {
	id      string
	addr    string // HOST:PORT
	primary string // id of its primary; empty for a primary
	myself  bool
	down    bool // failed, or without an address
}

// parseMembers parses a reply to CLUSTER NODES:
//
//	07c3… 10.0.0.7:6379@16379,name master - 0 1426238317239 4 connected 0-5460
func parseMembers(text string) (all []member) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 8 {
			continue
		}
		addr, _, _ := strings.Cut(fields[1], ",") // a name follows, since Redis 7
		addr, _, _ = strings.Cut(addr, "@")       // the port of the bus follows, since Redis 4
		m := member{id: fields[0]}
		if at := strings.LastIndex(addr, ":"); at > 0 { // an IPv6 address has no brackets here
			m.addr = net.JoinHostPort(strings.Trim(addr[:at], "[]"), addr[at+1:])
		}
		for flag := range strings.SplitSeq(fields[2], ",") {
			switch flag {
			case "myself":
				m.myself = true
			case "slave", "replica":
				m.primary = fields[3]
			case "fail", "noaddr", "handshake":
				m.down = true
			}
		}
		all = append(all, m)
	}
	return all
}

// membersEvery is the interval between two looks at the members of a cluster. A slot migration
// takes longer, so no member can serve slots in between.
const membersEvery = time.Minute

// lookAtMembers checks that the primaries of the cluster have not changed.
func (n *node) lookAtMembers(ctx context.Context) {
	text, err := n.wire.Text(ctx, "CLUSTER", "NODES")
	n.membersAt, n.membersSeen = time.Now().Add(membersEvery), err == nil
	switch {
	case isRefusal(err):
	case err != nil:
		n.close()
	case primariesOf(parseMembers(text)) != primariesOf(n.members):
		n.trouble("sees other primaries in its cluster than at the beginning")
	}
}

// primariesOf lists the ids of the primaries that serve.
func primariesOf(all []member) string {
	var ids []string
	for _, m := range all {
		if m.primary == "" && !m.down {
			ids = append(ids, m.id)
		}
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}
