package lease

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/timewheel"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/lockupdate/internal/transport"
	"github.com/unwatch/unwatch/rmw"
)

// Options tune a Keeper.
type Options struct {
	Lease   time.Duration // of every lock
	MaxHold time.Duration // of one call
}

// Keeper keeps the leases of one Store: it renews them at half, and counts as lost what it
// could not renew. One loop on a timing wheel does so for all of them, and renews leases
// that are due together in one pipeline: a goroutine, a timer and a round trip for each of
// 100,000 leases would cost hundreds of megabytes and most of a core.
//
// The loop starts with the first lease and ends when there is none.
type Keeper struct {
	transport *transport.Transport
	gate      *redisx.Gate
	emit      event.Sink
	options   Options
	tick      time.Duration

	mu      sync.Mutex // also guards the times of the leases
	epoch   time.Time
	wheel   *timewheel.Wheel[*Lease]
	running bool
	wakesAt time.Duration
	wake    chan struct{} // a lease is due before wakesAt
}

// maxRenewals bounds a pipeline, so that one that hangs delays few leases. Codis closes a
// connection with more than 10,000 unanswered commands.
const maxRenewals = 256

// NewKeeper returns a Keeper without leases.
func NewKeeper(t *transport.Transport, gate *redisx.Gate, emit event.Sink, o Options) *Keeper {
	tick := min(max(o.Lease/100, 100*time.Microsecond), 10*time.Millisecond)
	return &Keeper{
		transport: t, gate: gate, emit: emit, options: o, tick: tick,
		epoch: time.Now(), wheel: timewheel.New[*Lease](tick), wake: make(chan struct{}, 1),
	}
}

// Now is the time since the keeper's epoch, by the monotonic clock.
func (k *Keeper) Now() time.Duration { return k.At(time.Now()) }

// At is what Now was at t.
func (k *Keeper) At(t time.Time) time.Duration { return t.Sub(k.epoch) }

// Stall lets d pass on the keeper's clock, while its loop still sleeps. It is for tests.
func (k *Keeper) Stall(d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.epoch = k.epoch.Add(-d)
}

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

func (k *Keeper) keepLocked(l *Lease, sent time.Time) {
	l.granted = k.At(sent)
	l.until = k.holdLimit(l.granted)
	k.renewAtHalfLocked(l)
	k.scheduleLocked(l)
	if !k.running {
		k.running = true
		k.gate.Go(k.loop)
	}
}

func (k *Keeper) drop(l *Lease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l.ended = true
	k.wheel.Cancel(&l.timer)
	if k.wheel.Len() == 0 && k.gate.Closed() {
		k.poke()
	}
}

func (k *Keeper) scheduleLocked(l *Lease) {
	at := l.dueLocked()
	k.wheel.Schedule(&l.timer, at)
	if at < k.wakesAt {
		k.poke()
	}
}

// renewAtHalfLocked sets the next renewal to half the lease, or a little earlier, so that
// leases that began close together are renewed together.
func (k *Keeper) renewAtHalfLocked(l *Lease) {
	grid := k.options.Lease / 64
	l.renewAt = max((l.granted + k.options.Lease/2).Truncate(grid), l.granted+grid)
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
			l.holder.LeaseLost(l.lost)
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

// advance advances the wheel. It returns the leases that are lost, those to renew now, and
// for how long nothing more is due. Without more the loop ends.
func (k *Keeper) advance() (lost, due []*Lease, wait time.Duration, more bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.Now()
	k.wheel.Advance(now, func(t *timewheel.Timer[*Lease]) {
		l := t.Value
		switch {
		case now >= l.expiresLocked()-k.tick:
			k.loseLocked(l, l.causeLocked())
			lost = append(lost, l)
			return
		case now < l.dueLocked(): // the next call holds it now
			k.scheduleLocked(l)
			return
		}
		l.inFlight.Add(1) // before End can wait for it
		due = append(due, l)
		// The next try, should this renewal never be answered.
		l.renewAt = now + k.options.Lease/8
		k.scheduleLocked(l)
	})
	next, more := k.wheel.Next()
	k.running, k.wakesAt = more, next
	return lost, due, next - now, more
}

// loseLocked marks a lease as lost and ends the ctx of the function under it. The caller
// calls LeaseLost without the mutex.
func (k *Keeper) loseLocked(l *Lease, cause error) {
	k.wheel.Cancel(&l.timer)
	l.lost = cause
	if l.ctx != nil {
		l.ctx.End(cause)
	}
}

// renew prolongs leases in one flush.
func (k *Keeper) renew(leases []*Lease) {
	cmds := make([]*driver.Command, len(leases))
	for i, l := range leases {
		cmds[i] = l.Renewal()
	}
	sent, renewed := k.Now(), 0
	k.transport.SendDirect(context.Background(), cmds)
	for i, l := range leases {
		owned, _, err := k.transport.Driver.Owned(cmds[i])
		if l.Renewed(sent, owned, err) {
			l.holder.LeaseLost(l.lost)
		}
		switch {
		case err != nil:
			k.emit(event.Event{Kind: event.RenewFailed, Lock: l.holder.LockName(), N: 1, Err: err})
		case owned:
			renewed++
		}
		l.inFlight.Done()
	}
	if renewed > 0 {
		k.emit(event.Event{Kind: event.Renewed, N: renewed, Took: k.Now() - sent})
	}
}

// Renewal returns the command that prolongs the lease.
func (l *Lease) Renewal() *driver.Command {
	return l.keeper.transport.Driver.Renew(l.holder.LockName(), l.holder.Owner(), l.keeper.options.Lease)
}

// Renewed takes the reply to a Renewal that was sent at sent, by the keeper's clock. It
// reports whether the lease is lost by that; then the caller must tell the holder.
func (l *Lease) Renewed(sent time.Duration, owned bool, err error) (lost bool) {
	k := l.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case l.ended || l.lost != nil:
		return false
	case err != nil: // try again while there is time
		l.renewAt = k.Now() + k.options.Lease/16
	case !owned:
		k.loseLocked(l, fmt.Errorf("%w: the lock is gone from the server, or another owner holds it", rmw.ErrLockLost))
		return true
	default:
		l.granted = max(l.granted, sent) // renewals may overtake each other
		k.renewAtHalfLocked(l)
	}
	k.scheduleLocked(l)
	return false
}
