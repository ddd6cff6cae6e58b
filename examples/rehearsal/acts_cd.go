package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/lockupdate"
)

// actSwapped runs the service on lockupdate, through the proxy.
func (r *rehearsal) actSwapped(ctx context.Context) (err error) {
	r.title("C  The service on lockupdate, through the proxy")
	r.say(3, "chat.go, the service of \"cas\" above: a different store is all that changed. lockupdate takes a lock, which is "+
		"a key beside the room, and writes by a script, the guard: it stores the room only if it is still the one that was read. "+
		"Each command has one key, so a proxy lets it through.")
	lock := onLock(r.stage.proxy, "lockupdate", lockupdate.Config{})
	if r.lock, err = r.on(ctx, lock, "c:", r.stream, nil); err != nil {
		return err
	}
	r.shown(r.lock, "C  lockupdate, proxy")
	if ctx.Err() == nil && len(r.legacy) == 2 {
		err = r.sideBySide(ctx, []path{byHand(r.stage.legacy), onCAS(r.stage.legacy), lock}, append(r.legacy, r.lock))
	}
	if err != nil || ctx.Err() != nil {
		return err
	}
	return r.actPosts(ctx)
}

// sideBySide prints the cost of an update on each path, as counted below the client's API.
func (r *rehearsal) sideBySide(ctx context.Context, paths []path, runs []*run) error {
	rows := []string{
		"Counted in the client", "one update, alone: round trips", "                   commands",
		"per update, busy:  round trips", "                   commands", "conflicts, computed again", "updates/s in this run",
	}
	for i := range rows {
		rows[i] = fmt.Sprintf("%-33s", rows[i])
	}
	traces := make([]string, len(paths))
	for i, p := range paths {
		trace, err := r.alone(ctx, p)
		if err != nil {
			return err
		}
		var later int
		traces[i], later = inWords(trace)
		trips := fmt.Sprint(len(trace) - later)
		if later > 0 {
			trips += fmt.Sprintf(" + %d later", later)
		}
		x, acked := runs[i], float64(max(runs[i].audit.Acknowledged, 1))
		for j, cell := range []any{
			p.name, trips, len(slices.Concat(trace...)),
			fmt.Sprintf("%.2f", float64(x.trips)/acked), fmt.Sprintf("%.2f", float64(x.commands)/acked),
			count(x.conflicts.Load()), count(int(acked / x.took.Seconds())),
		} {
			rows[j] += fmt.Sprintf("%14v", cell)
		}
	}
	r.line("\n   %s", strings.Join(rows, "\n   "))
	if !r.stage.real {
		r.line("")
		r.say(3, "Why updates/s favours WATCH here: in one process there is no network, so round trips are free and the one "+
			"that lockupdate saves is worth nothing. CPU decides, and this in-process Redis makes a Lua interpreter for each script "+
			"of lockupdate. Between real servers with 1 ms each way, lockupdate does %s times the updates of WATCH with one writer, "+
			"and %s times with 64 writers of one key: docs/performance.md.", timesAlone, timesHot)
	}
	r.line("")
	r.item(paths[0].name, "%s", traces[0])
	r.item(paths[2].name, "%s", traces[2])
	r.item("", "lock and read → guarded commit, answer → release: later, since the caller does not wait for it")
	return nil
}

// The updates of lockupdate per update of WATCH, with 1 ms each way: of one goroutine, and of 64 on one key. A test
// compares them with docs/performance.md.
const (
	timesAlone = "1.44"
	timesHot   = "101"
)

// alone returns the writes of one update without contention.
func (r *rehearsal) alone(ctx context.Context, p path) (trace [][]command, err error) {
	for range 2 { // the first update loads the scripts
		t := &traffic{}
		one := p.process(t, r.stage.prefix+"alone:")
		if _, err2 := one.apply(ctx, r.stream[0]); err2 != nil {
			err = err2
		}
		one.close() // waits for the release
		trace = t.trace
	}
	return trace, err
}

// inWords formats a trace: one word per write, with its commands joined. It counts the writes after
// the last one of the room itself; its reply ends the update.
func inWords(trace [][]command) (text string, later int) {
	writes := make([]string, len(trace))
	for i, write := range trace {
		later++
		words := make([]string, len(write))
		for j, c := range write {
			words[j] = c.name
			switch {
			case strings.HasSuffix(c.key, lockName("")):
				words[j] += " lock"
			case strings.HasPrefix(c.name, "EVAL"):
				words[j] += " room"
				fallthrough
			default:
				later = 0
			}
		}
		writes[i] = strings.Join(words, ", ")
	}
	return strings.Join(writes, " → "), later
}

// stallLimit is the number of stalls in each run of act D.
const stallLimit = 6

// actStalled shows that a lock alone does not make updates safe. Processes stall past their lease,
// first without and then with the guard.
func (r *rehearsal) actStalled(ctx context.Context) (err error) {
	r.title("D  A lock is not enough: processes that stall past their lease")
	stream, lease := hottest(r.stream, 3, r.cfg.sample), r.lease()
	r.say(3, "A lease is the time after which a lock ends by itself, so that a dead process blocks nobody: here %v. "+
		"%d times, a process freezes just before it writes, as in a garbage collection, until another has taken its lock "+
		"and written. \"lock only\" is GET and SET under the same lock, without the guard. %s updates of 3 rooms.",
		lease, stallLimit, count(len(stream)))

	plain := onLockOnly(r.stage.proxy, "lock only", lockupdate.Config{Lease: lease})
	if r.unguarded, err = r.stalled(ctx, plain, stream); err != nil || ctx.Err() != nil {
		return err
	}
	r.showUnguarded(r.unguarded, stream)
	r.rows = append(r.rows, r.unguarded.row("D  lock only, stalls", "none given"))

	guarded := onLock(r.stage.proxy, "lock + guard", lockupdate.Config{Lease: lease})
	if r.guarded, err = r.stalled(ctx, guarded, stream); err != nil || ctx.Err() != nil {
		return err
	}
	r.shown(r.guarded, "D  lock + guard, same stalls")
	r.item("", "%d stalls; the guard refused %s commits: computed again",
		r.guarded.stalls.count(), count(r.guarded.conflicts.Load()))
	return nil
}

// lease returns a lease that a healthy update can keep, also on a slow or busy machine: several
// times the duration of an update in act C.
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
	r.outcome(x, count(len(lost))+" of them VANISHED")
	if len(lost) == 0 {
		r.item("", "the control lost nothing this time, so this act has shown nothing")
		return
	}
	at := slices.IndexFunc(stream, func(e event) bool { return e.ID == lost[0] })
	r.item("", "%d stalls; the first victim: %v, event %s", x.stalls.count(), stream[at], count(lost[0]+1))
}
