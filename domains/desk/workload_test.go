package desk_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/desk"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
)

// workload is concurrent workers that assign, transfer, close, requeue, reopen and sign off, crash at random
// between two steps, and sometimes stall for longer than Patience. Meanwhile a reaper runs, and may stall, too.
type workload struct {
	seed    uint64
	crashes float64 // the part of the operations in which the process dies
	stalls  float64 // the part of the calls before which it stalls
	// assign and reap are the protocol; the controls replace them.
	assign func(ctx context.Context, s service, op domains.Op, sessionID, agentID string) error
	reap   func(ctx context.Context, s service, at time.Time, agentID string) error
}

const (
	workloadAgents   = 4
	workloadSessions = 30
	workloadWorkers  = 12
	workloadOps      = 250 // of each worker
)

// ops is how many operations each worker does.
func (st workload) ops() int {
	if underRace {
		return workloadOps / 5
	}
	return workloadOps
}

// delayed is a Store whose calls take a random time.
type delayed struct {
	rmw.Store
	rng    *rand.Rand
	stalls float64
}

func (f delayed) delay() {
	d := time.Duration(f.rng.IntN(10)) * time.Millisecond
	if f.rng.Float64() < f.stalls {
		d = patience + time.Duration(f.rng.IntN(60))*time.Second
	}
	time.Sleep(d)
}

func (f delayed) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	f.delay()
	return f.Store.Read(ctx, key)
}

func (f delayed) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	f.delay()
	return f.Store.Update(ctx, key, fn)
}

// run runs the workload on fake time, and returns the observed store.
func (st workload) run(t *testing.T) (w *observedStore, done int) {
	t.Helper()
	w = newObservedStore()
	var happened atomic.Int64
	synctest.Test(t, func(t *testing.T) {
		live := newService(w)
		for i := range workloadAgents {
			require.NoError(t, live.hire(t.Context(), time.Now(), name("a", i)))
		}
		for i := range workloadSessions {
			require.NoError(t, live.queue(t.Context(), time.Now(), name("s", i)))
		}
		ctx, stop := context.WithCancel(t.Context())
		var workers, reaper sync.WaitGroup
		for i := range workloadWorkers {
			rng := rand.New(rand.NewPCG(st.seed, uint64(i)))
			workers.Go(func() { happened.Add(st.work(ctx, w, rng)) })
		}
		reaper.Go(func() {
			slow := newService(delayed{w, rand.New(rand.NewPCG(st.seed, workloadWorkers)), st.stalls})
			for i := 0; ctx.Err() == nil; i++ {
				time.Sleep(10 * time.Second)
				_ = st.reap(ctx, slow, time.Now(), name("a", i%workloadAgents))
			}
		})
		workers.Wait()
		stop()
		reaper.Wait()
		for i := range workloadAgents {
			require.NoError(t, st.reap(t.Context(), live, time.Now().Add(2*patience), name("a", i)))
		}
		w.rest()
	})
	return w, int(happened.Load())
}

// work is one worker. Each of its operations is a process of its own, which may die.
func (st workload) work(ctx context.Context, w *observedStore, rng *rand.Rand) (happened int64) {
	for range st.ops() {
		process := &crashing{Store: delayed{w, rng, st.stalls}}
		if rng.Float64() < st.crashes {
			process.dieAt, process.executed = 1+rng.IntN(8), rng.IntN(2) == 0
		}
		err := st.operate(ctx, w, newService(process), rng)
		if err == nil {
			happened++
		} else if domains.RefusalOf(err) == nil && !errors.Is(err, errDead) {
			panic(err) // the test's own: there is no other trouble in it
		}
	}
	return happened
}

// operate runs a random operation on a random session.
func (st workload) operate(ctx context.Context, w *observedStore, s service, rng *rand.Rand) (err error) {
	op := domains.NewOp(time.Now())
	visitor := "of-" + name("s", rng.IntN(workloadSessions))
	sessionID, agentID := w.latest(visitor), name("a", rng.IntN(workloadAgents))
	switch n := rng.IntN(100); {
	case n < 45:
		return st.assign(ctx, s, op, sessionID, agentID)
	case n < 60:
		_, err = s.Transfer(ctx, op, sessionID, desk.TransferTo{AgentID: agentID})
	case n < 72:
		_, err = s.Requeue(ctx, op, sessionID, desk.ToQueue{})
	case n < 76:
		_, err = s.Decline(ctx, op, sessionID, agentID)
	case n < 84:
		_, err = s.Close(ctx, op, sessionID, session.ByAgent)
	case n < 92:
		_, err = s.Reopen(ctx, op, sessionID)
	case n < 96:
		_, err = s.Open(ctx, op, op.ID, session.Session{VisitorID: visitor, Status: session.Queued})
	case n < 97:
		_, err = s.SignOff(ctx, op, agentID)
	default:
		_, err = s.agents.SetStatus(ctx, agentID, op, mcc.Online)
	}
	return err
}

func ours(seed uint64, crashes, stalls float64) workload {
	return workload{
		seed: seed, crashes: crashes, stalls: stalls,
		assign: func(ctx context.Context, s service, op domains.Op, sessionID, agentID string) error {
			_, err := s.Assign(ctx, op, sessionID, agentID)
			return err
		},
		reap: func(ctx context.Context, s service, at time.Time, agentID string) error {
			_, err := s.Reap(ctx, at, agentID)
			return err
		},
	}
}

// No state breaks a rule, with crashes and stalls at random.
func TestConcurrentWorkload(t *testing.T) {
	snapshots := 0
	for seed, trouble := range []struct{ crashes, stalls float64 }{
		{0, 0}, {0.05, 0.1}, {0.2, 0.05}, {0.38, 0.1},
	} {
		t.Run(fmt.Sprintf("crashes %g, stalls %g", trouble.crashes, trouble.stalls), func(t *testing.T) {
			st := ours(uint64(seed), trouble.crashes, trouble.stalls)
			w, done := st.run(t)
			assert.Empty(t, w.broken())
			assert.Greater(t, done, st.ops()/3, "operations that happened")
			snapshots += w.snapshots
		})
	}
	if !underRace {
		assert.GreaterOrEqual(t, snapshots, 5_000)
	}
	t.Logf("%d snapshots", snapshots)
}
