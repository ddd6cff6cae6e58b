package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/internal/cutoverstatus"
	"github.com/unwatch/unwatch/internal/live"
	"github.com/unwatch/unwatch/internal/serverlimits"
	"github.com/unwatch/unwatch/internal/wrap"
	"github.com/unwatch/unwatch/proxycompat/profilefile"
	"github.com/unwatch/unwatch/rmw"
)

// cutoverPlan is the output of plan.
type cutoverPlan struct {
	Gates   []operate.Gate  `json:"gates"`
	Servers []cutoverServer `json:"servers"`
	// Keys and Bytes are those of the chosen keys in the old store; Bytes is 0 if it has no MEMORY USAGE.
	Keys    int          `json:"keys"`
	Bytes   int64        `json:"bytes"`
	Largest []cutoverKey `json:"largest"`
	// BlindWriters are those that MONITOR has shown, each with all its keys.
	BlindWriters []blindWriter `json:"blindWriters,omitempty"`
}

// cutoverServer is a server, or a proxy with the facts that it tells.
type cutoverServer struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Used    int64  `json:"usedBytes,omitempty"`
	Limit   int64  `json:"limitBytes,omitempty"`
	// Clock is how far the server's clock is ahead of this host's, to half a round trip.
	Clock time.Duration `json:"clockAhead"`
	clock bool
	// Warnings are settings that weaken the guarantees.
	Warnings []string `json:"warnings,omitempty"`
}

type cutoverKey struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// markerBytes is how much more memory a key takes in the old store after its move: see docs/results/cutover-sweep.md.
const markerBytes = 170

// plan checks both servers and every key, and looks for blind writers if it may.
func (f *cutoverFlags) plan(ctx context.Context, store *cutover.Store, s cutoverStores, cfg operate.SweepConfig, w io.Writer) (
	code int, err error,
) {
	var keys []*measured // of each old master
	cfg.Masters = nil
	for _, master := range s.masters[0] {
		m := &measured{Client: master, choose: f.choose(), foreign: f.others()}
		keys, cfg.Masters = append(keys, m), append(cfg.Masters, m)
	}
	gates, err := operate.Preflight(ctx, store, cfg)
	if err != nil {
		return codeError, err
	}
	p := cutoverPlan{Gates: gates}
	for i, client := range s.clients {
		p.Servers = append(p.Servers, serverFacts(ctx, sideNames[i], client))
	}
	for i, m := range keys {
		p.Keys, p.Bytes, p.Largest = p.Keys+m.n, p.Bytes+m.bytes, largest(append(p.Largest, m.largest...))
		old := p.Servers[0]
		if f.oldMasters != "" {
			old = serverFacts(ctx, s.masters[0][i].Options().Addr, m.Client)
			p.Servers = append(p.Servers, old)
		}
		p.Gates = append(p.Gates, memoryGate(old, m.n))
	}
	for _, client := range s.masters[1] {
		p.Servers = append(p.Servers, serverFacts(ctx, client.Options().Addr, client))
	}
	if f.monitor > 0 {
		looks, err := f.blindWriters(ctx, s.masters[0])
		if err != nil {
			return codeError, err
		}
		for i, one := range looks {
			g := blindGate(one.report, one.writers)
			if f.oldMasters != "" {
				g.Name += ", " + s.masters[0][i].Options().Addr
			}
			p.Gates, p.BlindWriters = append(p.Gates, g), append(p.BlindWriters, one.writers...)
		}
	}
	code = codeOf(cutoverstatus.Worst(p.Gates))
	if f.json {
		return code, encode(w, p)
	}
	sayGates(w, p.Gates)
	p.say(w)
	return code, nil
}

func (p cutoverPlan) say(w io.Writer) {
	table := wrap.NewTable("server", "version", "#memory", "#limit", "#clock ahead")
	for _, one := range p.Servers {
		limit, clock := wrap.None, wrap.None
		if one.Limit > 0 {
			limit = wrap.Grouped(one.Limit)
		}
		if one.clock {
			clock = one.Clock.Round(time.Millisecond).String()
		}
		table.Row(one.Name, cmp.Or(one.Version, "cannot be read"), one.Used, limit, clock)
	}
	say(w, "\n%s\n", table)
	for _, one := range p.Servers {
		for _, warning := range one.Warnings {
			say(w, "%s", wrapped("warning, "+one.Name+": "+warning))
		}
	}
	if p.Gates[0].State != operate.GateOpen {
		return // no key was looked at
	}
	text := []string{wrap.Counted(p.Keys, "key")}
	if p.Bytes > 0 {
		text = append(text, fmt.Sprintf("of %s bytes in the old store; the largest:", wrap.Grouped(p.Bytes)))
	}
	for _, one := range p.Largest {
		text = append(text, fmt.Sprintf("%s (%s)", one.Name, wrap.Grouped(one.Bytes)))
	}
	say(w, "%s", wrapped(strings.Join(text, " ")))
}

// measured is a Scanner that adds up the memory of the chosen keys.
type measured struct {
	*redis.Client

	choose  func(name string) (rmw.Key, bool) // nil: every key
	foreign func(name string) bool            // nil: none
	n       int
	bytes   int64
	largest []cutoverKey
}

// Scan implements [operate.Scanner].
func (m *measured) Scan(ctx context.Context, cursor uint64, match string, count int64) *redis.ScanCmd {
	if cursor == 0 { // also after a restart of the server, which is scanned again
		m.n, m.bytes, m.largest = 0, 0, nil
	}
	page := m.Client.Scan(ctx, cursor, match, count)
	names, _ := page.Val()
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		ok := true
		if m.choose != nil {
			_, ok = m.choose(name)
		}
		return !ok || m.foreign != nil && m.foreign(name)
	})
	pipe := m.Client.Pipeline()
	sizes := make([]*redis.IntCmd, len(names))
	for i, name := range names {
		sizes[i] = pipe.MemoryUsage(ctx, name)
	}
	_, _ = pipe.Exec(ctx) // without MEMORY USAGE, sizes are unknown
	for i, name := range names {
		m.n++
		if bytes := sizes[i].Val(); bytes > 0 {
			m.bytes += bytes
			m.largest = append(m.largest, cutoverKey{name, bytes})
		}
	}
	m.largest = largest(m.largest)
	return page
}

// largest returns the five largest keys.
func largest(keys []cutoverKey) []cutoverKey {
	slices.SortFunc(keys, func(a, b cutoverKey) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), strings.Compare(a.Name, b.Name))
	})
	keys = slices.Compact(keys) // SCAN may return a name twice
	return keys[:min(len(keys), 5)]
}

func serverFacts(ctx context.Context, name string, client *redis.Client) cutoverServer {
	server := cutoverServer{Name: name}
	info, _ := client.Info(ctx).Result() // a proxy refuses it
	server.Warnings = serverlimits.Of(info)
	for line := range strings.Lines(info) {
		field, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch field {
		case "redis_version":
			server.Version = value
		case "used_memory":
			server.Used, _ = strconv.ParseInt(value, 10, 64)
		case "maxmemory":
			server.Limit, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	if server.Version == "" {
		return server
	}
	sent := time.Now()
	if now, err := client.Time(ctx).Result(); err == nil {
		took := time.Since(sent)
		server.Clock, server.clock = now.Sub(sent.Add(took/2)), true
	}
	return server
}

func memoryGate(old cutoverServer, keys int) operate.Gate {
	after := old.Used + markerBytes*int64(keys)
	g := operate.Gate{
		Name: strings.TrimSuffix("memory with markers, "+old.Name, ", "+sideNames[0]),
		Have: wrap.Grouped(after) + " bytes", Need: "below maxmemory", State: operate.GateOpen,
	}
	switch {
	case old.Used == 0:
		g.State, g.Have = operate.GateUnknown, "cannot be read"
		g.Do = "compare INFO memory with its maxmemory: each key takes 170 bytes more"
	case old.Limit > 0 && after > old.Limit:
		g.State, g.Do = operate.GateClosed, "raise maxmemory: each key takes 170 bytes more until the old store is deleted"
	}
	return g
}

// blindWriters reads MONITOR of the old store, and returns the clients that send commands that destroy or change markers
// of the chosen keys.
func (f *cutoverFlags) blindWriters(ctx context.Context, masters []*redis.Client) ([]monitorLook, error) {
	profile, err := profilefile.Extend(nil, "blind-writers.yaml", blindWritersProfile)
	if err != nil {
		return nil, err
	}
	flag, list := "-old", f.old
	if f.oldMasters != "" {
		flag, list = "-old-masters", f.oldMasters
	}
	addresses, err := f.addresses(flag, list, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	tls, err := f.tlsConfig()
	if err != nil {
		return nil, err
	}
	looks, errs := make([]monitorLook, len(masters)), make([]error, len(masters))
	var all sync.WaitGroup
	for i, master := range masters {
		all.Go(func() {
			lines := newMonitorLines(profile, addresses[i].DB, f.counts())
			lines.grace = time.Second
			report, err := live.Run(ctx, addresses[i:i+1], live.Config{
				Profile: profile, For: f.monitor, OnlyThese: true, TLS: tls, Monitor: &live.MonitorConfig{
					For: f.monitor, Lines: math.MaxInt, Force: f.monitorForce, Line: lines.take,
				},
			})
			if err != nil {
				errs[i] = fmt.Errorf("-monitor: %w", err)
				return
			}
			looks[i].report = report
			for _, m := range report.Monitored {
				looks[i].writers = append(looks[i].writers, lines.writers(m)...)
			}
			looks[i].writers = slices.DeleteFunc(looks[i].writers, func(w blindWriter) bool {
				return w.list && !anyMarker(ctx, master, w.Keys)
			})
		})
	}
	all.Wait()
	return looks, errors.Join(errs...)
}

// monitorLook is the result of MONITOR on an old master.
type monitorLook struct {
	report  *live.Report
	writers []blindWriter
}

// anyMarker reports whether a marker is among the keys: other lists are no keys of a cut-over.
func anyMarker(ctx context.Context, server *redis.Client, names []string) bool {
	const magic = "~unwatch:" // cutover/internal/marker/marker.lua
	for some := range slices.Chunk(names, 256) {
		pipe := server.Pipeline()
		heads := make([]*redis.StringCmd, len(some))
		for i, name := range some {
			heads[i] = pipe.LIndex(ctx, name, 0)
		}
		_, _ = pipe.Exec(ctx) // a key of another type is no marker
		if slices.ContainsFunc(heads, func(head *redis.StringCmd) bool { return strings.HasPrefix(head.Val(), magic) }) {
			return true
		}
	}
	return false
}

// counts returns the function that says whether a key is of the cut-over. It chooses keys as a sweep does.
func (f *cutoverFlags) counts() func(name string) bool {
	choose, foreign := f.choose(), f.others()
	begins := func(name string, prefixes ...string) bool {
		return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	}
	return func(name string) bool {
		switch {
		case begins(name, "~cutover:", "~copy:"), foreign != nil && foreign(name):
			return false
		case choose != nil:
			_, ok := choose(name)
			return ok
		}
		return !begins(name, "/lock/", "/fence/", "/wait/")
	}
}

// blindGate is the condition that MONITOR has shown no blind writer. It is unknown, with the reason, if MONITOR has not
// seen all commands of its time.
func blindGate(report *live.Report, writers []blindWriter) operate.Gate {
	lines, early := 0, ""
	for _, m := range report.Monitored {
		if lines += m.Lines; m.Early {
			early = m.Ended
		}
	}
	g := operate.Gate{Name: "blind writers", Have: "0 in " + wrap.Counted(lines, "line"), Need: "none", State: operate.GateOpen}
	switch {
	case len(writers) > 0:
		texts := make([]string, len(writers))
		for i, w := range writers {
			texts[i] = w.String()
		}
		g.State, g.Have, g.Do = operate.GateClosed, fmt.Sprint(len(writers)), "stop or fence them: "+strings.Join(texts, "; ")
	case early != "":
		g.State, g.Do = operate.GateUnknown, "MONITOR ended before its time: "+early+"; -monitor-force goes on"
	case lines == 0:
		g.State, g.Do = operate.GateUnknown, "run plan under normal load, and see migrate-check live -monitor"
		for _, why := range report.Incomplete {
			if strings.Contains(why, "MONITOR") {
				g.Have, g.Do = "not looked at", why+"; -monitor-force sends it"
			}
		}
	}
	return g
}
