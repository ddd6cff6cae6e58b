package lockupdate

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
)

// granting is a client that sends nothing and grants every lock.
type granting struct{ Commands }

func (granting) Process(_ context.Context, cmd redis.Cmder) error {
	cmd.(*command).SetVal(int64(1))
	return nil
}

// Whoever is given a section may leave, or lose it, before it has found out, and lose it
// after; each time the tenure ends once, and the line is free.
func TestASectionEndsOnce(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, u *update, held *tenure, cancel func()){
		"left before": func(t *testing.T, u *update, _ *tenure, cancel func()) {
			cancel()
			assert.Equal(t, left, u.leave(u.ctx.Err()))
		},
		"lost before": func(t *testing.T, u *update, held *tenure, _ func()) {
			held.loseLease(rmw.ErrLockLost)
			assert.Equal(t, adrift, u.await(nil))
			held.leaveSection()
		},
		"lost after": func(t *testing.T, u *update, held *tenure, cancel func()) {
			assert.Equal(t, running, u.await(nil))
			assert.Nil(t, held.running, "the call is no longer needed")
			assert.True(t, held.parked() && held.taken() && held.busy() && !held.idles())
			cancel()
			held.loseLease(rmw.ErrLockLost)
			held.leaveSection()
		},
		"left after": func(t *testing.T, u *update, held *tenure, _ func()) {
			assert.Equal(t, running, u.await(nil))
			held.leaveSection()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(granting{}, Config{})
				require.NoError(t, s.gate.Enter())
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				key := rmw.Key{Name: "s"}
				u := &update{Store: s, ctx: ctx, key: key, section: true, arrived: time.Now(), wake: make(chan struct{}, 1)}
				require.True(t, s.join(s.cfg.LockName("s"), u))
				synctest.Wait()
				held := u.queue.tenure
				require.True(t, held.parked())
				assert.Same(t, u, held.running)
				second := &update{Store: s, ctx: t.Context(), key: key, section: true, noWait: true}
				assert.False(t, s.join(u.queue.lock, second), "it is taken")
				held.mu.Lock()
				held.look() // there is nobody
				held.advance()
				held.mu.Unlock()
				end(t, u, held, cancel)
				synctest.Wait()
				assert.Nil(t, u.queue.tenure)
				assert.False(t, held.parked())
				l, err := s.Lock(t.Context(), "s")
				require.NoError(t, err)
				require.NoError(t, l.Unlock())
				s.gate.Leave()
				require.NoError(t, s.Close())
			})
		})
	}
}
