package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/lockupdate"
)

// leg is a part of act F: its stage, and the share of the events after which it ends.
type leg struct {
	name  string
	until int // percent of the events
	stage cutover.Stage
}

// legs returns the way of the data. Keys move when they are updated, so only a part of them goes
// back in the third leg. The last leg updates each key once more, without a change.
func legs() []leg {
	return []leg{
		{"follow", 20, cutover.Stage{}},
		{"copying 50 %", 45, cutover.Stage{Phase: cutover.Copying, Percent: 50}},
		{"reverse", 65, cutover.Stage{Phase: cutover.Reverse}},
		{"copying 100 %", 100, cutover.Stage{Phase: cutover.Copying, Percent: 100}},
		{"last pass", 0, cutover.Stage{Phase: cutover.Copying, Percent: 100}},
	}
}

// actCutover moves the rooms from the legacy Redis to the proxy while the service updates them.
func (r *rehearsal) actCutover(ctx context.Context) error {
	r.screen.title("F  The cut-over: the data moves to the proxy, key by key, under load")
	r.stage.empty()
	if shared, err := r.shared(ctx); err != nil {
		return err
	} else if shared {
		r.screen.say(3, yellow, "Skipped: the proxy stands in front of the legacy Redis itself, so there is nothing to move.")
		return nil
	}
	stream := r.stream[:min(len(r.stream), 3*r.cfg.sample)]
	r.screen.say(3, dim, "The service runs on cutover.Store, over the legacy Redis and the proxy. A key moves when it is updated: "+
		"the old store seals it, then the new one is filled. Between the two, neither serves that one key: the pause. "+
		"A marker stays in the old store, to say where the key is now. "+
		"The stage changes while %d writers update: half of the keys move, go back, and all move; "+
		"the last pass moves those that no event has touched since. %s events.", writers, count(len(stream)))
	x, prefix := &run{name: "cutover", stream: stream}, r.stage.prefix+"f:"
	m := &moves{run: x, legs: legs(), in: make([]int, len(stream)), seen: map[string]*move{}}
	for range processes {
		x.procs = append(x.procs, r.cutoverProcess(m, prefix))
	}
	x.compare = func() (err error) { // the last pass
		for i, name := range roomsOf(stream) {
			if _, err = x.procs[i%processes].service.(recorded).edit(ctx, name, func(*room) {}); err != nil {
				break
			}
		}
		return err
	}
	// The audit reads behind the proxy only: a room that has not arrived is lost.
	if err := r.play(ctx, x, r.stage.proxy, prefix); err != nil || ctx.Err() != nil {
		return err
	}
	r.shown(x, "F  cut-over, there and back")
	r.moved(m.rows())
	return nil
}

// moved prints the table of the legs.
func (r *rehearsal) moved(rows []movesRow) {
	const columns = "   %-16s%9s%8s%13s%14s%16s"
	r.screen.line("")
	r.screen.line(r.screen.paint(bold, fmt.Sprintf(columns, "stage", "updates", "lost", "keys moved", "on the proxy", "longest pause")))
	for _, row := range rows {
		r.screen.line(fmt.Sprintf(columns, row.name, count(row.updates), count(row.lost), count(row.moved), count(row.onNew),
			fmt.Sprintf("%.1f ms", row.pause.Seconds()*1000)))
		r.moves += row.moved
	}
	r.screen.line("")
	r.screen.say(3, normal, "A pause includes the wait for a processor of this machine, which all writers share. "+
		"With the stage reverse, keys go back to their markers. "+
		"Conditions, stages and limits: docs/cutover.md.")
}

// shared reports whether the proxy stores its keys in the legacy Redis.
func (r *rehearsal) shared(ctx context.Context) (bool, error) {
	old, proxy, key := r.stage.legacy.client(&traffic{}), r.stage.proxy.client(&traffic{}), r.stage.prefix+"f:same"
	defer old.Close()   //nolint:errcheck // has no effect on the run
	defer proxy.Close() //nolint:errcheck // has no effect on the run
	failed := old.Set(ctx, key, "x", roomTTL).Err()
	n, err := proxy.Exists(ctx, key).Result()
	return n > 0, cmp.Or(failed, err)
}

// cutoverProcess starts one process of the service over both servers.
func (r *rehearsal) cutoverProcess(m *moves, prefix string) process {
	var sides [2]cutover.Side
	var closers []io.Closer
	for i, p := range []path{onLock(r.stage.legacy, "", lockupdate.Config{}), onLock(r.stage.proxy, "", lockupdate.Config{})} {
		rdb := p.on.client(&traffic{}, mover{m, i == 1})
		s := p.open(rdb)
		sides[i] = cutover.Side{Store: s, Redis: rdb}
		closers = append(closers, s, rdb)
	}
	if r.cfg.newStore != nil {
		sides[1].Store = r.cfg.newStore(sides[1].Store)
	}
	s := cutover.New(sides[0], sides[1], cutover.Config{Stage: m})
	return process{recorded{newChat(prefixed{s, prefix}), m}, &traffic{}, closing(append([]io.Closer{s}, closers...)...)}
}
