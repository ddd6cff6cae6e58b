package main

import (
	"context"
	"slices"
	"time"

	"github.com/unwatch/unwatch/lockupdate"
)

// stallLimit is the number of stalls in each run of act D.
const stallLimit = 6

// actStalled shows that a lock alone does not make updates safe. Processes stall past their lease,
// first without and then with the guard.
func (r *rehearsal) actStalled(ctx context.Context) (err error) {
	r.screen.title("D  A lock is not enough: processes that stall past their lease")
	stream, lease := hottest(r.stream, 3, r.sample()), r.lease()
	r.screen.say(3, dim, "A lease is the time after which a lock ends by itself, so that a dead process blocks nobody: here %v. "+
		"%d times, a process freezes just before it writes, as in a garbage collection, until another has taken its lock "+
		"and written. \"lock only\" is GET and SET under the same lock, without the guard. %s updates of 3 rooms.",
		lease, stallLimit, count(len(stream)))

	plain := onLockOnly(r.stage.proxy, "lock only", lockupdate.Config{Lease: lease})
	if r.unguarded, err = r.stalled(ctx, plain, stream); err != nil || ctx.Err() != nil {
		return err
	}
	r.showUnguarded(r.unguarded, stream)
	r.rows = append(r.rows, r.unguarded.row("D  lock only, stalls", "none given", yellow))

	guarded := onLock(r.stage.proxy, "lock + guard", lockupdate.Config{Lease: lease})
	if r.guarded, err = r.stalled(ctx, guarded, stream); err != nil || ctx.Err() != nil {
		return err
	}
	r.shown(r.guarded, "D  lock + guard, same stalls")
	r.screen.item("", normal, "%d stalls; the guard refused %s commits: computed again",
		r.guarded.stalls.count(), count(r.guarded.conflicts.Load()))
	return nil
}

// lease returns a lease that a healthy update can keep, also on a slow or busy machine: several
// times what an update took in act C.
func (r *rehearsal) lease() time.Duration {
	if r.lock == nil || r.lock.audit.Acknowledged == 0 {
		return 200 * time.Millisecond
	}
	update := writers * r.lock.took / time.Duration(r.lock.audit.Acknowledged)
	return max(50*time.Millisecond, 5*update).Round(time.Millisecond)
}

// stalled plays a stream while processes stall at commits of its busiest room.
func (r *rehearsal) stalled(ctx context.Context, p path, stream []event) (*run, error) {
	part := "d:" + p.name + ":"
	return r.on(ctx, p, part, stream, &stalls{
		ctx: ctx, key: r.stage.prefix + part + "room:" + roomsOf(stream)[0], limit: stallLimit,
		// Often, since one commit may store several updates.
		every: max(len(hottest(stream, 1, len(stream)))/(8*stallLimit), 1),
	})
}

// showUnguarded prints the lost updates, and one event to look for.
func (r *rehearsal) showUnguarded(x *run, stream []event) {
	lost := x.audit.Lost
	r.outcome(x, red, count(len(lost))+" of them VANISHED")
	if len(lost) == 0 {
		r.screen.item("", yellow, "the control lost nothing this time, so this act has shown nothing")
		return
	}
	at := slices.IndexFunc(stream, func(e event) bool { return e.ID == lost[0] })
	r.screen.item("", normal, "%d stalls; the first victim: %v, event %s", x.stalls.count(), stream[at], count(lost[0]+1))
}

// sample is the number of events in act D.
func (r *rehearsal) sample() int {
	if r.cfg.sample > 0 {
		return r.cfg.sample
	}
	return 300
}

// hottest returns the first events of the busiest rooms, where processes contend.
func hottest(stream []event, rooms, limit int) (out []event) {
	hot := roomsOf(stream)
	hot = hot[:min(rooms, len(hot))]
	for _, e := range stream {
		if slices.Contains(hot, e.Room) && len(out) < limit {
			out = append(out, e)
		}
	}
	return out
}
