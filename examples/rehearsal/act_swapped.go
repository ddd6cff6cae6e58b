package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/unwatch/unwatch/lockupdate"
)

// actSwapped runs the service on lockupdate, through the proxy.
func (r *rehearsal) actSwapped(ctx context.Context) (err error) {
	r.screen.title("C  The service on lockupdate, through the proxy")
	r.screen.say(3, dim, "chat.go, the service of \"cas\" above: a different store is all that changed. lockupdate takes a lock, which is "+
		"a key beside the room, and writes by a script, the guard: it stores the room only if it is still the one that was read. "+
		"Each command has one key, so a proxy lets it through.")
	lock := onLock(r.stage.proxy, "lockupdate", lockupdate.Config{})
	if r.lock, err = r.on(ctx, lock, "c:", r.stream, nil); err != nil {
		return err
	}
	r.shown(r.lock, "C  lockupdate, proxy")
	if ctx.Err() != nil || len(r.legacy) < 2 {
		return nil
	}
	return r.sideBySide(ctx, []path{byHand(r.stage.legacy), onCAS(r.stage.legacy), lock}, append(r.legacy, r.lock))
}

// sideBySide prints the cost of an update on each path, as counted below the client's API.
func (r *rehearsal) sideBySide(ctx context.Context, paths []path, runs []*run) error {
	table := [][]string{
		{"Counted in the client"},
		{"one update, alone: round trips"}, {"                   commands"},
		{"per update, busy:  round trips"}, {"                   commands"},
		{"conflicts, computed again"}, {"updates/s in this run"},
	}
	traces := make([]string, len(paths))
	for i, p := range paths {
		trace, err := r.alone(ctx, p)
		if err != nil {
			return err
		}
		commands := 0
		for _, write := range trace {
			commands += len(write)
		}
		behind := afterAnswer(trace, r.stage.prefix+"alone:room:"+r.stream[0].Room)
		trips := fmt.Sprint(len(trace) - behind)
		if behind > 0 {
			trips += fmt.Sprintf(" + %d later", behind)
		}
		x := runs[i]
		for j, cell := range []string{
			p.name, trips, fmt.Sprint(commands), x.per(x.trips), x.per(x.commands), count(x.conflicts.Load()), count(int(x.perSecond())),
		} {
			table[j] = append(table[j], cell)
		}
		traces[i] = inWords(trace)
	}
	r.screen.line("")
	for i, cells := range table {
		line := fit(cells[0], 33)
		for _, cell := range cells[1:] {
			line += fmt.Sprintf("%14s", cell)
		}
		r.screen.line("   " + r.screen.paint(map[int]style{0: bold, len(table) - 1: dim}[i], line))
	}
	if !r.stage.real {
		r.screen.line("")
		r.screen.say(3, normal, "Why lockupdate is the slowest here: in one process there is no network, so its saved round trip is worth nothing. "+
			"Only CPU counts, and this in-process Redis makes a Lua interpreter for each of its scripts. "+
			"On real servers with 1 ms each way, lockupdate does 1.4 times the updates of WATCH, "+
			"and on one hot key 120 times: docs/performance.md.")
	}
	r.screen.line("")
	for _, i := range []int{0, 2} {
		r.screen.item(paths[i].name, dim, "%s", traces[i])
	}
	r.screen.item("", dim, "lock and read → guarded commit, answer → release")
	return nil
}

// alone returns the writes of one update without contention.
func (r *rehearsal) alone(ctx context.Context, p path) (trace [][]command, err error) {
	t := &traffic{}
	rdb := p.on.client(t)
	defer rdb.Close() //nolint:errcheck // has no effect on the run
	// The first update opens connections and loads the scripts.
	for range 2 {
		t.take()
		service, done := p.service(rdb, r.stage.prefix+"alone:")
		if _, err = service.apply(ctx, r.stream[0]); err != nil {
			break
		}
		done() // waits for the release
		_, _, trace = t.take()
	}
	return trace, err
}

// afterAnswer counts the writes after the last one of the room itself, whose reply ends the update.
func afterAnswer(trace [][]command, room string) int {
	last := -1
	for i, write := range trace {
		for _, c := range write {
			if c.key == room {
				last = i
			}
		}
	}
	return len(trace) - 1 - last
}

// inWords formats a trace: one word per write, with its commands joined.
func inWords(trace [][]command) string {
	writes := make([]string, len(trace))
	for i, write := range trace {
		words := make([]string, len(write))
		for j, c := range write {
			words[j] = c.name
			if strings.HasPrefix(c.name, "EVAL") {
				words[j] += " room"
				if strings.HasSuffix(c.key, lockName("")) {
					words[j] = c.name + " lock"
				}
			}
		}
		writes[i] = strings.Join(words, ", ")
	}
	return strings.Join(writes, " → ")
}
