package live

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// node is one server that is looked at. One goroutine at a time uses it.
type node struct {
	cfg  Config
	addr Address

	behind *Address // the sentinels that have named addr, if any
	wire   *wire    // nil: the connection is lost

	count  *counter
	people *people
	info   Info // of the last look
	began  time.Time
	looked time.Time // when the last look was answered
	looks  int
	gone   bool // it is no primary any more: nothing of it counts from then on

	clientsAt time.Time // when CLIENT LIST may be asked for again
	denied    []Denied  // of ACL LOG, at the beginning
	grown     []Denied  // and what came since
	members   []member  // of a Redis Cluster, at the beginning
	membersAt time.Time // when CLUSTER NODES may be asked for again

	membersSeen bool // the last time it was asked for, it was answered
	ours        map[string]bool
	user        string

	monitor  *monitor
	troubles []string // why what was counted is not all
	unseen   []Unseen
}

// Unseen is what could not be looked at, and what to do about it.
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
	n.ours[w.conn.LocalAddr().String()] = true
	return nil
}

func (n *node) close() {
	if n.wire != nil {
		n.wire.close()
		n.wire = nil
	}
}

func (n *node) trouble(format string, args ...any) {
	text := n.addr.Host + " " + fmt.Sprintf(format, args...)
	if !slices.Contains(n.troubles, text) {
		n.troubles = append(n.troubles, text)
	}
}

// notSeen notes what could not be asked, once, with the right that is missing.
func (n *node) notSeen(what string, err error, right string) {
	for _, u := range n.unseen {
		if u.What == what {
			return
		}
	}
	u := Unseen{Server: n.addr.Host, What: what, Why: clean(err.Error())}
	if lacksRight(err) {
		u.Do = fmt.Sprintf("ACL SETUSER %s %s", n.userName(), right)
	}
	n.unseen = append(n.unseen, u)
}

func (n *node) userName() string {
	if n.user == "" {
		return "default"
	}
	return n.user
}

// begin is the first look. An error says that this server cannot be judged.
func (n *node) begin(ctx context.Context) error {
	info, err := n.ask(ctx)
	if err != nil {
		return n.cannotAsk(err)
	}
	if err := n.judgeable(info); err != nil {
		return err
	}
	if info.Fields["cluster_enabled"] == "1" {
		text, err := n.wire.text(ctx, "CLUSTER", "NODES")
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
		if user, err := n.wire.text(ctx, "ACL", "WHOAMI"); err == nil {
			n.user = user
		}
		if n.denied, err = n.askDenied(ctx); err != nil {
			n.notSeen("ACL LOG", err, "+acl|log")
		}
	}
	// The window begins with this look: all that was asked before it is not in it.
	if info, err = n.ask(ctx); err != nil {
		return n.cannotAsk(err)
	}
	n.info, n.began, n.looked, n.looks = info, time.Now(), time.Now(), 1
	n.count.advance(info.Commands, false)
	return nil
}

// ask asks for what the server counts.
func (n *node) ask(ctx context.Context) (Info, error) {
	general, err := n.wire.text(ctx, "INFO")
	if err != nil {
		return Info{}, err
	}
	stats, err := n.wire.text(ctx, "INFO", "commandstats")
	if err != nil {
		return Info{}, err
	}
	return ParseInfo(general + "\r\n" + stats), nil
}

// askAgain asks over another connection if the one we have is of no use any more: a server,
// and what stands before it, ends those that were idle for long.
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
	if n.wire == nil { // CLIENT LIST was too much
		if err := n.connect(ctx); err != nil {
			return nil, err
		}
	}
	reply, err := n.wire.ask(ctx, "ACL", "LOG", "1000")
	if err != nil {
		return nil, err
	}
	return parseDenied(reply), nil
}

// look is any later one. ctx bounds connecting anew.
func (n *node) look(ctx context.Context) {
	if n.gone {
		return
	}
	info, err := n.askAgain(ctx)
	if isRefusal(err) { // it is loading its data, say
		return
	}
	if err != nil {
		n.close()
		return // tried again at the next look; at the end it is a trouble
	}
	if n.changed(info) {
		return
	}
	restarted := info.Fields["run_id"] != n.info.Fields["run_id"]
	reset := !restarted && fell(n.info, info)
	if reset = n.count.advance(info.Commands, restarted || reset); restarted {
		n.trouble("was started anew: what was sent before that, after %s, was not counted", n.looked.UTC().Format(time.TimeOnly))
	} else if reset {
		n.trouble("had its counters reset (CONFIG RESETSTAT): what was sent shortly before that was not counted")
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

// changed reports whether it is no primary any more, so that its counts have what
// replication does in them.
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

// wasReplica reports whether a primary has been a replica since an earlier look. It has
// another history then, and still knows that of the primary it had. One that gets its first
// replica, or has lost all for an hour, begins a new history as well, but with none before.
func wasReplica(before, now map[string]string) bool {
	return before["master_replid"] != now["master_replid"] && strings.Trim(now["master_replid2"], "0") != ""
}

// A CLIENT LIST that is long (10,000 clients are about 3 MB) is asked for less often: share
// is how many times as long as it took is waited before the next one, so that it gets at
// most a hundredth of a server's time.
const (
	longList = 256 << 10
	share    = 100
)

func (n *node) lookAtClients(ctx context.Context) {
	began := time.Now()
	text, err := n.wire.text(ctx, "CLIENT", "LIST")
	switch {
	case isRefusal(err):
		n.notSeen("CLIENT LIST: who sent it, and who is subscribed or in a transaction now", err, "+client|list")
		n.clientsAt = began.Add(24 * 365 * time.Hour) // each refusal is an entry of ACL LOG
		return
	case err != nil:
		n.close()
		n.clientsAt = began.Add(share * time.Since(began)) // it may be what is too much
		return
	}
	n.clientsAt = began
	if len(text) > longList {
		n.clientsAt = began.Add(share * time.Since(began))
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

// isOurs reports whether a client is this program, or another run of it: with its name, and
// in nothing that it does not do.
func (n *node) isOurs(c Client) bool {
	return n.ours[c.Addr] || strings.HasPrefix(c.Name, ownName) && len(c.Holds()) == 0
}
