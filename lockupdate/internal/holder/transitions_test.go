package holder

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// scenarios use every row of transitions.
var scenarios = map[string]func(t *testing.T){
	"an update alone": func(t *testing.T) {
		r := newRig(t, Options{})
		res, err := r.update(t.Context(), appendText("a,"))
		require.NoError(t, err)
		require.Equal(t, "a,", res.After.Text())
		require.Equal(t, "a,", r.get(testKey))
	},
	"a lock that must not wait": func(t *testing.T) {
		r := newRig(t, Options{})
		r.set(t, testLock, "another owner")
		require.NoError(t, r.gate.Enter())
		defer r.gate.Leave()
		_, err := r.Lock(t.Context(), testKey, testLock, true)
		require.ErrorIs(t, err, rmw.ErrContended)
	},
	"ctx ends in the queue": func(t *testing.T) {
		r := newRig(t, Options{})
		r.set(t, testLock, "another owner")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := r.update(ctx, appendText("a,"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, rmw.ErrContended)
	},
	"Config.MaxWait ends in the queue": func(t *testing.T) {
		r := newRig(t, Options{MaxWait: time.Second})
		r.set(t, testLock, "another owner")
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
		r := newRig(t, Options{})
		require.PanicsWithValue(t, "a bug", func() {
			_, _ = r.update(t.Context(), func(context.Context, rmw.Value) (rmw.Value, error) { panic("a bug") })
		})
		_, err := r.update(t.Context(), appendText("a,"))
		require.NoError(t, err)
	},
	"ctx ends before the commit is answered": func(t *testing.T) {
		r := newRig(t, Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_, err := r.update(ctx, once(func() {
			r.proxy.Inject(proxytest.Fault{Times: 1, Action: proxytest.Delay, Delay: 50 * time.Millisecond})
		}, appendText("a,")))
		require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
	},
	"the lease is lost while fn runs": func(t *testing.T) {
		r := newRig(t, Options{})
		_, err := r.update(t.Context(), once(func() {
			r.remove(testLock)
			time.Sleep(testLease)
		}, appendText("a,")))
		require.NoError(t, err)
		require.Equal(t, "a,", r.get(testKey))
	},
	"the lease is lost while fn runs, and its own commit is refused": func(t *testing.T) {
		r := newRig(t, Options{})
		res, err := r.update(t.Context(), once(func() {
			r.remove(testLock)
			time.Sleep(testLease)
			r.set(t, testKey, "w,")
		}, appendText("a,")))
		require.NoError(t, err)
		require.Equal(t, 2, res.Attempts)
		require.Equal(t, "w,a,", r.get(testKey))
	},
	"contention without the lock": func(t *testing.T) {
		r := newRig(t, Options{MaxAttempts: 2})
		require.NoError(t, r.gate.Enter())
		defer r.gate.Leave()
		c := r.NewUpdate(t.Context(), rmw.Key{Name: testKey}, testLock, appendText("a,"))
		require.True(t, c.EnterUnlocked())
		require.True(t, c.CallUnlocked(rmw.Value{}))
		r.set(t, testKey, "w,")
		answered, err := c.CommitAlone()
		require.NoError(t, err)
		require.False(t, answered)
		res, err := c.UpdateContended()
		require.NoError(t, err)
		require.Equal(t, 2, res.Attempts)
		require.Equal(t, "w,a,", r.get(testKey))
		again := r.NewUpdate(t.Context(), rmw.Key{Name: testKey}, testLock, appendText("a,"))
		require.False(t, again.EnterUnlocked(), "the key is contended")
	},
	"a held lock, without the lock": func(t *testing.T) {
		r := newRig(t, Options{})
		require.NoError(t, r.gate.Enter())
		defer r.gate.Leave()
		c := r.NewUpdate(t.Context(), rmw.Key{Name: testKey}, testLock, appendText("a,"))
		require.True(t, c.EnterUnlocked())
		res, err := c.UpdateContended()
		require.NoError(t, err)
		require.Equal(t, 1, res.Attempts)
	},
	"the lease is lost and ctx ends before the caller knows": func(t *testing.T) {
		r := newRig(t, Options{})
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
	r := newRig(t, Options{MaxAttempts: maxAttempts})
	var wg sync.WaitGroup
	wg.Go(func() {
		_, first = r.update(t.Context(), once(func() {
			time.Sleep(linger) // meanwhile the second call joins the queue
			r.set(t, testKey, "w,")
		}, appendText("a,")))
	})
	synctest.Wait()
	wg.Go(func() {
		_, second = r.update(t.Context(), once(func() { time.Sleep(5 * linger) }, appendText("b,")))
	})
	wg.Wait()
	if maxAttempts > 1 {
		require.ElementsMatch(t, []string{"w", "a", "b", ""}, strings.Split(r.get(testKey), ","))
	} else {
		require.Equal(t, "w,", r.get(testKey))
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
