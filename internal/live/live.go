package live

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Run observes the servers for Config.For, and reports the commands that the proxy would refuse. If
// ctx ends early, the report is Incomplete.
//
// An error, usually a *[SetupError], means that there is nothing to report.
func Run(ctx context.Context, addresses []Address, cfg Config) (*Report, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if len(addresses) == 0 {
		return nil, errors.New("live: no address: pass at least one server")
	}
	nodes, notes, troubles, err := setup(ctx, addresses, cfg)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	each(nodes, func(n *node) { n.lookAtClients(ctx) })
	if cfg.Monitor != nil {
		each(nodes, func(n *node) { n.beginMonitor(ctx) })
	}
	wait(ctx, nodes, cfg, began)

	// The last look is worth its time even if ctx has ended.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLooks*cfg.Timeout)
	defer cancel()
	each(nodes, func(n *node) { n.end(last) })
	troubles = append(troubles, sharedAddresses(nodes)...)
	ended := time.Now()
	if early := cfg.For - ended.Sub(began); early > 0 {
		troubles = append(troubles, "it was ended early, "+early.Round(time.Second).String()+" before its time")
	}
	return assemble(nodes, cfg, began, ended, notes, troubles), nil
}

// lastLooks bounds the last look, in timeouts: two connections, and some commands.
const lastLooks = 4

// sharedAddresses finds addresses of several servers, as a load balancer has.
func sharedAddresses(nodes []*node) (troubles []string) {
	number := map[string]int{}
	for _, n := range nodes {
		if number[n.addr.Host]++; number[n.addr.Host] == 2 {
			troubles = append(troubles, n.addr.Host+" is the address of several servers: give each by an address of its own")
		}
	}
	return troubles
}

// each calls f for all nodes concurrently.
func each(nodes []*node, f func(*node)) {
	var all sync.WaitGroup
	for _, n := range nodes {
		all.Go(func() { f(n) })
	}
	all.Wait()
}

// wait looks every cfg.Every, until the window ends.
func wait(ctx context.Context, nodes []*node, cfg Config, began time.Time) {
	tick := time.NewTicker(cfg.Every)
	defer tick.Stop()
	over := time.NewTimer(cfg.For)
	defer over.Stop()
	for {
		cfg.Progress(progress(nodes, cfg, began))
		select {
		case <-tick.C:
			each(nodes, func(n *node) { n.look(ctx) })
		case <-over.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func progress(nodes []*node, cfg Config, began time.Time) Progress {
	p := Progress{Elapsed: time.Since(began), For: cfg.For, Servers: len(nodes)}
	for _, n := range nodes {
		for name, s := range n.count.total {
			p.Commands += s.Uses()
			if counts(judge(cfg.Profile, name, cfg.Strict).severity) {
				p.Uses += s.Uses()
			}
		}
	}
	return p
}

// beginMonitor starts MONITOR, unless the server is too busy.
func (n *node) beginMonitor(ctx context.Context) {
	cfg := *n.cfg.Monitor
	if n.wire == nil {
		return
	}
	if rate := n.info.number("instantaneous_ops_per_sec"); rate > int64(cfg.Rate) && !cfg.Force {
		n.trouble("gets %d commands a second, so MONITOR was not sent: more than %d are too many", rate, cfg.Rate)
		return
	}
	w, err := dial(ctx, n.addr, n.cfg, n.count.sent)
	if err == nil {
		n.ours[w.LocalAddr().String()] = true
		n.monitor, err = startMonitor(ctx, w, cfg, n.cfg.Profile)
	}
	if err != nil {
		n.notSeen("MONITOR", err, "+monitor")
		n.trouble("could not be looked at with MONITOR")
	}
}
