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

// storm is a rush hour: workers that assign, transfer, close, requeue, reopen and
// sign off, crash now and then between any two steps, and sometimes stall for longer
// than others are patient. Meanwhile somebody reaps, who may stall, too.
type storm struct {
	seed    uint64
	crashes float64 // the part of the operations in which the process dies
	stalls  float64 // the part of the calls before which it stalls
	// assign and reap are the protocol; the controls replace them.
	assign func(ctx context.Context, s service, op domains.Op, sessionID, agentID string) error
	reap   func(ctx context.Context, s service, at time.Time, agentID string) error
}

const (
	stormAgents   = 4
	stormSessions = 30
	stormWorkers  = 12
	stormOps      = 250 // of each worker
)

// ops is how many operations each worker does.
func (st storm) ops() int {
	if underRace {
		return stormOps / 5
	}
	return stormOps
}

// fickle is a Store whose calls take time.
type fickle struct {
	rmw.Store
	rng    *rand.Rand
	stalls float64
}

func (f fickle) delay() {
	d := time.Duration(f.rng.IntN(10)) * time.Millisecond
	if f.rng.Float64() < f.stalls {
		d = patience + time.Duration(f.rng.IntN(60))*time.Second
	}
	time.Sleep(d)
}

func (f fickle) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	f.delay()
	return f.Store.Read(ctx, key)
}

func (f fickle) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	f.delay()
	return f.Store.Update(ctx, key, fn)
}

// run plays the storm on fake time, and returns what was seen.
func (st storm) run(t *testing.T) (w *world, done int) {
	t.Helper()
	w = newWorld()
	var happened atomic.Int64
	synctest.Test(t, func(t *testing.T) {
		live := newService(w)
		for i := range stormAgents {
			require.NoError(t, live.hire(t.Context(), time.Now(), name("a", i)))
		}
		for i := range stormSessions {
			require.NoError(t, live.queue(t.Context(), time.Now(), name("s", i)))
		}
		ctx, stop := context.WithCancel(t.Context())
		var workers, reaper sync.WaitGroup
		for i := range stormWorkers {
			rng := rand.New(rand.NewPCG(st.seed, uint64(i)))
			workers.Go(func() { happened.Add(st.work(ctx, w, rng)) })
		}
		reaper.Go(func() {
			slow := newService(fickle{w, rand.New(rand.NewPCG(st.seed, stormWorkers)), st.stalls})
			for i := 0; ctx.Err() == nil; i++ {
				time.Sleep(10 * time.Second)
				_ = st.reap(ctx, slow, time.Now(), name("a", i%stormAgents))
			}
		})
		workers.Wait()
		stop()
		reaper.Wait()
		for i := range stormAgents {
			require.NoError(t, st.reap(t.Context(), live, time.Now().Add(2*patience), name("a", i)))
		}
		w.rest()
	})
	return w, int(happened.Load())
}

// work is one worker. Each of its operations is a process of its own, which may die.
func (st storm) work(ctx context.Context, w *world, rng *rand.Rand) (happened int64) {
	for range st.ops() {
		process := &mortal{Store: fickle{w, rng, st.stalls}}
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

// operate does something, to somebody.
func (st storm) operate(ctx context.Context, w *world, s service, rng *rand.Rand) (err error) {
	op := domains.NewOp(time.Now())
	visitor := "of-" + name("s", rng.IntN(stormSessions))
	sessionID, agentID := w.latest(visitor), name("a", rng.IntN(stormAgents))
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

func ours(seed uint64, crashes, stalls float64) storm {
	return storm{
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

// Whatever crashes, and however long it stalls, no state ever breaks a rule.
func TestStorm(t *testing.T) {
	snapshots := 0
	for seed, trouble := range []struct{ crashes, stalls float64 }{
		{0, 0}, {0.05, 0.1}, {0.2, 0.05}, {0.38, 0.1},
	} {
		t.Run(fmt.Sprintf("crashes %g, stalls %g", trouble.crashes, trouble.stalls), func(t *testing.T) {
			st := ours(uint64(seed), trouble.crashes, trouble.stalls)
			w, done := st.run(t)
			assert.Empty(t, w.verdict())
			assert.Greater(t, done, st.ops()/3, "operations that happened")
			snapshots += w.snapshots
		})
	}
	if !underRace {
		assert.GreaterOrEqual(t, snapshots, 5_000)
	}
	t.Logf("%d snapshots", snapshots)
}
