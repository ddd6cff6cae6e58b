package shadow_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/report"
)

// lockstep returns the results of the lockstep comparator for the only operation.
func lockstep(r *report.Report) map[report.Class]int64 {
	return r.Operations[0].Tallies[report.Lockstep].Classes
}

// Several processes take turns at one key. Each waits for calls of the others again and
// again. The pauses must not add up, or the chain of a busy key would break.
func TestLockstepOfABusyKeyInAFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const processes, calls = 4, 300
		serving, hidden := rmwtest.NewMemory(), delayed(5*time.Millisecond)
		for _, m := range []*rmwtest.Memory{serving, hidden.Memory} {
			_, err := m.Update(t.Context(), counter(1), add)
			require.NoError(t, err)
		}
		var fleet []*shadow.Store
		for i := range processes {
			fleet = append(fleet, shadow.New(serving, hidden, shadow.Config{Process: "p" + strconv.Itoa(i)}))
		}
		for i := range calls {
			_, err := fleet[i%processes].Update(t.Context(), counter(1), add)
			require.NoError(t, err)
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var all sync.WaitGroup
		for _, s := range fleet {
			all.Go(func() { assert.NoError(t, s.Drain(ctx)) })
		}
		all.Wait()
		assert.Less(t, time.Since(began), calls*50*time.Millisecond)
		for _, s := range fleet {
			r := reported(t, s)
			assert.Empty(t, r.Health.Resyncs)
			for _, op := range r.Operations {
				assert.Equal(t, map[report.Class]int64{report.Match: calls / processes}, op.Tallies[report.Lockstep].Classes)
			}
			require.NoError(t, s.Close())
		}
	})
}

// A key's second call may arrive before the first, in one process or in two. Lockstep must
// begin with the first.
func TestLockstepWaitsForAKeysFirstCall(t *testing.T) {
	for _, processes := range []int{1, 2} {
		run(t, strconv.Itoa(processes), func(t *testing.T) {
			hidden := rmwtest.NewMemory()
			serving := after(func(_ *mutant, _ rmw.Key, res *rmw.Result) { // other calls see the new key before it answers
				if !res.Before.Exists() {
					time.Sleep(30 * time.Millisecond)
				}
			})
			var fleet []*shadow.Store
			for i := range processes {
				fleet = append(fleet, shadow.New(serving, hidden,
					shadow.Config{Process: "p" + strconv.Itoa(i), Sole: processes == 1}))
			}
			var all sync.WaitGroup
			for i := range 2 {
				all.Go(func() {
					time.Sleep(time.Duration(i) * time.Millisecond)
					_, err := fleet[i%processes].Update(t.Context(), counter(1), add)
					assert.NoError(t, err)
				})
			}
			all.Wait()
			for _, s := range fleet {
				r := drained(t, s)
				for _, op := range r.Operations {
					assert.Equal(t, map[report.Class]int64{report.Match: int64(2 / processes)}, op.Tallies[report.Lockstep].Classes)
				}
				require.NoError(t, s.Close())
			}
		})
	}
}

// A key that the hidden store does not have yet gets the expiry that it has in the old store.
func TestLockstepCopiesTheExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serving := rmwtest.NewMemory()
		require.NoError(t, serving.Set(t.Context(), "k", rmw.String("a"), time.Hour))
		s := open(t, serving, rmwtest.NewMemory(), shadow.Config{Sole: true})
		set(t, s, rmw.Key{Name: "k"}, rmw.String("b")) // keeps the expiry
		assert.Equal(t, map[report.Class]int64{report.Match: 1}, lockstep(drained(t, s)))
		assert.EqualValues(t, 1, verified(t, s, 1).Equal)
	})
}

// A late call sets the expiry that is left. A key may expire in the hidden store before a call of it is played there.
func TestLockstepOfAnExpiredKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serving := rmwtest.NewMemory()
		hidden := before(func(context.Context, rmw.Key) error { time.Sleep(time.Second); return nil })
		s := open(t, serving, hidden, shadow.Config{Sole: true})
		key := rmw.Key{Name: "k", TTL: 10 * time.Second}
		set(t, s, key, rmw.String("a"))
		require.NoError(t, s.Drain(t.Context()))
		_, want, err := serving.Get(t.Context(), "k")
		require.NoError(t, err)
		_, left, err := hidden.Get(t.Context(), "k")
		require.NoError(t, err)
		assert.Equal(t, want, left)
		time.Sleep(left - 100*time.Millisecond)
		set(t, s, key, rmw.String("b"))
		r := quiet(t, s)
		assert.Equal(t, map[report.Class]int64{report.Match: 2}, lockstep(r))
	})
}

// A hidden path that does not hold the value with which lockstep has just seeded it has a finding. For a minute after a
// write with an unknown outcome there is none, since that write may have replaced the value.
func TestLockstepOfALateWrite(t *testing.T) {
	// unknown is the update whose outcome is unknown, and late the one before which "a" arrives.
	for name, tc := range map[string]struct{ unknown, late int }{
		"of an update": {1, 6}, // a; seed a, b; c, which finds no key, seed b, c
		"of a seed":    {3, 5}, // a; b, which finds no key, seed a; seed b, c
	} {
		for pause, want := range map[time.Duration]report.Class{time.Second: report.DriftGap, 2 * time.Minute: report.ValueDiffers} {
			run(t, fmt.Sprint(name, ", ", pause), func(t *testing.T) {
				hidden, n := newMutant(), 0
				hidden.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
					if key.Name == "k" {
						if n++; n == tc.unknown {
							return rmw.Result{}, rmw.ErrOutcomeUnknown
						} else if n == tc.late {
							require.NoError(t, hidden.Set(ctx, "k", rmw.String("a"), rmw.NoTTL))
						}
					}
					return hidden.Memory.Update(ctx, key, fn)
				}
				s := open(t, rmwtest.NewMemory(), hidden, shadow.Config{Sole: true})
				for _, text := range []string{"a", "b", "c"} {
					require.NoError(t, hidden.Set(t.Context(), "k", rmw.Value{}, rmw.NoTTL)) // it has expired there
					set(t, s, rmw.Key{Name: "k"}, rmw.String(text))
					require.NoError(t, s.Drain(t.Context()))
					time.Sleep(pause)
				}
				assert.Equal(t, map[report.Class]int64{report.Match: 1, want: 1}, lockstep(drained(t, s)))
			})
		}
	}
}

// A path may guard and write only the fields of a hash that fn changes. Other fields may
// change meanwhile; the Result has the stored hash.
func TestLockstepOfSingleFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serving, meanwhile := newMutant(), func() {}
		serving.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
			seen, err := serving.Read(ctx, key)
			require.NoError(t, err)
			next, err := fn(ctx, seen)
			require.NoError(t, err)
			others := meanwhile
			meanwhile = func() {}
			others()
			return serving.Memory.Update(ctx, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
				for name, text := range next.Fields() {
					if was, _ := seen.Field(name); was != text {
						cur = cur.With(name, text)
					}
				}
				return cur, nil
			})
		}
		s := open(t, rmwtest.NewMemory(), serving, shadow.Config{Serve: shadow.Candidate, Sole: true})
		give := func(name, text string) {
			update(t, s, rmw.Key{Name: "agent", Kind: rmw.KindHash}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
				return cur.With(name, text), nil
			})
		}
		give("status", "away")
		meanwhile = func() { give("load", "3") }
		give("status", "here")
		r := drained(t, s)
		require.Len(t, r.Operations, 1)
		assert.Equal(t, map[report.Class]int64{report.Match: 3}, lockstep(r))
	})
}

func TestKeyChangesItsKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{Sole: true})
		for range 3 {
			set(t, s, rmw.Key{Name: "k"}, rmw.String("v"))
			set(t, s, rmw.Key{Name: "k"}, rmw.Value{})
			set(t, s, rmw.Key{Name: "k", Kind: rmw.KindHash}, rmw.Hash(map[string]string{"f": "v"}))
			set(t, s, rmw.Key{Name: "k", Kind: rmw.KindHash}, rmw.Value{})
		}
		assert.EqualValues(t, 1, verified(t, s, 1).Equal)
		quiet(t, s)
	})
}

// If another program has stored a hash where a call writes a string, lockstep reports a gap, and no finding.
func TestLockstepOfAnotherKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hidden := rmwtest.NewMemory()
		require.NoError(t, hidden.Set(t.Context(), "k", rmw.Hash(map[string]string{"f": "v"}), rmw.NoTTL))
		s := open(t, rmwtest.NewMemory(), hidden, shadow.Config{Sole: true})
		set(t, s, rmw.Key{Name: "k"}, rmw.String("v"))
		assert.Equal(t, map[report.Class]int64{report.DriftGap: 1}, lockstep(quiet(t, s)))
	})
}
