package redlock

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// tries is how often a node is asked to give a lock back.
const tries = 3

// retryDelay is the wait between them.
var retryDelay = rmw.Backoff{Base: 2 * time.Millisecond, Max: 50 * time.Millisecond}

// isSettled reports whether the client has returned from asking.
func (v *vote) isSettled() bool {
	select {
	case <-v.settled:
		return true
	default:
		return false
	}
}

// has reports whether the node is known to have granted the lock.
func (v *vote) has() bool { return v.isSettled() && v.granted }

// owes reports whether the node has the lock for the round, or may have, or may
// get it yet. One that has refused, or was certainly not asked, owes nothing.
func (v *vote) owes() bool { return !v.isSettled() || v.granted || v.doubt }

// giveBack gives the lock back on every node that owes it, each by itself and
// whatever becomes of the others. It waits for those that matter, but no longer
// than NodeTimeout or ctx.
func (r *round) giveBack(ctx context.Context, matters func(*vote) bool) {
	timeout := time.NewTimer(r.cfg.NodeTimeout)
	defer timeout.Stop()
	var waitFor []chan struct{}
	for _, v := range r.votes {
		if !v.owes() {
			continue
		}
		asked := make(chan struct{})
		if matters(v) {
			waitFor = append(waitFor, asked)
		}
		r.gate.Go(func() { r.release(v, asked) })
	}
	for _, asked := range waitFor {
		select {
		case <-asked:
		case <-timeout.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// release frees one node, once the SET there is settled, so that it cannot come
// after the release. One that is not settled within NodeTimeout is not waited for:
// then the node is asked at once, and again when the client has given up on it. A
// SET without an answer may be executed later still, so the release is repeated until
// a lease has passed, while the Locker is open.
func (r *round) release(v *vote, asked chan<- struct{}) {
	settled := v.settlesWithin(r.cfg.NodeTimeout - r.now().Sub(r.began))
	if v.owes() {
		r.free(v)
	}
	close(asked)
	if !settled {
		<-v.settled
		if v.owes() {
			r.free(v)
		}
	}
	if !v.doubt {
		return
	}
	for d := r.cfg.Lease / 16; r.now().Sub(r.began) < r.cfg.expiry() && r.gate.Open(d); d *= 2 {
		r.free(v)
	}
}

// settlesWithin waits for d at most.
func (v *vote) settlesWithin(d time.Duration) bool {
	if v.isSettled() {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-v.settled:
		return true
	case <-t.C:
		return v.isSettled()
	}
}

// free asks until it is answered, a few times at most; after that the lock ends
// with its lease. The script touches only its own owner's lock, so asking twice is
// harmless.
func (r *round) free(v *vote) {
	for try := 1; ; try++ {
		ctx, cancel := r.bounded(r.ctx)
		_, err := releaseScript.run(ctx, r.nodes[v.node], r.name, r.owner)
		cancel()
		if redisx.OutcomeOf(err) == redisx.Done || try == tries || redisx.Sleep(r.ctx, retryDelay.Delay(try, rand.Float64())) != nil {
			return
		}
	}
}
