package main

import (
	"context"
	"time"

	"github.com/unwatch/unwatch/examples/rehearsal/internal/events"
	"github.com/unwatch/unwatch/lockupdate"
)

// stallLimit is the number of stalls in each run of act D.
const stallLimit = 6

// actStalled shows that a lock alone does not make updates safe. Processes stall past their lease,
// first without and then with the guard.
func (r *rehearsal) actStalled(ctx context.Context) (err error) {
	r.screen.title("D", "A lock is not enough: processes that stall past their lease")
	stream, own := r.hotStream()
	lease := r.lease()
	r.screen.say(3, dim, "%s updates of the 3 busiest rooms%s, lease %v. %d times, a process freezes "+
		"just before its commit goes out, until another has taken its lock and written. "+
		"\"lock only\" is GET and SET under lockupdate's lock, without its guard.",
		count(len(stream)), ofRecording(own), lease, stallLimit)

	k := r.stage.keys.sub("d")
	plain := onLockOnly(r.stage.proxy, "lock only", lockupdate.Config{Lease: lease})
	if r.unguarded, err = r.stalled(ctx, plain, k.sub("plain"), stream); err != nil || ctx.Err() != nil {
		return err
	}
	r.showUnguarded(r.unguarded, stream)
	control := rowOf("D  lock only, stalls", r.unguarded)
	control.verdict, control.as = "none given", yellow
	r.rows = append(r.rows, control)

	guarded := onLock(r.stage.proxy, "lock + guard", lockupdate.Config{Lease: lease})
	if r.guarded, err = r.stalled(ctx, guarded, k.sub("guard"), stream); err != nil || ctx.Err() != nil {
		return err
	}
	r.shown(r.guarded, "D  lock + guard, same stalls")
	r.screen.item("", normal, "%d stalls; the guard refused %s commits: computed again",
		r.guarded.stalls, count(int(r.guarded.replay.conflicts.Load())))
	return nil
}

// lease returns a lease that a healthy update can keep, even with a slow proxy or a busy machine.
func (r *rehearsal) lease() time.Duration {
	return max(25*time.Millisecond, 10*r.stage.ping).Round(time.Millisecond)
}

func (r *rehearsal) stalled(ctx context.Context, p path, k keys, stream []numbered) (result, error) {
	room := roomsOf(stream)[0]
	commits := 0
	for _, n := range stream {
		if n.Room == room {
			commits++
		}
	}
	return r.play(ctx, p, k, stream, &stalls{
		ctx: ctx, key: k.room(room), frozen: -1,
		// Often, since one commit may store several updates.
		every: max(commits/(8*stallLimit), 1), limit: stallLimit,
	})
}

// showUnguarded prints the lost updates, and one event to look for.
func (r *rehearsal) showUnguarded(res result, stream []numbered) {
	a := res.audit
	r.outcome(res, red, count(len(a.Lost))+" of them VANISHED")
	if len(a.Lost) == 0 {
		r.screen.item("", yellow, "the control lost nothing this time, so this act has shown nothing")
		return
	}
	for _, n := range stream {
		if n.ID == a.Lost[0] {
			r.screen.item("", normal, "%d stalls; the first victim: %v, event %s", res.stalls, n.Event, count(n.ID+1))
		}
	}
}

// hotStream returns events of the busiest rooms, where processes contend. Without contention in the
// stream, it takes them from the recording. Events keep their IDs.
func (r *rehearsal) hotStream() (stream []numbered, own bool) {
	if stream = hottest(r.stream, r.sample()); r.meet(stream) {
		return stream, true
	}
	recorded, err := events.Recorded()
	if err != nil {
		return stream, true // the recording was not read before
	}
	return hottest(number(recorded[:min(beginning, len(recorded))]), r.sample()), false
}

func (r *rehearsal) sample() int {
	if r.cfg.sample > 0 {
		return r.cfg.sample
	}
	return 600
}

// meet reports whether two processes have enough events in the busiest room.
func (r *rehearsal) meet(stream []numbered) bool {
	run := replay{writers: r.cfg.writers, seed: r.cfg.seed}
	room, perProcess := roomsOf(stream)[0], map[int]int{}
	for _, n := range stream {
		if n.Room == room {
			perProcess[run.writerOf(n.Member)%processes]++
		}
	}
	enough := 0
	for _, n := range perProcess {
		if n >= 2*stallLimit {
			enough++
		}
	}
	return enough >= 2
}

// hottest returns the first events of the three busiest rooms.
func hottest(stream []numbered, limit int) []numbered {
	hot := map[string]bool{}
	for i, name := range roomsOf(stream) {
		hot[name] = i < 3
	}
	var out []numbered
	for _, n := range stream {
		if hot[n.Room] && len(out) < limit {
			out = append(out, n)
		}
	}
	return out
}
