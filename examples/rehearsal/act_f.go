package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/lockupdate"
)

// actCutover moves the rooms from the legacy Redis to the proxy while the service updates them.
func (r *rehearsal) actCutover(ctx context.Context) error {
	r.title("F  The cut-over: the data moves to the proxy, key by key, under load")
	r.stage.empty()
	if shared, err := r.shared(ctx); err != nil {
		return err
	} else if shared {
		r.say(3, "Skipped: the proxy stands in front of the legacy Redis itself, so there is nothing to move.")
		return nil
	}
	stream := r.stream[:min(len(r.stream), 3*r.cfg.sample)]
	r.say(3, "The service runs on cutover.Store, over the legacy Redis and the proxy. A key moves when it is updated: "+
		"the old store seals it, then the new one is filled. Between the two, neither serves that one key: the pause. "+
		"A marker stays in the old store, to say where the key is now. "+
		"The stage changes while %d writers update: half of the keys move, go back, and all move; "+
		"the last pass moves those that no event has touched since. %s events.", writers, count(len(stream)))
	x, prefix := &run{name: "cutover", stream: stream}, r.stage.prefix+"f:"
	m, rooms := newMoves(x), make([]chat, processes)
	for i := range rooms {
		var p process
		p, rooms[i] = r.cutoverProcess(m, prefix)
		x.procs = append(x.procs, p)
	}
	x.after = func() (err error) { // the last pass
		for i, name := range roomsOf(stream) {
			if _, err = rooms[i%processes].edit(ctx, name, func(*room) {}); err != nil {
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
	r.moved(m)
	return nil
}

// moved prints the table of the legs.
func (r *rehearsal) moved(m *moves) {
	const columns = "   %-16s%9s%8s%13s%14s%16s"
	r.line("\n"+columns, "stage", "updates", "lost", "keys moved", "on the proxy", "longest pause")
	for i, leg := range m.legs {
		var updates, lost int
		for id, in := range m.in {
			if in == i && m.run.fates[id] == acknowledged {
				updates++
			}
		}
		for _, id := range m.run.audit.Lost {
			if m.in[id] == i {
				lost++
			}
		}
		r.line(columns, leg.name, count(updates), count(lost), count(leg.moved), count(leg.onNew),
			fmt.Sprintf("%.1f ms", leg.pause.Seconds()*1000))
		r.moves += leg.moved
	}
	r.line("")
	r.say(3, "A pause includes the wait for a processor of this machine, which all writers share. "+
		"With the stage reverse, keys go back to their markers. "+
		"Conditions, stages and limits: docs/cutover.md.")
}

// shared reports whether the proxy stores its keys in the legacy Redis.
func (r *rehearsal) shared(ctx context.Context) (bool, error) {
	old, proxy, key := r.stage.legacy.client(&traffic{}), r.stage.proxy.client(&traffic{}), r.stage.prefix+"f:same"
	defer closing(old, proxy)()
	failed := old.Set(ctx, key, "x", roomTTL).Err()
	n, err := proxy.Exists(ctx, key).Result()
	return n > 0, cmp.Or(failed, err)
}

// cutoverProcess starts one process of the service over both servers.
func (r *rehearsal) cutoverProcess(m *moves, prefix string) (process, chat) {
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
	rooms := newChat(s, prefix)
	apply := func(ctx context.Context, e event) (int, error) {
		m.in[e.ID] = m.leg()
		return rooms.apply(ctx, e)
	}
	return process{apply, &traffic{}, closing(append([]io.Closer{s}, closers...)...)}, rooms
}
