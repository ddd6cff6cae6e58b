package live

import (
	"context"
	"slices"
	"time"
)

// end takes the last look.
func (n *node) end(ctx context.Context) {
	if n.monitor != nil {
		n.monitor.stop()
	}
	defer n.close()
	before := n.looks
	n.membersAt, n.membersSeen = time.Time{}, false
	n.look(ctx)
	if n.gone {
		return
	}
	if n.looks == before {
		n.askSentinelsAgain(ctx)
		n.trouble("could not be asked since %s", n.looked.UTC().Format(time.TimeOnly))
		return
	}
	if n.people.looks == 0 {
		n.trouble("did not show its clients: who is subscribed, in MULTI or blocked since before is not known")
	}
	if n.members != nil && !n.membersSeen {
		n.trouble("could not be asked again for the other servers of its cluster")
	}
	n.askSentinelsAgain(ctx)
	n.endDenied(ctx)
}

// endDenied takes the last look at ACL LOG. Since Redis 6.2 the counts include rejected commands,
// and the log only adds their clients.
func (n *node) endDenied(ctx context.Context) {
	if n.info.major() < 6 {
		return
	}
	if !slices.ContainsFunc(n.unseen, func(u Unseen) bool { return u.What == "ACL LOG" }) {
		after, err := n.askDenied(ctx)
		if err == nil {
			n.grown = slices.DeleteFunc(newDenied(n.denied, after), func(d Denied) bool { return n.isOurs(d.Client) })
			return
		}
		n.notSeen("ACL LOG", err, "+acl|log")
	}
	if !n.info.countsRefusals() {
		n.trouble("did not show ACL LOG, and before Redis 6.2 does not count what it refuses")
	}
}
