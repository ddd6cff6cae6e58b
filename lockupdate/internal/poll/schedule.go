// Package poll plans how processes ask again for a lock that another process holds,
// without pub/sub and without a queue in the server. It is pure: no clock, no I/O.
package poll

import (
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// Schedule plans when a process asks again for a lock that another process holds. It
// is state in and pause out: it reads no clock and sends nothing.
//
// With few waiters it aims at the expected end of the present hold, then takes random,
// growing pauses. With many, a pause is a part of how long a wait for this lock usually
// lasts. That grows with the number of waiting processes, so the number of polls for one
// acquisition does not, although no process knows how many wait.
type Schedule struct {
	Backoff rmw.Backoff
	Lease   time.Duration // of a holder with our Config
	Hold    time.Duration // how long such a holder keeps the lock; 0: unknown
	Wait    time.Duration // how long a wait for this lock usually lasts; 0: unknown
	Began   time.Time     // when this wait began

	atMost  time.Duration // a bound of Hold that this wait has shown; 0: none
	polls   int           // since this holder was first seen
	expires time.Time     // when the holder's lease ends, as of the last poll
}

// few waiting processes poll as if each was the only one.
const few = 8

// shortest is a pause that timers and loopback can still tell from none.
const shortest = 100 * time.Microsecond

// Known reports whether this holder was seen before.
func (s *Schedule) Known() bool { return !s.expires.IsZero() }

// hold returns how long the present holder is expected to keep the lock; 0: unknown.
func (s *Schedule) hold() time.Duration {
	if s.atMost > 0 {
		return s.atMost
	}
	return s.Hold
}

// gaps is how pauses grow: they need not be longer than a lock is usually held.
func (s *Schedule) gaps() rmw.Backoff {
	b := s.Backoff
	if hold := s.hold(); hold > 0 {
		b.Base = min(b.Base, max(hold, shortest))
		b.Max = min(b.Max, max(hold, 4*b.Base))
	}
	return b
}

// share is the longest pause of one waiter among many, at now: the rest of a usual wait.
// When that is over, the waiter polls the sooner the longer it has waited. A share is 0 with
// few waiters. It is at most as long as Backoff.Max or the wait so far, so that a wrong Wait
// at most doubles the wait.
func (s *Schedule) share(now time.Time) time.Duration {
	waited := now.Sub(s.Began)
	usual := s.usual()
	overdue := min(1, float64(usual)/float64(max(waited, 1)))
	d := max(usual-waited, time.Duration(overdue*overdue*float64(usual)/6))
	return min(d, max(s.Backoff.Max, waited))
}

// usual is by how much a wait is usually longer than the holds of a few other processes.
func (s *Schedule) usual() time.Duration { return max(0, s.Wait-few*s.Hold) }

// spread keeps processes with the same share apart.
func spread(share time.Duration, random float64) time.Duration {
	return time.Duration((1 + 2*random) / 3 * float64(share))
}

// Ceiling is the longest that the pause after a poll at now can be. It is the wait hint for
// the holder, and for other waiters.
func (s *Schedule) Ceiling(now time.Time) time.Duration {
	b := s.gaps()
	return max(b.Delay(s.polls+1, 1), s.share(now), min(s.hold()+b.Base, s.Backoff.Max))
}

// Pause returns how long to wait after a poll at asked, refused at now by a holder with
// pttl left of its lease (negative: unlimited). hint is the longest pause of other waiters; 0:
// unknown. random is in [0, 1).
func (s *Schedule) Pause(asked, now time.Time, pttl, hint time.Duration, random float64) time.Duration {
	if expires := now.Add(pttl); pttl >= 0 && expires.Sub(s.expires) > s.Backoff.Base+time.Millisecond {
		// Another holder, or a renewal. The time between the beginnings of two holders is
		// at least that for which the first one held: with a greater estimate, this
		// process would only ever poll when the next holder has the lock.
		if s.Known() {
			s.atMost = min(s.hold(), expires.Sub(s.expires))
		}
		s.polls, s.expires = 0, expires
	}
	s.polls++
	b := s.gaps()
	d := max(b.Delay(s.polls, random), spread(s.share(asked), random))
	s.follow(hint)
	if pttl < 0 {
		return d
	}
	if rest := s.hold() - (s.Lease - pttl); s.polls == 1 && s.Lease >= pttl && rest > d {
		d = min(rest+time.Duration(random*float64(b.Base)), s.Backoff.Max)
	}
	return min(d, pttl+time.Millisecond)
}

// follow takes over the usual wait of others, so that all processes have about the same
// share. hint is the longest pause of a waiter; 0: unknown. A wrong hint at most doubles Wait,
// or makes it Backoff.Max.
func (s *Schedule) follow(hint time.Duration) {
	if hint > s.Backoff.Max { // it is a share
		hint += few * s.Hold
	}
	if hint = min(hint, s.Lease, max(s.Backoff.Max, 2*s.Wait)); hint > s.Backoff.Base {
		s.Wait = max(s.Wait, hint)
	}
}

// Learned returns the estimate of Wait after a wait that ended at now.
func (s *Schedule) Learned(now time.Time) time.Duration {
	waited := now.Sub(s.Began)
	if s.Wait == 0 {
		return waited
	}
	return s.Wait + (waited-s.Wait)/4
}

// Away returns for how long a process leaves a lock to the others after a release that took
// so long to be answered. hint is the time within which they poll again.
func (s *Schedule) Away(hint, took time.Duration, random float64) time.Duration {
	s.follow(hint)
	hint = min(hint, s.Backoff.Max)
	d := min(hint+hint/8+2*took+time.Millisecond, 2*s.Backoff.Max)
	return max(d, spread(s.usual(), random))
}

// HoldEstimator learns, for each label, how long its locks are held. The zero value is ready
// for use, by several goroutines at a time.
type HoldEstimator struct {
	mu      sync.Mutex
	byLabel map[string]time.Duration
}

// maxLabels bounds the estimator, should a program use a label for each key.
const maxLabels = 1024

// Expected returns how long a lock of the label is usually held; 0: unknown.
func (e *HoldEstimator) Expected(label string) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.byLabel[label]
}

// Observe adds an observation: the estimate moves by an eighth of the difference. A hold of
// more than twice the estimate counts as twice: its process was most likely not running.
func (e *HoldEstimator) Observe(label string, held time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.byLabel == nil {
		e.byLabel = map[string]time.Duration{}
	}
	was, known := e.byLabel[label]
	switch {
	case known:
		e.byLabel[label] = was + (min(held, 2*was+shortest)-was)/8
	case len(e.byLabel) < maxLabels:
		e.byLabel[label] = held
	}
}
