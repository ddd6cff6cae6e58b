package lockupdate

import (
	"context"
	"sync"
	"time"
)

// flights lets the commands of concurrent updates share flushes: while some are on
// the way, further ones gather and then go together. One alone never waits.
//
// The commands of a flight are of different updates, and nothing depends on their
// order.
type flights struct {
	fly func(ctx context.Context, calls []*call)

	mu       sync.Mutex
	aloft    int
	boarding []*flight // the first of them leaves next
}

const (
	// maxAloft is how many flushes are on the way before others gather. More
	// use more connections and share less.
	maxAloft = 4
	// maxBoarding bounds a flush, so that one that hangs holds up few.
	maxBoarding = 256
	// boardingTime is how long a flight waits for one of those aloft to land.
	// They may hang, on a backend that has nothing to do with this one.
	boardingTime = 5 * time.Millisecond
)

// flight is calls that gather. The goroutine that boards first flies it.
type flight struct {
	calls  []*call
	shared bool          // by several senders
	leave  chan struct{} // closed when it may take off
	landed chan struct{}
}

// send sends the calls and returns when they are answered. A flight that several
// senders share has no values of any ctx: a hook that traces would show the commands of
// one caller in the trace of another.
func (f *flights) send(ctx context.Context, calls ...*call) {
	f.mu.Lock()
	if f.aloft < maxAloft && len(f.boarding) == 0 {
		f.aloft++
		f.mu.Unlock()
		defer f.land()
		f.fly(ctx, calls)
		return
	}
	if n := len(f.boarding); n > 0 && len(f.boarding[n-1].calls)+len(calls) <= maxBoarding {
		own := f.boarding[n-1]
		own.calls, own.shared = append(own.calls, calls...), true
		f.mu.Unlock()
		<-own.landed
		return
	}
	own := &flight{calls: calls, leave: make(chan struct{}), landed: make(chan struct{})}
	f.boarding = append(f.boarding, own)
	f.mu.Unlock()
	f.board(own)
	defer close(own.landed)
	defer f.land()
	if own.shared { // read after it has left the boarding flights
		ctx = context.Background()
	}
	f.fly(context.WithoutCancel(ctx), own.calls)
}

// board waits until a flight may take off.
func (f *flights) board(own *flight) {
	t := time.NewTimer(boardingTime)
	defer t.Stop()
	select {
	case <-own.leave:
		return
	case <-t.C:
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, waiting := range f.boarding {
		if waiting == own {
			f.boarding = append(f.boarding[:i], f.boarding[i+1:]...)
			f.aloft++
			return
		}
	}
}

// land makes room for the next flight.
func (f *flights) land() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.aloft--; f.aloft < maxAloft && len(f.boarding) > 0 {
		next := f.boarding[0]
		f.boarding = f.boarding[1:]
		f.aloft++
		close(next.leave)
	}
}
