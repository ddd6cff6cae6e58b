package cutover_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/rmw"
)

// addTo returns a TxFunc that adds the id to each key.
func addTo(id string, keys ...rmw.Key) rmw.TxFunc {
	return func(_ context.Context, tx *rmw.Tx) error {
		for _, key := range keys {
			tx.Put(key, rmw.String(tx.Get(key).Text()+id+","))
		}
		return nil
	}
}

func (p process) transact(fn rmw.TxFunc, keys ...rmw.Key) rmw.TxResult {
	p.t.Helper()
	res, err := rmw.Transact(p.t.Context(), p, fn, keys...)
	require.NoError(p.t, err)
	return res
}

// requireAt requires the home of keys, and that the other store has none of them.
func (r *rig) requireAt(side int, keys ...rmw.Key) {
	r.t.Helper()
	for _, key := range keys {
		where := r.where(key.Name)
		require.Equal(r.t, "string", where[side], "%s is %v", key.Name, where)
		require.NotEqual(r.t, "string", where[1-side], "%s is %v", key.Name, where)
	}
}

var (
	first, second = rmw.Key{Name: "first", Label: "room"}, rmw.Key{Name: "second"}
	couple        = []rmw.Key{first, second}
	oneLabel      = cutover.Stage{Phase: cutover.Copying, Percent: 100, Labels: []string{"room"}}
	noKey         = cutover.Stage{Phase: cutover.Copying}
)

// The keys of an update are brought to one store, as the stage says, and keep their values. where has their homes
// before: the old store (0), the new one (1), or none (2).
func TestTransactBringsKeysToOneHome(t *testing.T) {
	for _, tc := range []struct {
		stage cutover.Stage
		where [2]int
		home  int // -1: an error
	}{
		{follow, [2]int{0, 0}, 0},
		{follow, [2]int{0, 1}, 0},
		{follow, [2]int{1, 2}, 0},
		{follow, [2]int{1, 1}, 1},
		{noKey, [2]int{0, 0}, 0},
		{noKey, [2]int{0, 2}, 0},
		{noKey, [2]int{1, 1}, 1},
		{noKey, [2]int{0, 1}, 1},
		{noKey, [2]int{2, 1}, 1},
		{oneLabel, [2]int{0, 0}, 1},
		{oneLabel, [2]int{2, 0}, 1},
		{oneLabel, [2]int{2, 2}, 1},
		{forward, [2]int{1, 1}, 1},
		{reverse, [2]int{1, 1}, 0},
		{reverse, [2]int{0, 1}, 0},
		{reverse, [2]int{2, 1}, 0},
		{complete, [2]int{1, 1}, 1},
		{complete, [2]int{1, 2}, 1},
		{frozen(follow), [2]int{1, 1}, 1},
		{frozen(forward), [2]int{0, 0}, 0},
		{frozen(forward), [2]int{1, 1}, 1},
		{frozen(reverse), [2]int{1, 1}, 1},
		{frozen(follow), [2]int{0, 1}, -1},
		{frozen(forward), [2]int{0, 1}, -1},
		{frozen(forward), [2]int{1, 2}, -1},
		{frozen(reverse), [2]int{1, 0}, -1},
	} {
		for _, late := range []bool{false, true} {
			run(t, fmt.Sprint(tc.stage, tc.where, late), func(t *testing.T, r *rig) {
				want := [2]string{}
				for i, key := range couple {
					if tc.where[i] < 2 {
						r.open([]cutover.Stage{follow, forward}[tc.where[i]]).put(key, rmw.String("v,"))
						want[i] = "v,"
					}
				}
				sleep(time.Second)
				named := couple
				if late {
					named = couple[:1]
				}
				p, calls := r.open(tc.stage), 0
				res, err := rmw.Transact(t.Context(), p, func(ctx context.Context, tx *rmw.Tx) error {
					calls++
					return addTo("x", couple...)(ctx, tx)
				}, named...)
				require.Equal(t, calls, res.Attempts)
				if tc.home < 0 {
					require.ErrorIs(t, err, rmw.ErrUnavailable)
					require.ErrorContains(t, err, "the stage is frozen")
					require.Empty(t, res.Changes)
				} else {
					require.NoError(t, err)
					require.Len(t, res.Changes, 2)
					for i, change := range res.Changes {
						require.Equal(t, couple[i].Name, change.Key.Name)
						require.Equal(t, [2]string{want[i], want[i] + "x,"}, [2]string{change.Before.Text(), change.After.Text()})
						want[i] += "x,"
					}
				}
				sleep(time.Second)
				if tc.home >= 0 {
					r.requireAt(tc.home, couple...)
				}
				reader := r.direct()
				if tc.stage.Phase == cutover.Complete {
					reader = r.open(complete)
				}
				for i, key := range couple {
					v, err := reader.Read(t.Context(), key)
					require.NoError(t, err)
					require.Equal(t, want[i], v.Text())
				}
			})
		}
	}
}

// A key that cannot move keeps the others with it, and they do not move there and back each time.
func TestTransactWithAKeyThatStays(t *testing.T) {
	for side, stages := range [2][2]cutover.Stage{{follow, forward}, {forward, reverse}} {
		bubble(t, func(t *testing.T, r *rig) {
			r.open(stages[0]).put(second, rmw.String("v"))
			r.openWith(cutover.Config{Stage: stages[0], MaxSeal: 4 << 20}).put(first, rmw.String(strings.Repeat("x", 2<<20)))
			p := r.open(stages[1])
			for i := range 3 {
				for _, proxy := range r.proxies {
					proxy.ResetCalls()
				}
				p.transact(addTo(strconv.Itoa(i), couple...), couple...)
				sleep(time.Second)
				r.requireAt(side, couple...)
				if i > 0 {
					assert.Zero(t, r.steps()["reserve"]+r.steps()["seal"], "nothing moves")
				}
			}
		})
	}
}

// fn names a new key in each call, as a service does that draws ids.
func TestTransactWithANewKeyInEachCall(t *testing.T) {
	for _, stage := range []cutover.Stage{follow, noKey, forward, reverse, complete} {
		bubble(t, func(t *testing.T, r *rig) {
			calls, last := 0, rmw.Key{}
			res := r.open(stage).transact(func(_ context.Context, tx *rmw.Tx) error {
				calls++
				last = rmw.Key{Name: fmt.Sprint("record", calls)}
				tx.Put(last, rmw.String("v"))
				tx.Put(first, rmw.String(last.Name))
				return nil
			}, first)
			require.LessOrEqual(t, calls, 3, "%v", stage)
			require.Len(t, res.Changes, 2)
			sleep(time.Second)
			v, err := r.open(stage).Read(t.Context(), last)
			require.NoError(t, err)
			require.Equal(t, "v", v.Text(), "%v", stage)
		})
	}
}

// Errors and a panic of fn pass through as they are, also one that has the reasons of a move.
func TestTransactReturnsTheErrorOfFn(t *testing.T) {
	for _, stage := range []cutover.Stage{follow, forward} {
		bubble(t, func(t *testing.T, r *rig) {
			r.open(follow).put(second, rmw.String("v"))
			p := r.open(stage)
			for _, of := range []error{errors.New("refused"), seal.ErrMoved, rmw.ErrWrongKind} {
				calls := 0
				_, err := rmw.Transact(t.Context(), p, func(_ context.Context, tx *rmw.Tx) error {
					calls++
					tx.Put(first, rmw.String("x"))
					return of
				}, couple...)
				require.True(t, err == of) //nolint:errorlint // it must be that very error
				require.Equal(t, 1, calls)
			}
			require.PanicsWithValue(t, "of fn", func() {
				_, _ = rmw.Transact(t.Context(), p, func(context.Context, *rmw.Tx) error { panic("of fn") }, couple...)
			})
			v, err := p.Read(t.Context(), first)
			require.NoError(t, err)
			require.False(t, v.Exists())
		})
	}
}

// Both stores must be able to update several keys.
func TestTransactNeedsBothStores(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		p := r.open(follow)
		for i := range 2 {
			sides := [2]cutover.Side{{Store: p.stores[0], Redis: p.clients[0]}, {Store: p.stores[1], Redis: p.clients[1]}}
			sides[i].Store = struct{ rmw.Store }{p.stores[i]}
			s := cutover.New(sides[0], sides[1], cutover.Config{})
			_, err := rmw.Transact(t.Context(), s, addTo("x", couple...), couple...)
			require.ErrorIs(t, err, rmw.ErrUnsupported)
			require.ErrorContains(t, err, []string{"the old Store", "the new Store"}[i])
			require.NoError(t, s.Close())
		}
	})
}

// While fn runs, another process moves one of the keys, or changes the stage: the update is stored once, in one store.
func TestTransactWhileKeysMove(t *testing.T) {
	for _, way := range [][3]cutover.Stage{{follow, follow, forward}, {follow, noKey, forward}, {forward, forward, reverse}} {
		run(t, fmt.Sprint(way), func(t *testing.T, r *rig) {
			for _, key := range couple {
				r.open(way[0]).put(key, rmw.String("v,"))
			}
			p, mover, moved := r.open(way[1]), r.open(way[2]), make(chan struct{})
			calls := 0
			p.transact(func(ctx context.Context, tx *rmw.Tx) error {
				if calls++; calls == 1 {
					go func() {
						defer close(moved)
						_, err := mover.Update(ctx, rmw.Key{Name: second.Name}, add("m"))
						assert.NoError(t, err)
					}()
					sleep(10 * time.Millisecond)
				}
				return addTo("x", couple...)(ctx, tx)
			}, first)
			<-moved
			sleep(time.Second)
			end := r.direct()
			v, err := end.Read(t.Context(), first)
			require.NoError(t, err)
			require.Equal(t, "v,x,", v.Text())
			v, err = end.Read(t.Context(), second)
			require.NoError(t, err)
			require.ElementsMatch(t, []string{"v", "x", "m", ""}, strings.Split(v.Text(), ","))
		})
	}
}

// A process dies after each command of an update of several keys. A read, a move, a sweep and a verify end its update,
// and find all of its values or none.
func TestMovesMeetSealsOfADeadProcess(t *testing.T) {
	for _, way := range [][2]cutover.Stage{{follow, forward}, {forward, reverse}} {
		for name, act := range map[string]func(r *rig, p process){
			"read":     func(_ *rig, p process) { _, _ = p.Read(p.t.Context(), first) },
			"update":   func(_ *rig, p process) { p.put(rmw.Key{Name: "other"}, rmw.String("v")); _ = p.change(keep) },
			"transact": func(_ *rig, p process) { p.transact(func(context.Context, *rmw.Tx) error { return nil }, couple...) },
			"sweep":    func(r *rig, p process) { assert.Zero(p.t, p.sweep(r.both(4)).Failed.Count) },
			"verify":   func(r *rig, p process) { assert.Zero(p.t, p.verify(r.both(4)).Wrong()) },
		} {
			run(t, fmt.Sprint(way, name), func(t *testing.T, r *rig) {
				for n, finished, sealed := 0, false, 0; !finished; n++ {
					for i, p := range r.proxies {
						for e := range p.Backends() {
							r.proxies[i].Engine(e).FlushAll()
						}
					}
					r.open(way[0]).put(first, rmw.String("v,"))
					if way[0].Phase == cutover.Copying {
						r.open(way[0]).transact(addTo("v", second), second)
					}
					sleep(time.Second)
					sent := 0
					heal := r.dropFrom(func(args []string) bool {
						if strings.HasPrefix(args[0], "eval") || args[0] == "hsetnx" {
							sent++
						}
						return sent > n
					})
					p := r.open(way[0])
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					_, err := rmw.Transact(ctx, p, addTo("x", couple...), couple...)
					cancel()
					_ = p.Close()
					heal()
					finished = sent <= n
					for _, key := range couple {
						if where := r.where(key.Name); where[0] == "list" && way[0].Phase == cutover.Follow || where[1] == "list" {
							sealed++
						}
					}
					act(r, r.open(way[1]))
					r.swept(way[1])
					for i, key := range couple {
						where := r.where(key.Name)
						for side, kind := range where {
							if kind == "list" {
								state := r.admin(side).LIndex(t.Context(), key.Name, 1).Val()
								require.NotEqual(t, "tx", state, "%s after %d commands", key.Name, n)
							}
						}
						v, errRead := r.direct().Read(t.Context(), key)
						require.NoError(t, errRead)
						stored := strings.Contains(v.Text(), "x,")
						switch {
						case err == nil:
							require.True(t, stored, "acknowledged, after %d commands", n)
						case !errors.Is(err, rmw.ErrOutcomeUnknown):
							require.False(t, stored, "%v, after %d commands", err, n)
						}
						other, errRead := r.direct().Read(t.Context(), couple[1-i])
						require.NoError(t, errRead)
						require.Equal(t, stored, strings.Contains(other.Text(), "x,"), "after %d commands", n)
					}
					require.Zero(t, r.verify(4).Wrong())
					require.True(t, !finished || sealed > 0 && n > 3, "the process left no seals")
				}
			})
		}
	}
}

// Calls of one process that share a key wait for each other, and become one attempt. A key that has moved away fails only
// the calls that name it, which go on in the new store.
func TestTransactsTogetherWithOneThatMoves(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		for _, key := range couple {
			r.open(follow).put(key, rmw.String("v,"))
		}
		_, err := r.open(forward).Update(t.Context(), second, keep)
		require.NoError(t, err)
		sleep(time.Second)
		p := r.open(noKey)
		var calls sync.WaitGroup
		for i := range 8 {
			calls.Go(func() {
				keys := couple[:1+i%2]
				_, err := rmw.Transact(t.Context(), p, func(ctx context.Context, tx *rmw.Tx) error {
					sleep(5 * time.Millisecond)
					return addTo(strconv.Itoa(i), keys...)(ctx, tx)
				}, keys...)
				assert.NoError(t, err)
			})
		}
		calls.Wait()
		for i, want := range []int{10, 6} {
			v, err := r.direct().Read(t.Context(), couple[i])
			require.NoError(t, err)
			require.Len(t, strings.Split(v.Text(), ","), want)
		}
	})
}
