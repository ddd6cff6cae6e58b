package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/unwatch/unwatch/internal/resp"
)

// Rights is the ACL for everything but MONITOR.
const Rights = "resetkeys resetchannels -@all +info +client|list +client|setname +acl|log +acl|whoami +cluster|nodes"

// SetupError says why a server cannot be judged.
type SetupError struct {
	Server string // HOST:PORT
	What   string
	Do     string // may be empty
	Err    error  // may be nil
}

// Error returns the problem and the remedy.
func (e *SetupError) Error() string {
	text := e.Server + ": " + e.What
	if e.Do != "" {
		text += "; " + e.Do
	}
	return text
}

// Unwrap returns Err.
func (e *SetupError) Unwrap() error { return e.Err }

func (n *node) setupError(err error, what, do string) error {
	return &SetupError{Server: n.addr.Host, What: what, Do: do, Err: err}
}

func (n *node) cannotConnect(err error) error {
	text := clean(err.Error())
	var dns *net.DNSError
	switch {
	case turnedAway(err):
		return n.setupError(err, "it does not let us in: "+text, "")
	case errors.As(err, &dns):
		return n.setupError(err, "there is no such host", "check the spelling, and whether this machine sees that name")
	case strings.Contains(text, "AUTH was refused"):
		return n.setupError(err, text, "check the user and the password")
	case meaning(err) == resp.Password:
		return n.setupError(err, "it wants a password", "")
	case errors.As(err, new(*resp.HandshakeError)):
		return n.setupError(err, text, "does it speak TLS at this port, and is its authority trusted?")
	case errors.Is(err, resp.ErrProtocol):
		return n.setupError(err, "it does not speak the protocol of Redis: "+text, "")
	case resp.IsClosed(err):
		return n.setupError(err, "it closes the connection", "it may want TLS, or be a proxy: then "+askServers)
	}
	return n.setupError(err, text, "")
}

const askServers = "ask the servers behind it, all of them: only they count"

// cannotAsk explains the error of an INFO of the first look.
func (n *node) cannotAsk(err error) error {
	text := clean(err.Error())
	switch {
	case lacksRight(err):
		return n.setupError(err, "its user may not ask for INFO, without which nothing can be counted: "+text,
			fmt.Sprintf("ACL SETUSER %s %s", n.userName(), Rights))
	case meaning(err) == resp.Password:
		return n.setupError(err, "it wants a password", "")
	case meaning(err) == resp.Loading: // INFO is answered by every other server
		return n.setupError(err, "it is loading its data", "try again later")
	case isRefusal(err):
		return n.setupError(err, "INFO was refused: "+text+": this is a proxy, or a server with another name for INFO", askServers)
	case resp.IsClosed(err):
		return n.setupError(err, "it closes the connection on INFO: this is a proxy, or wants TLS", askServers)
	}
	return n.setupError(err, text, "")
}

// judgeable returns an error for a sentinel, a proxy or a replica.
func (n *node) judgeable(info Info) error {
	f := info.Fields
	switch {
	case info.mode() == "sentinel":
		return n.setupError(nil, "this is a sentinel, and no server",
			"ask the primary that it watches"+watchedBy(f)+"; or give sentinel://HOST:PORT/NAME")
	case f["run_id"] == "" || f["redis_version"] == "" || len(info.Commands) == 0:
		return n.setupError(nil, "INFO has no run_id, version or commandstats: this is a proxy, or no Redis", askServers)
	case f["role"] != "master" && f["role"] != "slave":
		return n.setupError(nil, "INFO does not tell whether this is a primary: this is a proxy, or no Redis", askServers)
	case f["role"] != "master" && !n.cfg.Replicas:
		return n.setupError(nil, "this is a replica: its counts include the commands of replication",
			fmt.Sprintf("ask its primary: %s", net.JoinHostPort(f["master_host"], f["master_port"])))
	}
	return nil
}

// watchedBy lists the primaries of a sentinel: "name=main,status=ok,address=10.0.0.7:6379,…".
func watchedBy(fields map[string]string) string {
	var all []string
	for i := 0; fields[fmt.Sprintf("master%d", i)] != ""; i++ {
		for part := range strings.SplitSeq(fields[fmt.Sprintf("master%d", i)], ",") {
			if addr, ok := strings.CutPrefix(part, "address="); ok {
				all = append(all, addr)
			}
		}
	}
	if len(all) == 0 {
		return ""
	}
	return ": " + strings.Join(all, ", ")
}

// setup connects to the servers and to the other primaries of a Redis Cluster, and takes the
// first look. If it returns an error, all connections are closed.
func setup(ctx context.Context, addresses []Address, cfg Config) (nodes []*node, notes, troubles []string, err error) {
	defer func() {
		if err != nil {
			for _, n := range nodes {
				n.close()
			}
		}
	}()
	byRun, byID := map[string]string{}, map[string]bool{}
	add := func(a Address) (err error) {
		var behind *Address
		if a.Primary != "" {
			sentinels := a
			behind = &sentinels
			if a, err = askSentinels(ctx, sentinels, cfg); err != nil {
				return err
			}
		}
		n := newNode(a, cfg)
		n.behind = behind
		if err := n.connect(ctx); err != nil {
			return n.cannotConnect(err)
		}
		if err := n.begin(ctx); err != nil {
			n.close()
			return err
		}
		run := n.info.Fields["run_id"]
		if other, twice := byRun[run]; twice {
			n.close()
			notes = append(notes, fmt.Sprintf("%s is the same server as %s", a, other))
			return nil
		}
		byRun[run] = a.Host
		for _, m := range n.members {
			byID[m.id] = byID[m.id] || m.myself
		}
		nodes = append(nodes, n)
		return nil
	}
	for _, a := range addresses {
		if err := add(a); err != nil {
			return nodes, nil, nil, err
		}
	}
	for i := 0; i < len(nodes) && !cfg.OnlyThese; i++ { // add appends to nodes
		for _, m := range nodes[i].members {
			if m.primary != "" || m.down || byID[m.id] {
				continue
			}
			byID[m.id] = true
			a := nodes[i].addr
			a.Host = m.addr
			if err := add(a); err != nil {
				troubles = append(troubles, "another server of the cluster could not be asked: "+err.Error())
			}
		}
	}
	return nodes, notes, troubles, nil
}
