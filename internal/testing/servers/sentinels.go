package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// sentinelsLimit limits the time in which the sentinels agree. They gossip every two seconds, poll the
	// replicas every ten, and may vote twice.
	sentinelsLimit = 60 * time.Second

	// sentinelsName is the sentinels' name for their primary.
	sentinelsName = "main"

	downAfter       = time.Second
	failoverTimeout = 3 * time.Second
)

// Sentinels are a primary, its replicas, and their sentinels. The methods are safe for concurrent use.
type Sentinels struct {
	servers, sentinels []*Server
}

// Between returns the address of a server for clients that reach it through an intermediary, such as a
// relay that can be cut. The intermediary may start to listen later.
type Between func(addr string) (string, error)

// StartSentinels starts a primary with this many replicas, watched by this many sentinels of which a
// majority must agree, and returns once each sentinel knows all replicas and all other sentinels. Their
// files are in dir; the options go to primary and replicas. All end with ctx; after an error none is left.
//
// A server that restarts has its last role, as in a deployment: sentinels write the roles into the
// configurations. A killed primary restarts as a primary, until the sentinels make it a replica, some ten
// seconds later.
//
// Replicas and sentinels reach a server only through its intermediary; a primary does not connect to other
// servers. Sentinels use that address as the server's name, too; see [Sentinels.Find].
func StartSentinels(
	ctx context.Context, dir string, replicas, sentinels int, between Between, options ...string,
) (all *Sentinels, err error) {
	all = &Sentinels{}
	defer func() {
		if err != nil {
			all.Stop()
			all = nil
		}
	}()
	for i := range replicas + 1 {
		var primary *Server
		if i > 0 {
			primary = all.servers[0]
		}
		folder, err := subfolder(dir, "redis", i)
		if err != nil {
			return all, err
		}
		s, err := watched(ctx, folder, primary, between, options)
		if err != nil {
			return all, err
		}
		all.servers = append(all.servers, s)
	}
	// A sentinel reads the list of replicas from its primary at once, and then only every ten seconds: so
	// the replicas attach first.
	if err := all.awaitReplicas(ctx); err != nil {
		return all, err
	}
	for i := range sentinels {
		folder, err := subfolder(dir, "sentinel", i)
		if err != nil {
			return all, err
		}
		s, err := startSentinel(ctx, folder, all.servers[0].known, sentinels/2+1)
		if err != nil {
			return all, err
		}
		all.sentinels = append(all.sentinels, s)
	}
	return all, all.AwaitSettled(ctx)
}

// watched starts a server that sentinels can reconfigure permanently: its role is in the configuration
// file, since arguments would override the file.
func watched(ctx context.Context, dir string, primary *Server, between Between, options []string) (*Server, error) {
	l := redisLaunch(dir, nil)
	plain := l.args
	l.args = func(s *Server) ([]string, error) {
		args, err := plain(s)
		if err != nil {
			return nil, err
		}
		if s.known, err = between(s.Addr); err != nil {
			return nil, err
		}
		host, port, err := net.SplitHostPort(s.known)
		if err != nil {
			return nil, err
		}
		args = append(args, "--replica-announce-ip", host, "--replica-announce-port", port)
		text := ""
		if primary != nil {
			host, port, _ := net.SplitHostPort(primary.known) // an address of this process, so it is valid
			text = fmt.Sprintf("replicaof %s %s\n", host, port)
		}
		file := filepath.Join(dir, "redis.conf")
		args = append([]string{file}, args...)
		return append(append(args, fastReplicas()...), options...), os.WriteFile(file, []byte(text), 0o600)
	}
	return l.start(ctx)
}

// startSentinel starts a sentinel of the primary, of which a quorum must agree.
func startSentinel(ctx context.Context, dir, primary string, quorum int) (*Server, error) {
	l := redisLaunch(dir, nil)
	l.args = func(s *Server) ([]string, error) {
		host, port, err := net.SplitHostPort(primary)
		if err != nil {
			return nil, err
		}
		// A sentinel needs a writable configuration file.
		file := filepath.Join(dir, "sentinel.conf")
		text := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %q\nsentinel monitor %[3]s %s %s %d\n"+
			"sentinel down-after-milliseconds %[3]s %[7]d\nsentinel failover-timeout %[3]s %[8]d\n",
			s.ports[0], dir, sentinelsName, host, port, quorum, downAfter.Milliseconds(), failoverTimeout.Milliseconds())
		return []string{file, "--sentinel"}, os.WriteFile(file, []byte(text), 0o600)
	}
	return l.start(ctx)
}

// fastReplicas returns options with which replicas attach at once; by default a primary waits five seconds
// for more of them.
func fastReplicas() []string { return []string{"--repl-diskless-sync-delay", "0"} }

func subfolder(dir, kind string, i int) (string, error) {
	folder := filepath.Join(dir, kind+strconv.Itoa(i))
	return folder, os.MkdirAll(folder, 0o700)
}

// Name returns the sentinels' name for their primary.
func (*Sentinels) Name() string { return sentinelsName }

// Servers returns the initial primary and then its replicas, whatever their roles are now.
func (all *Sentinels) Servers() []*Server { return slices.Clone(all.servers) }

// Sentinels returns the sentinels.
func (all *Sentinels) Sentinels() []*Server { return slices.Clone(all.sentinels) }

// Addrs returns the addresses of the sentinels.
func (all *Sentinels) Addrs() []string { return addrsOf(all.sentinels) }

// Find returns the listening address of a server by the sentinels' name for it.
func (all *Sentinels) Find(named string) string {
	for _, s := range all.servers {
		if s.known == named {
			return s.Addr
		}
	}
	return named
}

// Stop kills all servers, the sentinels first: they would start a failover.
func (all *Sentinels) Stop() {
	stopAll(all.sentinels)
	stopAll(all.servers)
}

// Primary waits until a majority of the sentinels names the same primary, and returns it. It does not
// contact the primary, which may be down.
func (all *Sentinels) Primary(ctx context.Context) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, sentinelsLimit)
	defer cancel()
	var primary *Server
	err := poll(ctx, func() (err error) {
		primary, err = all.named(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("sentinels: no primary: %w", err)
	}
	return primary, nil
}

// AwaitPrimary waits until a majority of the sentinels names a writable primary other than not. Call it
// after a kill of not.
func (all *Sentinels) AwaitPrimary(ctx context.Context, not *Server) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, sentinelsLimit)
	defer cancel()
	var primary *Server
	err := poll(ctx, func() (err error) {
		if primary, err = all.named(ctx); err != nil {
			return err
		}
		if primary == not {
			return fmt.Errorf("it is still %s", not.Addr)
		}
		return writable(ctx, primary)
	})
	if err != nil {
		return nil, fmt.Errorf("sentinels: no new primary: %w", err)
	}
	return primary, nil
}

// Failover makes the sentinels promote a replica without a failure, and waits for the new primary as
// [Sentinels.AwaitPrimary] does. The old primary accepts writes until the sentinels make it a replica, some
// ten seconds later; these writes are lost.
func (all *Sentinels) Failover(ctx context.Context) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, sentinelsLimit)
	defer cancel()
	old, err := all.Primary(ctx)
	if err != nil {
		return nil, err
	}
	stop := make(chan struct{})
	ordered := make(chan struct{})
	go func() {
		defer close(ordered)
		all.order(ctx, old, stop)
	}()
	defer func() { close(stop); <-ordered }()
	return all.AwaitPrimary(ctx, old)
}

// order repeatedly tells a sentinel to replace old: a sentinel refuses while another failover is in
// progress or no replica is suitable, and abandons a slow one. Only a sentinel that still names old gets
// the command, so that it never replaces the new primary.
func (all *Sentinels) order(ctx context.Context, old *Server, stop <-chan struct{}) {
	tick := time.NewTicker(failoverTimeout / 10)
	defer tick.Stop()
	for {
		for _, s := range all.sentinels {
			if addr, err := primaryOf(ctx, s); err == nil {
				if addr == old.known {
					_, _ = do(ctx, s.Addr, "SENTINEL", "FAILOVER", sentinelsName) // a refusal is retried
				}
				break // only one, since two at once would compete
			}
		}
		select {
		case <-tick.C:
		case <-stop:
			return
		case <-ctx.Done():
			return
		}
	}
}

// named returns the server that a majority of the sentinels names.
func (all *Sentinels) named(ctx context.Context) (*Server, error) {
	votes, most := map[string]int{}, len(all.sentinels)/2+1
	var errs []error
	for _, s := range all.sentinels {
		addr, err := primaryOf(ctx, s)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if votes[addr]++; votes[addr] < most {
			continue
		}
		for _, s := range all.servers {
			if s.known == addr {
				return s, nil
			}
		}
		return nil, fmt.Errorf("%s is none of ours", addr)
	}
	return nil, fmt.Errorf("the sentinels name %v: %w", votes, errors.Join(errs...))
}

// primaryOf returns the primary by one sentinel.
func primaryOf(ctx context.Context, sentinel *Server) (string, error) {
	v, err := do(ctx, sentinel.Addr, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", sentinelsName)
	if err != nil {
		return "", err
	}
	words := v.Words()
	if len(words) != 2 {
		return "", fmt.Errorf("sentinel %s has no primary", sentinel.Addr)
	}
	return net.JoinHostPort(words[0], words[1]), nil
}

// writable tests a write without an effect: a replica refuses it, and so does a primary that lacks its
// replicas.
func writable(ctx context.Context, s *Server) error {
	_, err := do(ctx, s.Addr, "DEL", "unwatch:no-such-key")
	return err
}

// AwaitSettled waits until all servers and sentinels are up and know each other: a majority of the
// sentinels names a writable primary, all other servers replicate it, and each sentinel knows that. All
// faults must have ended.
func (all *Sentinels) AwaitSettled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sentinelsLimit)
	defer cancel()
	err := poll(ctx, func() error { return all.settled(ctx) })
	if err != nil {
		return fmt.Errorf("sentinels: not settled: %w", err)
	}
	return nil
}

func (all *Sentinels) settled(ctx context.Context) error {
	primary, err := all.named(ctx)
	if err != nil {
		return err
	}
	if err := writable(ctx, primary); err != nil {
		return err
	}
	for _, s := range all.servers {
		if s != primary {
			if err := follows(ctx, s, primary); err != nil {
				return err
			}
		}
	}
	for _, s := range all.sentinels {
		if addr, err := primaryOf(ctx, s); err != nil || addr != primary.known {
			return fmt.Errorf("sentinel %s names %s, not %s: %w", s.Addr, addr, primary.known, err)
		}
		if err := knows(ctx, s, "REPLICAS", "slave", len(all.servers)-1); err != nil {
			return err
		}
		if err := knows(ctx, s, "SENTINELS", "sentinel", len(all.sentinels)-1); err != nil {
			return err
		}
	}
	return nil
}

// knows compares a sentinel's list with the expected number. Only an entry with the bare flag of its kind
// is connected and healthy.
func knows(ctx context.Context, sentinel *Server, list, flag string, want int) error {
	v, err := do(ctx, sentinel.Addr, "SENTINEL", list, sentinelsName)
	if err != nil {
		return err
	}
	good := 0
	entries, _ := v.List()
	for _, entry := range entries {
		f := entry.Fields()
		if f["flags"] == flag && (flag != "slave" || f["master-link-status"] == "ok") {
			good++
		}
	}
	if good != want || len(entries) != want {
		return fmt.Errorf("sentinel %s lists %d %s, %d healthy, want %d", sentinel.Addr, len(entries), strings.ToLower(list), good, want)
	}
	return nil
}

// awaitReplicas waits until the initial replicas replicate their primary.
func (all *Sentinels) awaitReplicas(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sentinelsLimit)
	defer cancel()
	for _, s := range all.servers[1:] {
		if err := poll(ctx, func() error { return follows(ctx, s, all.servers[0]) }); err != nil {
			return fmt.Errorf("sentinels: %w", err)
		}
	}
	return nil
}

// follows checks that a server is a connected replica of this primary.
func follows(ctx context.Context, replica, primary *Server) error {
	v, err := do(ctx, replica.Addr, "INFO", "replication")
	if err != nil {
		return err
	}
	state := info(v)
	at := net.JoinHostPort(state["master_host"], state["master_port"])
	if state["role"] != "slave" || at != primary.known || state["master_link_status"] != "up" {
		return fmt.Errorf("%s is %s of %s, link %s", replica.Addr, state["role"], at, state["master_link_status"])
	}
	return nil
}
