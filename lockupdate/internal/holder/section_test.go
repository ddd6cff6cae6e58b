package holder

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
)

// joinSection queues a call of Lock, and returns it when its holder is detached, before the caller
// knows.
func joinSection(ctx context.Context, t *testing.T, s *Queues) *Call {
	c := s.newCall(ctx, rmw.Key{Name: testKey}, testLock)
	c.section = true
	require.True(t, s.join(c))
	synctest.Wait()
	c.queue.mu.Lock()
	defer c.queue.mu.Unlock()
	require.True(t, c.queue.holder.detachedLocked())
	assert.Same(t, c, c.queue.holder.running)
	return c
}

// A caller may leave or lose the lock, before or after it enters its critical section. In all cases
// the holder ends once, and the queue is free.
func TestSectionEndsOnce(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, c *Call, h *holder, cancel func()){
		"left before": func(t *testing.T, c *Call, _ *holder, cancel func()) {
			cancel()
			assert.Equal(t, left, c.leave(c.ctx.Err()))
			assert.NotErrorIs(t, c.err, rmw.ErrContended, "it did not wait")
		},
		"left before, after a wait": func(t *testing.T, c *Call, _ *holder, cancel func()) {
			c.waited = time.Second
			cancel()
			assert.Equal(t, left, c.leave(c.ctx.Err()))
			assert.ErrorIs(t, c.err, rmw.ErrContended)
			assert.ErrorIs(t, c.err, context.Canceled)
		},
		"lost before": func(t *testing.T, c *Call, h *holder, _ func()) {
			h.LeaseLost()
			assert.Equal(t, orphaned, woken(c))
			h.LeaveSection()
		},
		"lost and left before, after a wait": func(t *testing.T, c *Call, h *holder, cancel func()) {
			c.waited = time.Second
			h.LeaseLost()
			cancel()
			assert.Equal(t, left, c.leave(c.ctx.Err()))
			assert.ErrorIs(t, c.err, rmw.ErrContended)
		},
		"lost and left before": func(t *testing.T, c *Call, h *holder, cancel func()) {
			h.LeaseLost()
			cancel()
			assert.Equal(t, left, c.leave(c.ctx.Err()))
			assert.ErrorIs(t, c.err, context.Canceled)
		},
		"lost after": func(t *testing.T, c *Call, h *holder, cancel func()) {
			assert.Equal(t, running, woken(c))
			h.queue.mu.Lock()
			assert.Nil(t, h.running, "the call is no longer needed")
			assert.True(t, h.detachedLocked() && h.takenLocked() && h.busyLocked() && !h.idleLocked())
			h.queue.mu.Unlock()
			cancel()
			h.LeaseLost()
			h.LeaveSection()
		},
		"left after": func(t *testing.T, c *Call, h *holder, _ func()) {
			assert.Equal(t, running, woken(c))
			h.LeaveSection()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newRig(t, Options{}).Queues
				require.NoError(t, s.gate.Enter())
				defer s.gate.Leave()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				c := joinSection(ctx, t, s)
				h := c.queue.holder
				second := s.newCall(t.Context(), c.key, testLock)
				second.section, second.noWait = true, true
				assert.False(t, s.join(second), "the lock is taken")
				h.queue.mu.Lock()
				h.wakeLocked() // there is no goroutine
				h.dispatchLocked()
				h.queue.mu.Unlock()
				end(t, c, h, cancel)
				synctest.Wait()
				c.queue.mu.Lock()
				assert.Nil(t, c.queue.holder)
				assert.False(t, h.detachedLocked())
				c.queue.mu.Unlock()
				held, err := s.Lock(t.Context(), testKey, testLock, false)
				require.NoError(t, err)
				last, lost := held.Leave()
				require.True(t, last)
				require.NoError(t, lost)
				synctest.Wait()
				assert.False(t, s.Busy())
			})
		})
	}
}

// woken waits until the call is woken.
func woken(c *Call) state {
	s, _ := c.await(nil, nil)
	return s
}
