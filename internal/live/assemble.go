package live

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/unwatch/unwatch/internal/rules"
	"github.com/unwatch/unwatch/internal/wrap"
)

// assembly is a Report under construction.
type assembly struct {
	*Report

	cfg   Config
	found map[crossingOf]*Finding
	runs  int64 // of scripts
}

func assemble(nodes []*node, cfg Config, began, ended time.Time, notes, troubles []string) *Report {
	a := assembly{cfg: cfg, found: map[crossingOf]*Finding{}, Report: &Report{
		Schema: Schema, Profile: cfg.Profile.Name(), Began: began.UTC(), Ended: ended.UTC(), Wanted: cfg.For.Seconds(),
		Incomplete: troubles, Notes: notes, Findings: []Finding{}, Verdict: Clean,
	}}
	for _, n := range nodes {
		a.server(n)
	}
	for _, f := range a.found {
		slices.SortStableFunc(f.From, func(a, b Seen) int {
			return cmp.Or(a.compareEvidence(b), cmp.Compare(a.Server, b.Server))
		})
		if f.Counts() {
			a.Verdict = Findings
			a.Uses += cmp.Or(f.Sampled, f.Stat.Uses()) // other findings count the uses of a sampled one
		}
		a.Findings = append(a.Findings, *f)
	}
	slices.SortFunc(a.Findings, func(x, y Finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(rules.Severities(), x.Severity), slices.Index(rules.Severities(), y.Severity)),
			cmp.Compare(x.Rule, y.Rule), cmp.Compare(x.Command, y.Command))
	})
	if a.runs > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("scripts: %s; the commands that they call are counted, too: a proxy does not see them, "+
			"so they work, but for PUBLISH, since no client can subscribe", wrap.Counted(a.runs, "run")))
	}
	if len(a.Incomplete) > 0 {
		a.Verdict = Incomplete
	}
	a.Summary = a.summary()
	return a.Report
}

// server adds a server.
func (a *assembly) server(n *node) {
	s := Server{
		Addr: n.addr.Host, Version: n.info.version(), Product: n.info.product(),
		Role: n.info.Fields["role"], Cluster: n.info.Fields["cluster_enabled"] == "1",
		Seconds: n.looked.Sub(n.began).Seconds(), Looks: n.looks, Lists: n.people.looks, Clients: len(n.people.ids),
	}
	for _, name := range slices.Sorted(maps.Keys(n.count.total)) {
		stat := n.count.total[name]
		s.Commands += stat.Uses()
		if slices.Contains(scriptCommands, name) {
			a.runs += stat.Calls
		}
		a.counted(n, name, stat)
	}
	for _, name := range slices.Sorted(maps.Keys(n.people.held)) {
		if f := a.of(name, ""); f != nil {
			f.Held += n.people.held[name]
		}
	}
	a.subscriptionsWithoutNames(n)
	a.monitored(n)
	a.denied(n)
	for _, f := range a.found {
		f.From = append(f.From, n.people.from(f.Command, n.addr.Host)...)
	}
	a.Commands += s.Commands
	a.Clients += s.Clients
	a.Own += n.count.mine
	a.Servers = append(a.Servers, s)
	a.Incomplete = append(a.Incomplete, n.troubles...)
	a.Unseen = append(a.Unseen, n.unseen...)
	for _, limit := range n.info.Limits {
		a.Notes = append(a.Notes, s.Addr+": "+limit)
	}
	if s.Role != "master" {
		a.Notes = append(a.Notes, s.Addr+" is a replica: MULTI, EXEC and PUBLISH in its counts may be replication's")
	}
}

// of returns the finding of a command, made if it is new; nil for a harmless command. rule is
// empty, or that of incompatible keys.
func (a *assembly) of(command, rule string) *Finding {
	j := judge(a.cfg.Profile, command, a.cfg.Strict)
	if rule != "" {
		j.rule, j.severity, j.keys = rule, rules.Error, false
		if known, ok := rules.Of(rule); ok && known.Severity == rules.Critical {
			j.severity = rules.Critical
		}
	}
	if j.rule == "" {
		return nil
	}
	at := crossingOf{rule, command}
	f := a.found[at]
	if f == nil {
		f = &Finding{
			Rule: j.rule, Severity: j.severity, Command: command, Why: j.why, Instead: j.instead, Servers: map[string]Stat{},
		}
		if j.keys {
			f.Remark = "a count does not show the keys; -monitor does"
		}
		a.found[at] = f
	}
	return f
}

// counted adds a server's counts for a command.
func (a *assembly) counted(n *node, command string, stat Stat) {
	attributed, to := attribute(n, command, stat)
	if attributed > 0 {
		a.Attributed = append(a.Attributed, Attributed{n.addr.Host, command, attributed, to})
		stat = stat.minus(Stat{Calls: attributed})
	}
	if stat.Uses() == 0 {
		return
	}
	if f := a.of(command, ""); f != nil {
		f.Stat = f.plus(stat)
		f.Servers[n.addr.Host] = f.Servers[n.addr.Host].plus(stat) // two servers can have one address
	}
}

// attribute returns the uses of a command by replication or sentinels.
func attribute(n *node, command string, stat Stat) (uses int64, to string) {
	switch {
	case slices.Contains(replicationCommands, command):
		return stat.Calls, "replication"
	case command == "PUBLISH" && len(n.people.sentinel) > 0:
		return sentinels(n, stat.Calls)
	case command == "SUBSCRIBE" && len(n.people.fresh) > 0:
		return min(stat.Calls, int64(len(n.people.fresh))), "sentinels that connected"
	}
	return 0, ""
}

// A sentinel publishes its hello every 2 seconds (SENTINEL_PUBLISH_PERIOD). Its timer, with up to
// 10 ticks a second, makes that a little longer.
const (
	helloAtLeast = 2 * time.Second
	helloAtMost  = 2300 * time.Millisecond
)

// sentinels attributes PUBLISH to sentinels. The number of their hellos is known within a range. If
// another client was seen to publish, only the smallest number is attributed.
func sentinels(n *node, calls int64) (uses int64, to string) {
	number := int64(len(n.people.sentinel))
	window := n.looked.Sub(n.began)
	least := max(number*(int64(window/helloAtMost)-1), 0)
	most := number * (int64(window/helloAtLeast) + 1)
	others := len(n.people.seen["PUBLISH"]) > 0
	if m := n.monitor; m != nil {
		least = max(least, int64(m.hello))
		others = others || len(m.sources["PUBLISH"])+m.lua["PUBLISH"] > 0
	}
	uses = min(calls, most)
	if others {
		uses = min(calls, least)
	}
	return uses, fmt.Sprintf("the hello of %s, which would be %d to %d", wrap.Counted(number, "sentinel"), least, most)
}

// subscriptionsWithoutNames adds the subscriptions in INFO, if CLIENT LIST is not permitted.
func (a *assembly) subscriptionsWithoutNames(n *node) {
	if n.people.looks > 0 {
		return
	}
	for command, field := range map[string]string{
		"SUBSCRIBE": "pubsub_channels", "PSUBSCRIBE": "pubsub_patterns", "SSUBSCRIBE": "pubsubshard_channels",
	} {
		if number := n.info.number(field); number > 0 {
			if f := a.of(command, ""); f != nil {
				f.Held += int(number)
				f.Remark = "INFO tells how many channels or patterns, and not of which client; a sentinel has one"
			}
		}
	}
}

// monitored adds the results of MONITOR.
func (a *assembly) monitored(n *node) {
	m := n.monitor
	if m == nil {
		return
	}
	a.Monitored = append(a.Monitored, Monitored{
		n.addr.Host, m.lines, m.cut, m.took.Seconds(), m.ended, m.early, n.people.byAddr,
	})
	for command, lines := range m.lua {
		if f := a.of(command, ""); f != nil {
			f.InLua += int64(lines)
		}
	}
	for command, addrs := range m.sources {
		for addr, lines := range addrs {
			if !n.ours[addr] { // complete only after the last CLIENT LIST
				n.people.monitored(command, addr, lines)
			}
		}
	}
	for command, lines := range m.together {
		if f := a.of(command, ""); f != nil {
			f.Together += int64(lines)
			f.Remark = fmt.Sprintf("MONITOR has seen it %s, with one key, or keys of one slot", wrap.Counted(f.Together, "time"))
		}
	}
	for _, of := range slices.SortedFunc(maps.Keys(m.crossing), crossingOf.compare) {
		c := m.crossing[of]
		f := a.of(of.command, of.rule)
		f.Sampled += int64(c.lines)
		f.Why, f.Instead = c.why, c.instead
		for _, keys := range slices.Sorted(maps.Keys(c.patterns)) {
			if !slices.Contains(f.Keys, keys) {
				f.Keys = append(f.Keys, keys)
			}
		}
		if general := a.found[crossingOf{command: of.command}]; general != nil {
			general.Remark = "MONITOR has seen it with keys that do not fit together: see " + of.rule
		}
	}
}

// denied adds the new entries of ACL LOG. Since Redis 6.2 the counts include them as well.
func (a *assembly) denied(n *node) {
	for _, d := range n.grown {
		d.Server = n.addr.Host
		if f := a.of(d.command(), ""); d.command() != "" && f != nil {
			if !n.info.countsRefusals() || n.count.total[f.Command].Rejected == 0 {
				f.Rejected += d.Count
				f.Servers[n.addr.Host] = f.Servers[n.addr.Host].plus(Stat{Rejected: d.Count})
			}
			n.people.sighting(f.Command, d.Who).ids[d.Client.ID] = true
			a.Denied = append(a.Denied, d)
		}
	}
}
