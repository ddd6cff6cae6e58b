package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/internal/serverlimits"
)

// node is an observed server. It is used by one goroutine at a time.
type node struct {
	cfg  Config
	addr Address

	behind *Address   // the sentinels of addr, if any
	wire   *resp.Conn // nil if the connection is lost

	count  *counter
	people *people
	info   Info // of the last look
	began  time.Time
	looked time.Time // time of the last reply
	looks  int
	gone   bool // no primary any more; later looks do not count

	clientsAt time.Time // no CLIENT LIST before
	denied    []Denied  // of ACL LOG, at the beginning
	grown     []Denied  // of ACL LOG, since the beginning
	members   []member  // of a Redis Cluster, at the beginning
	membersAt time.Time // no CLUSTER NODES before

	membersSeen bool // the last CLUSTER NODES was answered
	ours        map[string]bool
	user        string

	monitor  *monitor
	troubles []string // why the counts are not complete
	unseen   []Unseen
}

// Unseen is a failed question, with a remedy.
type Unseen struct {
	Server string `json:"server"`
	What   string `json:"what"`
	Why    string `json:"why"`
	Do     string `json:"do,omitempty"`
}

func newNode(a Address, cfg Config) *node {
	return &node{cfg: cfg, addr: a, count: newCounter(), people: newPeople(), ours: map[string]bool{}, user: a.Username}
}

func (n *node) connect(ctx context.Context) error {
	w, err := dial(ctx, n.addr, n.cfg, n.count.sent)
	if err != nil {
		return err
	}
	n.wire = w
	n.ours[w.LocalAddr().String()] = true
	return nil
}

func (n *node) close() {
	if n.wire != nil {
		n.wire.Close()
		n.wire = nil
	}
}

func (n *node) trouble(format string, args ...any) {
	text := n.addr.Host + " " + fmt.Sprintf(format, args...)
	if !slices.Contains(n.troubles, text) {
		n.troubles = append(n.troubles, text)
	}
}

// notSeen records the first failure of a question, with the missing right.
func (n *node) notSeen(what string, err error, right string) {
	if slices.ContainsFunc(n.unseen, func(u Unseen) bool { return u.What == what }) {
		return
	}
	u := Unseen{Server: n.addr.Host, What: what, Why: clean(err.Error())}
	if lacksRight(err) {
		u.Do = fmt.Sprintf("ACL SETUSER %s %s", n.userName(), right)
	}
	n.unseen = append(n.unseen, u)
}

func (n *node) userName() string { return cmp.Or(n.user, "default") }

// begin takes the first look. It returns an error for a server that cannot be judged.
func (n *node) begin(ctx context.Context) error {
	info, err := n.ask(ctx)
	if err != nil {
		return n.cannotAsk(err)
	}
	if err := n.judgeable(info); err != nil {
		return err
	}
	if info.Fields["cluster_enabled"] == "1" {
		text, err := n.wire.Text(ctx, "CLUSTER", "NODES")
		switch {
		case isRefusal(err):
			n.notSeen("the other servers of the cluster", err, "+cluster|nodes")
			n.trouble("could not be asked for the other servers of its cluster")
		case err != nil:
			return n.cannotAsk(err)
		}
		n.members, n.membersAt = parseMembers(text), time.Now().Add(membersEvery)
	}
	if info.major() >= 6 {
		if user, err := n.wire.Text(ctx, "ACL", "WHOAMI"); err == nil {
			n.user = user
		}
		if n.denied, err = n.askDenied(ctx); err != nil {
			n.notSeen("ACL LOG", err, "+acl|log")
		}
	}
	// The window begins here, after our own first commands.
	if info, err = n.ask(ctx); err != nil {
		return n.cannotAsk(err)
	}
	n.info, n.began, n.looked, n.looks = info, time.Now(), time.Now(), 1
	n.count.advance(info.Commands, false)
	return nil
}

// ask returns the server's counts.
func (n *node) ask(ctx context.Context) (Info, error) {
	general, err := n.wire.Text(ctx, "INFO")
	if err != nil {
		return Info{}, err
	}
	stats, err := n.wire.Text(ctx, "INFO", "commandstats")
	if err != nil {
		return Info{}, err
	}
	info := ParseInfo(general + "\r\n" + stats)
	info.Limits = serverlimits.Of(general)
	return info, nil
}

// askAgain reconnects once: servers and load balancers close idle connections.
func (n *node) askAgain(ctx context.Context) (Info, error) {
	if n.wire != nil {
		info, err := n.ask(ctx)
		if err == nil || isRefusal(err) || ctx.Err() != nil {
			return info, err
		}
		n.close()
	}
	if err := n.connect(ctx); err != nil {
		return Info{}, err
	}
	return n.ask(ctx)
}

func (n *node) askDenied(ctx context.Context) ([]Denied, error) {
	if n.wire == nil { // after a failed CLIENT LIST
		if err := n.connect(ctx); err != nil {
			return nil, err
		}
	}
	reply, err := n.wire.Do(ctx, "ACL", "LOG", "1000")
	if err != nil {
		return nil, err
	}
	return parseDenied(reply), nil
}

// look takes any look but the first. ctx bounds reconnecting.
func (n *node) look(ctx context.Context) {
	if n.gone {
		return
	}
	info, err := n.askAgain(ctx)
	if isRefusal(err) { // LOADING, for example
		return
	}
	if err != nil { // the next look tries again
		n.close()
		return
	}
	if n.changed(info) {
		return
	}
	restarted := info.Fields["run_id"] != n.info.Fields["run_id"]
	reset := n.count.advance(info.Commands, restarted || fell(n.info, info))
	switch {
	case restarted:
		n.trouble("was started anew: commands before that, after %s, were not counted", n.looked.UTC().Format(time.TimeOnly))
	case reset:
		n.trouble("had its counters reset (CONFIG RESETSTAT): commands shortly before that were not counted")
	}
	n.info, n.looked = info, time.Now()
	n.looks++
	if n.members != nil && !n.membersAt.After(n.looked) {
		n.lookAtMembers(ctx)
	}
	if n.wire != nil && !n.clientsAt.After(n.looked) {
		n.lookAtClients(ctx)
	}
}

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
		n.trouble("did not show its clients: those that were subscribed, in MULTI or blocked before are not known")
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
		n.trouble("did not show ACL LOG, and before Redis 6.2 does not count refused commands")
	}
}

// changed reports whether the role has changed, so that the counts include replication.
func (n *node) changed(info Info) bool {
	before, now := n.info.Fields, info.Fields
	switch {
	case before["role"] == "master" && now["role"] != "master":
		n.trouble("became a replica of %s:%s: ask that one", now["master_host"], now["master_port"])
		n.gone = true
	case now["role"] == "master" && before["role"] != "master":
		n.trouble("became a primary")
		n.gone = true
	case now["role"] == "master" && before["run_id"] == now["run_id"] && wasReplica(before, now):
		n.trouble("was a replica in between")
	}
	return n.gone
}

// wasReplica reports whether a primary was a replica between two looks: it has a new replication id,
// and remembers the id of its own primary. A primary with its first replica, or without one for an
// hour, has a new id as well, but no second one.
func wasReplica(before, now map[string]string) bool {
	return before["master_replid"] != now["master_replid"] && strings.Trim(now["master_replid2"], "0") != ""
}

// After a CLIENT LIST of longList bytes (10,000 clients are about 3 MB), the next one waits share
// times as long as it took: it uses at most a hundredth of a server's time.
const (
	longList = 256 << 10
	share    = 100
)

func (n *node) lookAtClients(ctx context.Context) {
	began := time.Now()
	text, err := n.wire.Text(ctx, "CLIENT", "LIST")
	n.clientsAt = began
	switch {
	case isRefusal(err):
		n.notSeen("CLIENT LIST: the senders, and the clients that are subscribed or in a transaction now", err, "+client|list")
		n.clientsAt = began.Add(24 * 365 * time.Hour) // each refusal is an entry of ACL LOG
		return
	case err != nil || len(text) > longList:
		n.clientsAt = began.Add(share * time.Since(began))
	}
	if err != nil {
		n.close()
		return
	}
	clients := ParseClients(text)
	for _, c := range clients {
		if n.isOurs(c) {
			n.ours[c.Addr] = true
		}
	}
	n.people.look(clients, n.isOurs, time.Since(n.began), func(command string) bool {
		return judge(n.cfg.Profile, command, true).rule != ""
	})
}

// isOurs reports whether a client is this program, or another run of it: it has our name, and holds
// nothing, as this program never does.
func (n *node) isOurs(c Client) bool {
	return n.ours[c.Addr] || strings.HasPrefix(c.Name, ownName) && len(c.Holds()) == 0
}
