package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/unwatch/unwatch/examples/rehearsal/internal/wire"
	"github.com/unwatch/unwatch/lockupdate"
)

// actSwapped runs the service on lockupdate, through the proxy.
func (r *rehearsal) actSwapped(ctx context.Context) (err error) {
	r.screen.title("C", "The service on lockupdate, through the proxy")
	r.screen.say(3, dim, "chat.go, the service of \"cas\" above: a different store is all that changed.")
	k := r.stage.keys.sub("c")
	lock := onLock(r.stage.proxy, "lockupdate", lockupdate.Config{})
	if r.lock, err = r.play(ctx, lock, k, r.stream, nil); err != nil {
		return err
	}
	r.shown(r.lock, "C  lockupdate, proxy")
	if ctx.Err() != nil {
		return nil
	}
	return r.sideBySide(ctx, k, lock)
}

// sideBySide prints the cost of an update on each path, as counted at the socket.
func (r *rehearsal) sideBySide(ctx context.Context, k keys, lock path) error {
	paths := []path{byHand(r.stage.legacy), onCAS(r.stage.legacy), lock}
	results := []result{r.legacy, r.cas, r.lock}
	traces := make([][][]wire.Command, len(paths))
	cells := make([][]string, 7)
	add := func(i int, text string) { cells[i] = append(cells[i], text) }
	for i, p := range paths {
		trace, sent, err := r.alone(ctx, p, k.sub("alone"))
		if err != nil {
			return err
		}
		traces[i] = trace
		behind := afterAnswer(trace, k.sub("alone").room(r.stream[0].Room))
		trips := fmt.Sprint(sent.RoundTrips - behind)
		if behind > 0 {
			trips += fmt.Sprintf(" + %d later", behind)
		}
		res := results[i]
		add(0, p.name)
		add(1, trips)
		add(2, fmt.Sprint(sent.Commands))
		add(3, res.per(res.sent.RoundTrips))
		add(4, res.per(res.sent.Commands))
		add(5, count(int(res.replay.conflicts.Load())))
		add(6, count(int(res.perSecond())))
	}
	r.screen.line("")
	for i, label := range []string{
		"Counted at the socket",
		"one update, alone: round trips", "                   commands",
		"per update, busy:  round trips", "                   commands",
		"conflicts, computed again", "updates/s (for information only)",
	} {
		as := normal
		switch i {
		case 0:
			as = bold
		case 6:
			as = dim
		}
		r.screen.line("   " + r.screen.paint(as, fit(label, 33)+right(cells[i])))
	}
	r.screen.line("")
	for _, i := range []int{0, 2} {
		r.screen.item(paths[i].name, dim, "%s", inWords(traces[i], k.sub("alone")))
	}
	r.screen.item("", dim, "lock and read → guarded commit, answer → release")
	return nil
}

func right(cells []string) string {
	var b strings.Builder
	for _, c := range cells {
		fmt.Fprintf(&b, "%14s", c)
	}
	return b.String()
}

// afterAnswer counts the writes after the last one of the room itself, whose reply ends the update.
func afterAnswer(trace [][]wire.Command, room string) int {
	last := -1
	for i, write := range trace {
		for _, c := range write {
			if c.Key == room {
				last = i
			}
		}
	}
	return len(trace) - 1 - last
}

// inWords formats a trace: one word per write, with its commands joined.
func inWords(trace [][]wire.Command, k keys) string {
	writes := make([]string, len(trace))
	for i, write := range trace {
		commands := make([]string, len(write))
		for j, c := range write {
			commands[j] = c.Name
			if strings.HasPrefix(c.Name, "EVAL") {
				commands[j] += " room"
				if strings.HasPrefix(c.Key, k.prefix) && strings.HasSuffix(c.Key, k.lock("")) {
					commands[j] = c.Name + " lock"
				}
			}
		}
		writes[i] = strings.Join(commands, ", ")
	}
	return strings.Join(writes, " → ")
}
