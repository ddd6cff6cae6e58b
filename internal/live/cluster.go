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
	primary string // the id of its primary; empty: it is one
	myself  bool
	down    bool // it failed, or has no address
}

// parseMembers reads an answer to CLUSTER NODES:
//
//	07c3… 10.0.0.7:6379@16379,name master - 0 1426238317239 4 connected 0-5460
func parseMembers(text string) []member {
	var all []member
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 8 {
			continue
		}
		addr, _, _ := strings.Cut(fields[1], ",") // since Redis 7 a name may follow
		addr, _, _ = strings.Cut(addr, "@")       // since Redis 4 the port of the bus
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

// membersEvery is how often the other servers of a cluster are asked for: what joins and
// leaves within that time takes no slots, for moving them takes longer.
const membersEvery = time.Minute

// lookAtMembers looks whether the primaries are still those of the beginning.
func (n *node) lookAtMembers(ctx context.Context) {
	text, err := n.wire.text(ctx, "CLUSTER", "NODES")
	n.membersAt, n.membersSeen = time.Now().Add(membersEvery), err == nil
	switch {
	case isRefusal(err):
	case err != nil:
		n.close()
	case primariesOf(parseMembers(text)) != primariesOf(n.members):
		n.trouble("sees other primaries in its cluster than at the beginning")
	}
}

// primariesOf are the ids of those that serve, for a comparison with a later look.
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
