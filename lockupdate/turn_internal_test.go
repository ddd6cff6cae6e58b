package lockupdate

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

type traceKey struct{}

var (
	errTestLoss   = errors.New("the lock is lost")
	errTestParent = errors.New("the caller gave up")
)

// twin is a ctx to which things happen.
type twin struct {
	lease  *lease // of ours: what the key of the ctx has in it
	ctx    context.Context
	end    func(cause error)
	parent context.CancelCauseFunc
	child  context.Context // made when it was asked for
	called bool            // by AfterFunc
}

func newTwin(real bool) *twin {
	parent, cancel := context.WithCancelCause(context.WithValue(context.Background(), traceKey{}, "span"))
	parent, stop := context.WithTimeout(parent, time.Minute)
	tw := &twin{parent: func(err error) { cancel(err); stop() }, lease: leaseOf("l")}
	if real {
		c := &turnContext{parent: parent, lease: tw.lease, depth: 1}
		tw.ctx, tw.end = c, c.end
	} else {
		tw.ctx, tw.end = context.WithCancelCause(context.WithValue(parent, tw.key("l"), "held"))
	}
	return tw
}

func (tw *twin) key(lock string) held { return held{tw.lease.tenure.Store, lock} }

// leaseOf is a lease of a lock, for an hour, that nobody watches.
func leaseOf(lock string) *lease {
	s := &Store{cfg: Config{Lease: time.Hour}}
	s.watchdog = newWatchdog(s)
	return &lease{tenure: &tenure{queue: &queue{Store: s, lock: lock}}, until: math.MaxInt64}
}

func (tw *twin) happens(event string) {
	switch event {
	case "asked":
		child, cancel := context.WithCancel(tw.ctx)
		tw.child = child
		context.AfterFunc(child, cancel)
		context.AfterFunc(tw.ctx, func() { tw.called = true })
		<-time.After(time.Second)
	case "lost":
		tw.end(errTestLoss)
	case "ended":
		tw.end(nil)
	case "left":
		tw.parent(errTestParent)
	case "late":
		time.Sleep(2 * time.Minute) // past the deadline
	}
	synctest.Wait()
}

// says is all that a ctx tells.
func (tw *twin) says() []any {
	deadline, limited := tw.ctx.Deadline()
	said := []any{
		tw.ctx.Err(), context.Cause(tw.ctx), deadline, limited, isOver(tw.ctx), tw.called,
		tw.ctx.Value(traceKey{}), tw.ctx.Value(tw.key("l")) != nil, tw.ctx.Value(tw.key("m")) != nil, tw.ctx.Value("no such"),
		context.WithoutCancel(tw.ctx).Err(), context.WithoutCancel(tw.ctx).Value(traceKey{}),
	}
	late, cancel := context.WithTimeout(context.WithValue(tw.ctx, traceKey{}, "inner"), time.Hour)
	defer cancel()
	said = append(said, late.Err(), context.Cause(late), isOver(late), late.Value(traceKey{}))
	if tw.child != nil {
		said = append(said, tw.child.Err(), context.Cause(tw.child), isOver(tw.child))
	}
	return said
}

func isOver(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

// orders returns all sequences of some of the events.
func orders(events []string) [][]string {
	all := [][]string{nil}
	for i, e := range events {
		rest := append(append([]string{}, events[:i]...), events[i+1:]...)
		for _, tail := range orders(rest) {
			all = append(all, append([]string{e}, tail...))
		}
	}
	return all
}

// In whatever order it is asked, loses its lock, ends, and its parent ends, the ctx of
// an fn behaves as those of package context do.
func TestTurnContextIsAContext(t *testing.T) {
	for _, events := range orders([]string{"asked", "lost", "ended", "left", "late"}) {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := newTwin(true), newTwin(false)
			for _, tw := range []*twin{ours, theirs} {
				defer tw.parent(nil)
				defer tw.end(nil)
			}
			for _, e := range events {
				for _, tw := range []*twin{ours, theirs} {
					if e == "late" && tw == theirs {
						continue // time passes for both
					}
					tw.happens(e)
				}
			}
			assert.Equal(t, theirs.says(), ours.says(), strings.Join(events, ", "))
		})
	}
}

// An fn that asks its ctx for no more than values and whether it has ended costs no
// cancellable context.
func TestTurnContextIsCheap(t *testing.T) {
	c := &turnContext{parent: context.WithValue(t.Context(), traceKey{}, "span"), lease: leaseOf("l"), depth: 1}
	allocs := testing.AllocsPerRun(100, func() {
		_ = c.Err()
		_, _ = c.Deadline()
		_ = c.Value(traceKey{})
	})
	assert.Zero(t, allocs)
	assert.Nil(t, c.inner)
	c.end(nil)
	assert.Nil(t, c.inner)
	assert.ErrorIs(t, c.Err(), context.Canceled)
}

// Why the lock was lost is known also if nobody asked, and only if it was during the
// turn.
func TestTurnKnowsItsLoss(t *testing.T) {
	c := &turnContext{parent: t.Context(), depth: 1}
	assert.NoError(t, c.lost())
	c.end(errTestLoss)
	c.end(nil)
	assert.Equal(t, errTestLoss, c.lost())
	c = &turnContext{parent: t.Context(), depth: 1}
	c.end(nil)
	c.end(errTestLoss)
	assert.NoError(t, c.lost())
}
