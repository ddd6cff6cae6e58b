package holder

import (
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// pollSchedule plans when to ask again for a lock that is taken: first when its holder is
// likely to be done, then after random, growing pauses, and no later than its lease can
// end.
type pollSchedule struct {
	backoff rmw.Backoff
	lease   time.Duration // of a holder like us
	hold    time.Duration // how long such a holder keeps the lock; 0: unknown
	polls   int           // since this holder was first seen
	expires time.Time     // when its lease ends, as of the last poll
}

// gaps is how pauses grow: they need not be longer than a lock is usually held.
func (p *pollSchedule) gaps() rmw.Backoff {
	b := p.backoff
	if p.hold > 0 {
		b.Max = min(b.Max, max(p.hold, 4*b.Base))
	}
	return b
}

// ceiling is the longest that the next pause can be. It is the wait hint for the holder.
func (p *pollSchedule) ceiling() time.Duration {
	return max(p.gaps().Delay(p.polls+1, 1), min(p.hold+p.backoff.Base, p.backoff.Max))
}

// pause returns how long to wait, at now, after a refusal by a holder whose lease has pttl
// left (negative: unlimited). random is in [0, 1).
func (p *pollSchedule) pause(now time.Time, pttl time.Duration, random float64) time.Duration {
	if expires := now.Add(pttl); pttl >= 0 && expires.Sub(p.expires) > p.backoff.Base {
		// Another holder, or a renewal. The time between the beginnings of two holders is
		// at least that for which the first one held: with a greater estimate, this
		// process would only ever poll when the next holder has the lock.
		if !p.expires.IsZero() {
			p.hold = min(p.hold, expires.Sub(p.expires))
		}
		p.polls, p.expires = 0, expires
	}
	p.polls++
	d := p.gaps().Delay(p.polls, random)
	if pttl < 0 {
		return d
	}
	if age := p.lease - pttl; p.polls == 1 && 0 <= age && age < p.hold {
		d = min(p.hold-age+time.Duration(random*float64(p.backoff.Base)), p.backoff.Max)
	}
	return min(d, pttl+time.Millisecond)
}

// holdEstimator learns, for each label, how long its locks are held.
type holdEstimator struct {
	mu      sync.Mutex
	byLabel map[string]time.Duration
}

// maxLabels bounds the estimator, should a program use a label for each key.
const maxLabels = 1024

func (e *holdEstimator) expected(label string) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.byLabel[label]
}

// observe adds an observation: the estimate moves by an eighth of the difference.
func (e *holdEstimator) observe(label string, held time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	was, known := e.byLabel[label]
	switch {
	case known:
		e.byLabel[label] = was + (held-was)/8
	case len(e.byLabel) < maxLabels:
		e.byLabel[label] = held
	}
}
