package lockupdate

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/internal/timewheel"
	"github.com/unwatch/unwatch/rmw"
)

// lease is that of a tenure's lock, which is ours for the time being. It counts as lost
// before it can end without us, as far as our monotonic clock can tell. There is one for
// every lock that is held: it knows by its tenure what that knows already.
type lease struct {
	tenure *tenure // told once, by the watchdog, if the lease is lost

	drawn atomic.Uint64 // the token; 0: none was asked for

	busy sync.WaitGroup // renewals on the way: the release comes after them

	// Of the watchdog and guarded by its lock; times count from its epoch.
	timer   timewheel.Timer[*lease]
	granted time.Duration // when the command was sent that took or renewed it
	until   time.Duration // MaxHold of whoever holds it now
	renewAt time.Duration
	ended   bool
	lost    error        // why it counts as lost
	turn    *turnContext // of the last fn to run under it
}

// newLease starts the watch over a lock whose acquire was sent at sent.
func newLease(t *tenure, sent time.Time) *lease {
	l := &lease{tenure: t}
	l.timer.Value = l
	t.watchdog.watch(l, sent)
	return l
}

// enter begins u's turn: its ctx ends when the lease is lost.
func (l *lease) enter(u *update) *turnContext {
	ctx := &turnContext{parent: u.ctx, name: u.key.Name, lease: l, section: u.section, depth: 1}
	w := l.tenure.watchdog
	w.mu.Lock()
	defer w.mu.Unlock()
	u.until = w.heldUntil(w.now())
	if l.lost != nil {
		ctx.end(l.lost)
	} else {
		// The wheel looks at the lease when the last holder's time would have
		// been up, and then finds out about this one's.
		l.turn, l.until = ctx, u.until
	}
	return ctx
}

// expires is when to count the lease as lost: a tenth early, for clocks that run at
// different speeds. The watchdog's lock is held.
func (l *lease) expires() time.Duration {
	lasts := l.tenure.cfg.Lease
	return min(l.granted+lasts-lasts/10, l.until)
}

// overdue returns an error once u has held its lock for as long as MaxHold allows.
func (u *update) overdue() error {
	if u.watchdog.now() < u.until-u.watchdog.tick {
		return nil
	}
	return u.heldTooLong()
}

func (s *Store) heldTooLong() error {
	return fmt.Errorf("%w: held for the %v that Config.MaxHold allows", rmw.ErrLockLost, s.cfg.MaxHold)
}

// ours returns nil while the lock is surely ours, or why it is not.
func (l *lease) ours() error {
	w := l.tenure.watchdog
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case l.lost != nil:
		return l.lost
	case l.ended:
		return errEnded
	case w.now() >= l.expires():
		return errNotRenewed
	}
	return nil
}

// expired returns why a lease is lost that the watchdog still takes for ours; nil if it is ours, or
// the watchdog knows.
func (l *lease) expired() error {
	w := l.tenure.watchdog
	w.mu.Lock()
	defer w.mu.Unlock()
	if l.lost != nil || l.ended || w.now() < l.expires() {
		return nil
	}
	return w.causeOf(l)
}

var (
	errNotRenewed = errors.New("its lease has ended")
	errEnded      = errors.New("it has been given back")
)

// end stops the watch.
func (l *lease) end() { l.tenure.watchdog.unwatch(l) }
