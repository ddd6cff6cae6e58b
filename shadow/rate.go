package shadow

import "time"

// rate is a token bucket that holds a second's worth. Only the dispatcher uses it.
type rate struct {
	perSecond float64 // 0: unbounded
	tokens    float64
	filled    time.Time
}

func newRate(perSecond int) *rate {
	return &rate{perSecond: float64(perSecond), tokens: float64(perSecond)}
}

func (r *rate) take() bool {
	if r.perSecond == 0 {
		return true
	}
	now := time.Now()
	if !r.filled.IsZero() {
		r.tokens = min(r.perSecond, r.tokens+now.Sub(r.filled).Seconds()*r.perSecond)
	}
	r.filled = now
	if r.tokens < 1 {
		return false
	}
	r.tokens--
	return true
}
