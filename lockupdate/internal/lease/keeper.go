package lease

import (
	"fmt"
	"math"
	"time"

	"github.com/unwatch/unwatch/internal/leaseclock"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/timewheel"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/lockupdate/internal/transport"
	"github.com/unwatch/unwatch/lockupdate/internal/values"
	"github.com/unwatch/unwatch/rmw"
)

// maxRenewals bounds a pipeline, so that one that hangs delays few leases. Codis closes a
// connection with more than 10,000 unanswered commands.
const maxRenewals = 256

// NewKeeper returns a Keeper without leases.
func NewKeeper(t *transport.Transport, v *values.Values, gate *redisx.Gate, emit event.Sink, o Options) *Keeper {
	tick := min(max(o.Lease/100, 100*time.Microsecond), 10*time.Millisecond)
	k := &Keeper{
		transport: t, values: v, gate: gate, emit: emit, options: o, tick: tick,
		clock: leaseclock.New(), wheel: timewheel.New[grant](tick), renewing: map[*Lease]int{}, notes: map[*Lease]note{},
		wake: make(chan struct{}, 1),
	}
	k.answered.L = &k.mu
	return k
}

// Stall suspends the machine for d: the wall clock shows it, and the keeper's loop still sleeps. It is for tests.
func (k *Keeper) Stall(d time.Duration) { k.clock.Step(d) }

// Len returns how many leases are kept.
func (k *Keeper) Len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.wheel.Len()
}

// HeldTooLong is the loss of a lock that was held for MaxHold.
func (k *Keeper) HeldTooLong() error {
	return fmt.Errorf("%w: held for the %v that Config.MaxHold allows", rmw.ErrLockLost, k.options.MaxHold)
}

// holdLimit is when a call that began at began has held its lock for MaxHold. The longest
// duration must not wrap round to the past.
func (k *Keeper) holdLimit(began time.Duration) time.Duration {
	return began + min(k.options.MaxHold, math.MaxInt64-max(began, 0))
}

// Keep starts the lease of a lock whose acquire was sent at sent. Call it from within a call of
// the Store.
func (k *Keeper) Keep(h Holder, sent time.Time) *Lease {
	l := &Lease{Value: grant{under: h, sent: k.At(sent)}}
	k.mu.Lock()
	defer k.unlock()
	k.log.Add(event.Event{Kind: event.Acquired, N: 1})
	k.scheduleLocked(l, k.renewAt(l.Value.sent))
	if !k.running {
		k.running = true
		k.gate.Go(k.loop)
	}
	return l
}

// End ends a lease, before its lock is released. It reports whether the lock was lost before.
// It waits for renewals in flight.
func (k *Keeper) End(l *Lease) (lost bool) {
	k.mu.Lock()
	defer k.unlock()
	if lost = k.leaveLocked(l); !lost {
		k.forgetLocked(l)
	}
	if k.wheel.Len() == 0 && k.gate.Closed() {
		k.poke()
	}
	for k.renewing[l] > 0 {
		k.answered.Wait()
	}
	return lost
}

// leaveLocked tells that the call under a lease has ended, unless the lock is lost.
func (k *Keeper) leaveLocked(l *Lease) (lost bool) {
	switch {
	case !l.timer().Scheduled():
		return true
	case k.Now() >= k.expiresLocked(l): // and the loop has not noticed
		k.loseLocked(l, k.causeLocked(l))
		return true
	}
	k.endLocked(l)
	return false
}

func (k *Keeper) leave(l *Lease) (lost bool) {
	k.mu.Lock()
	defer k.unlock()
	return k.leaveLocked(l)
}

// Err returns nil while the lock is surely ours, or an rmw.ErrLockLost. It looks at the
// clock itself: the loop may have slept.
func (k *Keeper) Err(l *Lease) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch lost, _ := l.Value.under.(*loss); {
	case lost != nil:
		return lost.why
	case !l.timer().Scheduled():
		return errEnded
	case k.Now() >= k.expiresLocked(l):
		return k.causeLocked(l).why
	}
	return nil
}

// State returns the state of a lock.
func (k *Keeper) State(l *Lease) lock.State {
	if k.Err(l) != nil {
		return lock.Lost
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.notes[l].jeopardy != 0 {
		return lock.Jeopardy
	}
	return lock.Safe
}

// limitLocked is when the lock was held for MaxHold.
func (k *Keeper) limitLocked(l *Lease) time.Duration {
	if c := l.ctxLocked(); c != nil {
		return c.until
	}
	return k.holdLimit(l.holderLocked().Began())
}

// expiresLocked is when a lease counts as lost: a tenth early, for clocks that run at
// different speeds.
func (k *Keeper) expiresLocked(l *Lease) time.Duration {
	d := k.options.Lease
	return min(l.Value.sent+d-d/10, k.limitLocked(l))
}

// causeLocked says why a lease that was not renewed is lost.
func (k *Keeper) causeLocked(l *Lease) cause {
	if k.Now() >= k.limitLocked(l)-k.tick {
		return cause{lock.LossMaxHold, k.HeldTooLong()}
	}
	return cause{lock.LossExpired, fmt.Errorf("%w: it could not be renewed within its %v", rmw.ErrLockLost, k.options.Lease)}
}

// scheduleLocked has the loop look at a lease at the time at, or a tick before it counts as
// lost, since the wheel may be that late.
func (k *Keeper) scheduleLocked(l *Lease, at time.Duration) {
	at = min(at, k.expiresLocked(l)-k.tick)
	k.wheel.Schedule(l.timer(), at)
	if at < k.wakesAt {
		k.poke()
	}
}

// renewAt is when to renew a lease that was granted to a command sent at sent: at half, or a
// little earlier, so that leases that began close together are renewed together.
func (k *Keeper) renewAt(sent time.Duration) time.Duration {
	grid := k.options.Lease / 64
	return max((sent + k.options.Lease/2).Truncate(grid), sent+grid)
}

func (k *Keeper) poke() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

func (k *Keeper) loop() {
	sleep := time.NewTimer(time.Hour)
	defer sleep.Stop()
	closing := k.gate.Closing
	for {
		lost, due, wait, more := k.advance()
		for _, l := range lost {
			l.LeaseLost()
		}
		for len(due) > 0 {
			n := min(len(due), maxRenewals)
			batch := due[:n:n]
			due = due[n:]
			k.gate.Go(func() { k.renew(batch) }) // the wheel must not wait for a reply
		}
		if !more {
			return
		}
		sleep.Reset(wait)
		select {
		case <-sleep.C:
		case <-k.wake:
		case <-closing:
			closing = nil // once
		}
	}
}

// renewal is a lease that is to be renewed.
type renewal struct {
	Holder
	lease *Lease
}

// advance advances the wheel. It returns the leases that are lost, those to renew now, and
// for how long nothing more is due. Without more the loop ends.
func (k *Keeper) advance() (lost []*loss, due []renewal, wait time.Duration, more bool) {
	k.mu.Lock()
	defer k.unlock()
	now := k.Now()
	k.wheel.Advance(now, func(t *timewheel.Timer[grant]) {
		l := (*Lease)(t)
		switch renewAt := k.renewAt(l.Value.sent); {
		case now >= k.expiresLocked(l)-k.tick:
			lost = append(lost, k.loseLocked(l, k.causeLocked(l)))
		case now < renewAt: // the next call holds it now
			k.scheduleLocked(l, renewAt)
		default:
			if k.renewing[l] > 0 {
				k.jeopardyLocked(l, k.unansweredLocked())
			}
			due = append(due, renewal{l.holderLocked(), l})
			k.renewing[l]++ // before End can wait for it
			// The next try, should this renewal never be answered.
			k.scheduleLocked(l, now+k.options.Lease/8)
		}
	})
	next, more := k.wheel.Next()
	k.running, k.wakesAt = more, next
	return lost, due, next - now, more
}

// loseLocked marks a lease as lost and ends the ctx of the function under it. The caller
// calls LeaseLost without the mutex.
func (k *Keeper) loseLocked(l *Lease, why cause) *loss {
	k.eventLocked(l, event.Lost, k.Now()-k.notes[l].began, why)
	k.forgetLocked(l)
	lost := &loss{l.holderLocked(), why}
	if c := l.ctxLocked(); c != nil {
		c.End(why.why)
	}
	l.Value.under = lost
	return lost
}

// renew prolongs leases.
func (k *Keeper) renew(batch []renewal) {
	cmds, of := make([]*driver.Command, len(batch)), make(map[*driver.Command]renewal, len(batch))
	for i, r := range batch {
		cmds[i] = k.Renewal(r)
		of[cmds[i]] = r
	}
	sent := k.Now()
	k.transport.Renew(cmds, k.options.Lease/2, func(group []*driver.Command) { k.renewed(group, of, sent) })
}

// renewed takes the replies to renewals.
func (k *Keeper) renewed(cmds []*driver.Command, of map[*driver.Command]renewal, sent time.Duration) {
	renewed := 0
	for _, c := range cmds {
		r := of[c]
		owned, hint, err := k.transport.Driver.Owned(c)
		if lost := k.Renewed(r.lease, sent, owned, err); lost != nil {
			r.LeaseLost()
		}
		switch {
		case err != nil:
			k.emit(event.Event{Kind: event.RenewFailed, Lock: r.LockName(), N: 1, Err: err})
		case owned:
			renewed++
			if hint > 0 {
				k.Wanted(r.lease)
			}
		}
	}
	if renewed > 0 {
		k.emit(event.Event{Kind: event.Renewed, N: renewed, Took: k.Now() - sent})
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range cmds {
		l := of[c].lease
		if k.renewing[l]--; k.renewing[l] == 0 {
			delete(k.renewing, l)
		}
	}
	if len(k.renewing) == 0 {
		k.renewing = map[*Lease]int{} // a map never shrinks
	}
	k.answered.Broadcast()
}

// Renewal returns the command that prolongs a lease.
func (k *Keeper) Renewal(h Holder) *driver.Command {
	return k.transport.Driver.Renew(h.LockName(), h.Owner(), k.options.Expiry)
}

// Renewed takes the reply to a Renewal that was sent at sent, by the keeper's clock. It
// returns why the lease is lost by that, or nil; the caller must tell the holder.
func (k *Keeper) Renewed(l *Lease, sent time.Duration, owned bool, err error) (lost error) {
	k.mu.Lock()
	defer k.unlock()
	switch {
	case !l.timer().Scheduled(): // it is lost, or has ended
	case err != nil: // try again while there is time
		if sent >= l.Value.sent { // no later renewal has succeeded
			k.jeopardyLocked(l, err)
		}
		k.scheduleLocked(l, k.Now()+k.options.Lease/16)
	case !owned:
		lost = fmt.Errorf("%w: the lock is gone from the server, or another owner holds it", rmw.ErrLockLost)
		k.loseLocked(l, cause{lock.LossTaken, lost})
	case k.Now() >= k.expiresLocked(l): // the process has stopped meanwhile
		lost = k.loseLocked(l, k.causeLocked(l)).why
	default:
		l.Value.sent = max(l.Value.sent, sent) // renewals may overtake each other
		k.safeLocked(l)
		k.scheduleLocked(l, k.renewAt(l.Value.sent))
	}
	return lost
}
