package cutover_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/rmw"
)

// takeAt seals a key at one side, as an update of several keys does whose process then dies.
func (r *rig) takeAt(side int, key rmw.Key) (nonce, decision string) {
	r.t.Helper()
	nonce, decision = "dead/0", seal.DecisionKey(key.Name)
	args := seal.TakeArgs(key, nonce, decision, seal.CheckAll)
	require.NoError(r.t, r.admin(side).Eval(r.t.Context(), seal.Take.Source, []string{key.Name}, args...).Err())
	require.Equal(r.t, "tx", r.admin(side).LIndex(r.t.Context(), key.Name, 1).Val())
	return nonce, decision
}

// decide stores the decision of a sealed key.
func (r *rig) decide(side int, key rmw.Key, v rmw.Value) {
	r.t.Helper()
	record := seal.Committed([]seal.Next{{Key: key.Name, Nonce: "dead/0", Value: v}})
	require.NoError(r.t, r.admin(side).HSet(r.t.Context(), seal.DecisionKey(key.Name), "dead", record).Err())
}

// A sweep ends the update of a dead process in each stage, wherever its key is, also where no process looks for it. The counts
// are those of a key without a seal. A Verify does the same.
func TestSweepEndsSeals(t *testing.T) {
	key := rmw.Key{Name: "room"}
	for _, tc := range []struct {
		name   string
		before cutover.Stage // puts the key
		at     int           // the side of the seal
		absent bool          // the key has no value there
		stage  cutover.Stage
		there  int // of the pass
		kept   int
	}{
		{name: "at home, old", before: follow, stage: follow, kept: 1},
		{name: "at home, old, frozen", before: follow, stage: frozen(forward), kept: 1},
		{name: "at home, old, reverse", before: follow, stage: reverse, there: 1},
		{name: "at home, new", before: forward, at: 1, stage: forward, there: 1},
		{name: "at home, new, follow", before: forward, at: 1, stage: follow, kept: 1},
		{name: "at home, new, frozen", before: forward, at: 1, stage: frozen(reverse), kept: 1},
		{name: "not at home", before: follow, at: 1, absent: true, stage: follow, kept: 1},
		{name: "not at home, reverse", before: follow, at: 1, absent: true, stage: reverse, there: 1},
		{name: "at home, new, complete", before: forward, at: 1, stage: complete, kept: 1},
	} {
		for _, committed := range []bool{false, true} {
			if committed && tc.absent { // such an update aborts
				continue
			}
			for _, act := range []string{"sweep", "verify"} {
				run(t, fmt.Sprint(tc.name, committed, act), func(t *testing.T, r *rig) {
					r.open(tc.before).put(key, rmw.String("before"))
					sleep(time.Second)
					r.takeAt(tc.at, key)
					want := "before"
					if committed {
						want = "after"
						r.decide(tc.at, key, rmw.String(want))
					}
					p := r.open(tc.stage)
					if act == "sweep" {
						cfg := r.old(4) // which suffices for a key at home
						if tc.absent {
							cfg = r.both(4)
						}
						pass := p.sweep(cfg)
						assert.Equal(t, []int{tc.there, tc.kept, 0, 0, 0},
							[]int{pass.There, pass.Kept, pass.Moved, pass.Completed, pass.Stay() + pass.Failed.Count}, "%+v", pass)
					} else {
						report := p.verify(r.both(4))
						assert.Zero(t, report.Wrong()+report.Stay()+report.Missing.Count, "%+v", report)
						assert.Equal(t, 1, report.Open+report.Equal+report.ChangedSince)
					}
					for side := range 2 {
						assert.NotEqual(t, "tx", r.admin(side).LIndex(t.Context(), key.Name, 1).Val(), "side %d", side)
					}
					v, err := p.Read(t.Context(), key)
					require.NoError(t, err)
					assert.Equal(t, want, v.Text())
				})
			}
		}
	}
}

// A mark of a newer build is no value: a sweep and a Verify report the key, and change nothing.
func TestSealOfANewerBuild(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		key := rmw.Key{Name: "room"}
		r.open(follow).put(key, rmw.String("v"))
		r.takeAt(0, key)
		require.NoError(t, r.admin(0).LSet(t.Context(), key.Name, 1, "later").Err())
		p := r.open(forward)
		assert.Equal(t, 1, p.sweep(r.both(4)).Failed.Count)
		report := p.verify(r.both(4))
		assert.Equal(t, []string{key.Name}, report.Failed.Names)
		assert.Positive(t, report.Wrong())
	})
}

// A call with the wrong Kind says so, although the seal has the type of the value before it.
func TestWrongKindBehindASeal(t *testing.T) {
	for side, stage := range []cutover.Stage{follow, forward} {
		bubble(t, func(t *testing.T, r *rig) {
			key := rmw.Key{Name: "room", Kind: rmw.KindHash}
			p := r.open(stage)
			p.put(key, rmw.Hash(map[string]string{"f": "v"}))
			p.put(key, rmw.Value{})
			sleep(time.Second)
			r.takeAt(side, key)
			r.decide(side, key, rmw.Hash(map[string]string{"f": "v"}))
			_, err := p.Read(t.Context(), rmw.Key{Name: key.Name})
			require.ErrorIs(t, err, rmw.ErrWrongKind)
			_, err = p.Update(context.WithoutCancel(t.Context()), rmw.Key{Name: key.Name}, add("x"))
			require.ErrorIs(t, err, rmw.ErrWrongKind)
			v, err := p.Read(t.Context(), key)
			require.NoError(t, err)
			require.Equal(t, "v", v.Fields()["f"])
		})
	}
}
