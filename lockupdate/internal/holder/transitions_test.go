package holder

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate/internal/lease"
	"github.com/unwatch/unwatch/rmw"
)

// scenarios use every row of transitions.
var scenarios = map[string]func(t *testing.T){
	"an update alone": func(t *testing.T) {
		r := newRig(t, &server{}, Options{})
		res, err := r.update(t.Context(), appendText("a,"))
		require.NoError(t, err)
		require.Equal(t, "a,", res.After.Text())
		require.Equal(t, "a,", r.text(testKey))
	},
	"a lock that must not wait": func(t *testing.T) {
		r := newRig(t, &server{}, Options{})
		r.edit(testLock, func(string) string { return "another owner" })
		require.ErrorIs(t, r.withLock(t.Context(), true, nil), rmw.ErrContended)
	},
	"ctx ends in the queue": func(t *testing.T) {
		r := newRig(t, &server{}, Options{})
		r.edit(testLock, func(string) string { return "another owner" })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := r.update(ctx, appendText("a,"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, rmw.ErrContended)
	},
	"Config.MaxWait ends in the queue": func(t *testing.T) {
		r := newRig(t, &server{}, Options{MaxWait: time.Second})
		r.edit(testLock, func(string) string { return "another owner" })
		_, err := r.update(t.Context(), appendText("a,"))
		require.ErrorIs(t, err, rmw.ErrContended)
	},
	"a refused commit": func(t *testing.T) {
		first, second := refused(t, 100)
		require.NoError(t, first)
		require.NoError(t, second)
	},
	"a refused commit, after Config.MaxAttempts": func(t *testing.T) {
		first, second := refused(t, 1)
		require.ErrorIs(t, first, rmw.ErrContended)
		require.ErrorIs(t, second, rmw.ErrContended)
	},
	"fn panics": func(t *testing.T) {
		r := newRig(t, &server{}, Options{})
		require.PanicsWithValue(t, "a bug", func() {
			_, _ = r.update(t.Context(), func(context.Context, rmw.Value) (rmw.Value, error) { panic("a bug") })
		})
		_, err := r.update(t.Context(), appendText("a,"))
		require.NoError(t, err)
	},
	"ctx ends before the commit is answered": func(t *testing.T) {
		s := &server{}
		r := newRig(t, s, Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_, err := r.update(ctx, once(func() {
			s.fault = func([]redis.Cmder) (time.Duration, bool, error) { return 50 * time.Millisecond, true, nil }
		}, appendText("a,")))
		require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
	},
	"the lease is lost while fn runs": func(t *testing.T) {
		r := newRig(t, &server{}, Options{})
		_, err := r.update(t.Context(), once(func() {
			r.remove(testLock)
			time.Sleep(testLease)
		}, appendText("a,")))
		require.NoError(t, err)
		require.Equal(t, "a,", r.text(testKey))
	},
	"the lease is lost while fn runs, and its own commit is refused": func(t *testing.T) {
		r := newRig(t, &server{}, Options{})
		res, err := r.update(t.Context(), once(func() {
			r.remove(testLock)
			time.Sleep(testLease)
			r.edit(testKey, func(string) string { return "w," })
		}, appendText("a,")))
		require.NoError(t, err)
		require.Equal(t, 2, res.Attempts)
		require.Equal(t, "w,a,", r.text(testKey))
	},
	"contention without the lock": func(t *testing.T) {
		r := newRig(t, &server{}, Options{MaxAttempts: 2})
		require.NoError(t, r.gate.Enter())
		defer r.gate.Leave()
		c := r.NewUpdate(t.Context(), rmw.Key{Name: testKey}, testLock, appendText("a,"))
		require.True(t, c.EnterUnlocked())
		require.True(t, c.CallUnlocked(rmw.Value{}))
		r.edit(testKey, func(string) string { return "w," })
		answered, err := c.CommitAlone()
		require.NoError(t, err)
		require.False(t, answered)
		res, err := c.UpdateContended()
		require.NoError(t, err)
		require.Equal(t, 2, res.Attempts)
		require.Equal(t, "w,a,", r.text(testKey))
		again := r.NewUpdate(t.Context(), rmw.Key{Name: testKey}, testLock, appendText("a,"))
		require.False(t, again.EnterUnlocked(), "the key is contended")
	},
	"a held lock, without the lock": func(t *testing.T) {
		r := newRig(t, &server{}, Options{})
		require.NoError(t, r.gate.Enter())
		defer r.gate.Leave()
		c := r.NewUpdate(t.Context(), rmw.Key{Name: testKey}, testLock, appendText("a,"))
		require.True(t, c.EnterUnlocked())
		res, err := c.UpdateContended()
		require.NoError(t, err)
		require.Equal(t, 1, res.Attempts)
	},
	"the lease is lost and ctx ends before the caller knows": func(t *testing.T) {
		r := newRig(t, &server{}, Options{})
		require.NoError(t, r.gate.Enter())
		defer r.gate.Leave()
		ctx, cancel := context.WithCancel(t.Context())
		c := joinSection(ctx, t, r.Queues)
		c.queue.holder.LeaseLost()
		cancel()
		require.Equal(t, left, c.leave(ctx.Err()))
	},
}

// refused has a commit refused while the fn of the next batch runs, and returns both callers'
// errors.
func refused(t *testing.T, maxAttempts int) (first, second error) {
	r := newRig(t, &server{}, Options{MaxAttempts: maxAttempts})
	var wg sync.WaitGroup
	wg.Go(func() {
		_, first = r.update(t.Context(), once(func() {
			time.Sleep(linger) // meanwhile the second call joins the queue
			r.edit(testKey, func(was string) string { return was + "w," })
		}, appendText("a,")))
	})
	synctest.Wait()
	wg.Go(func() {
		_, second = r.update(t.Context(), once(func() { time.Sleep(5 * linger) }, appendText("b,")))
	})
	wg.Wait()
	if maxAttempts > 1 {
		require.ElementsMatch(t, []string{"w", "a", "b", ""}, strings.Split(r.text(testKey), ","))
	} else {
		require.Equal(t, "w,", r.text(testKey))
	}
	return first, second
}

func runScenarios(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(scenarios)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, scenarios[name]) })
	}
}

// withoutRow names the row of transitions that a child process removes.
const withoutRow = "HOLDER_TEST_WITHOUT_ROW"

// Every row of transitions is needed: without it, a scenario panics.
func TestNoTransitionIsDead(t *testing.T) {
	if row := os.Getenv(withoutRow); row != "" {
		var from, to state
		_, err := fmt.Sscanf(row, "%d-%d", &from, &to)
		require.NoError(t, err)
		transitions[from] = slices.DeleteFunc(slices.Clone(transitions[from]), func(s state) bool { return s == to })
	}
	runScenarios(t)
	if t.Failed() || os.Getenv(withoutRow) != "" {
		return
	}
	for from, all := range transitions {
		for _, to := range all {
			t.Run(fmt.Sprintf("without %d-%d", from, to), func(t *testing.T) {
				child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNoTransitionIsDead$", "-test.timeout=1m")
				child.Env = append(os.Environ(), fmt.Sprintf("%s=%d-%d", withoutRow, from, to))
				out, err := child.CombinedOutput()
				require.Error(t, err)
				require.Contains(t, string(out), fmt.Sprintf("lockupdate: a call changed from state %d to %d", from, to))
			})
		}
	}
}

// Negative control: only transitions outside the table panic.
func TestIllegalTransitionPanics(t *testing.T) {
	for from := queued; from <= left; from++ {
		for to := queued; to <= left; to++ {
			c := &Call{state: from}
			if from == to || slices.Contains(transitions[from], to) {
				assert.NotPanics(t, func() { c.setLocked(to) })
				assert.Equal(t, to, c.state)
				continue
			}
			assert.PanicsWithValue(t, fmt.Sprintf("lockupdate: a call changed from state %d to %d", from, to), func() { c.setLocked(to) })
			assert.Equal(t, from, c.state)
		}
	}
	assert.Empty(t, transitions[answered])
	assert.Empty(t, transitions[left])
}

// No random scenario panics, so the table is complete. Processes contend, replies get lost, locks
// vanish, other programs write, fns panic, and callers leave. Acknowledged updates are stored once,
// failed ones are not.
func TestRandomScenarios(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { randomScenario(t, seed) })
		})
	}
}

func randomScenario(t *testing.T, seed uint64) {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 1))
	draw := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return rng.IntN(n)
	}
	ms := func(n int) time.Duration { return time.Duration(draw(1000*n)) * time.Microsecond }
	calm := make(chan struct{}) // closed when the faults end
	s := &server{fault: func([]redis.Cmder) (time.Duration, bool, error) {
		select {
		case <-calm:
			return 0, true, nil
		default:
		}
		switch draw(30) {
		case 0:
			return ms(5), true, errLostReply
		case 1:
			return ms(5), false, errLostReply
		case 2:
			return 0, false, &net.OpError{Op: "dial", Err: errors.New("refused")}
		case 3:
			return ms(400), true, nil
		}
		return ms(3), true, nil
	}}
	processes := []*rig{
		newRig(t, s, Options{MaxAttempts: 2 + draw(5)}),
		newRig(t, s, Options{Linger: ms(30), MaxWait: 2 * time.Second, NoCombining: draw(4) == 0}),
	}
	var acknowledged, failed []string
	call := func(id string) {
		r := processes[draw(len(processes))]
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if draw(5) == 0 {
			time.AfterFunc(ms(50), cancel)
		}
		pause, what := ms(3), draw(12)
		if draw(15) == 0 {
			pause = ms(500)
		}
		fn := func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			time.Sleep(pause)
			switch what {
			case 0:
				panic("a bug")
			case 1:
				return rmw.Value{}, errors.New("refused by fn")
			case 2:
				return cur, nil
			}
			return rmw.String(cur.Text() + id), nil
		}
		err := errors.New("panicked")
		defer func() {
			_ = recover()
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && what > 2:
				acknowledged = append(acknowledged, id)
			case !errors.Is(err, rmw.ErrOutcomeUnknown):
				failed = append(failed, id)
			}
		}()
		if what == 3 {
			what = 2 // writes nothing
			_ = r.withLock(ctx, draw(2) == 0, func(*lease.Context) { time.Sleep(pause) })
			return
		}
		_, err = r.update(ctx, fn)
	}
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			for n := range 12 {
				time.Sleep(ms(10))
				call(fmt.Sprintf("%d-%d,", i, n))
			}
		})
	}
	wg.Go(func() {
		for n := range 20 {
			time.Sleep(ms(40))
			if draw(3) == 0 {
				s.remove(testLock)
				continue
			}
			s.edit(testKey, func(was string) string { return fmt.Sprint(was, "w", n, ",") })
		}
	})
	wg.Wait()
	close(calm)
	for _, r := range processes {
		r.gate.Close()
		require.False(t, r.Busy())
	}
	stored := "," + s.text(testKey)
	for _, id := range acknowledged {
		require.Equal(t, 1, strings.Count(stored, ","+id), "%s was acknowledged: %s", id, stored)
	}
	for _, id := range failed {
		require.Zero(t, strings.Count(stored, ","+id), "%s failed: %s", id, stored)
	}
	require.NotEmpty(t, acknowledged)
	require.NotEmpty(t, failed)
}
