package lockupdate

import (
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// pace plans when to ask again for a lock that is taken: first when its holder is
// likely to be done, then after random, growing pauses, and never later than its
// lease can end.
type pace struct {
	backoff rmw.Backoff
	lease   time.Duration // of a holder like us
	hold    time.Duration // how long such a holder keeps the lock; 0: not known
	polls   int           // since this holder has been seen
	expires time.Time     // when its lease ends, as of the last look
}

// gaps is how pauses grow: they need not be longer than a lock is usually held.
func (p *pace) gaps() rmw.Backoff {
	b := p.backoff
	if p.hold > 0 {
		b.Max = min(b.Max, max(p.hold, 4*b.Base))
	}
	return b
}

// ceiling is the longest that the next pause can be. Holders are told, to let us in
// before they come back.
func (p *pace) ceiling() time.Duration {
	return max(p.gaps().Delay(p.polls+1, 1), min(p.hold+p.backoff.Base, p.backoff.Max))
}

// pause returns how long to wait, at now, after a refusal by a holder whose lease
// has pttl left (negative: it has no end). random is in [0, 1).
func (p *pace) pause(now time.Time, pttl time.Duration, random float64) time.Duration {
	if expires := now.Add(pttl); pttl >= 0 && expires.Sub(p.expires) > p.backoff.Base {
		// Another holder, or one that renewed. From one's beginning to the other's
		// is at least as long as the former held it: expecting more, we would only
		// ever come when the next has it already.
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

// holds learns, for each label, how long its locks are held.
type holds struct {
	mu sync.Mutex
	of map[string]time.Duration
}

// maxLabels bounds what is learned, should somebody use a label for each key.
const maxLabels = 1024

func (h *holds) expected(label string) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of[label]
}

// learn takes in one more observation: an eighth of what was not expected.
func (h *holds) learn(label string, held time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	was, known := h.of[label]
	switch {
	case known:
		h.of[label] = was + (held-was)/8
	case len(h.of) < maxLabels:
		h.of[label] = held
	}
}
