package lockupdate_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// slow makes each script take d on its way.
func (f *fixture) slow(d time.Duration) {
	f.proxy.Inject(proxytest.Fault{
		Match: func(args []string) bool { return lockupdate.Said(args) != strings.ToUpper(args[0]) },
		Times: -1, Action: proxytest.Delay, Delay: d,
	})
}

// Those who wait while one has the lock share all it costs, and follow each other in
// the order in which they came.
func TestWaitersShareOneCommit(t *testing.T) {
	for name, want := range map[string]map[string]int{
		"combining":    {"acquire": 1, "read": 1, "commit_string": 1, "release": 1},
		"no combining": {"acquire": 1, "read": 1, "commit_string": 64, "release": 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, lockupdate.Config{NoCombining: name != "combining"})
				key := rmw.Key{Name: "s"}
				f.warm(key)
				var fns []rmw.UpdateFunc
				want := want
				list := "www"
				for i := range 64 {
					fns = append(fns, appendText(fmt.Sprint(i, ",")))
				}
				for i, fate := range f.together(key, fns...) {
					require.NoError(t, fate.err)
					assert.Equal(t, list, fate.res.Before.Text())
					list += fmt.Sprint(i, ",")
					assert.Equal(t, list, fate.res.After.Text())
					assert.Equal(t, 1, fate.res.Attempts)
					assert.True(t, fate.res.Written)
				}
				f.waitReleases()
				assert.Equal(t, want, f.sent())
				assert.Equal(t, list, f.text(key))
			})
		})
	}
}

// loop has goroutines update one key in a closed loop, and returns what an update cost.
func loop(t *testing.T, cfg lockupdate.Config, goroutines, each int) float64 {
	f := newFixture(t, cfg)
	key := rmw.Key{Name: "s"}
	f.warm(key)
	f.slow(time.Millisecond)
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range each {
				_, err := f.store.Update(t.Context(), key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
					return rmw.String(fmt.Sprint(len(cur.Text()), time.Now())), nil
				})
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	f.waitReleases()
	return float64(f.total()) / float64(goroutines*each)
}

// A contended key costs the server less for each update, not more.
func TestCostFallsWithContention(t *testing.T) {
	cost := map[int]float64{}
	for _, goroutines := range []int{1, 16, 64, 200} {
		synctest.Test(t, func(t *testing.T) { cost[goroutines] = loop(t, lockupdate.Config{}, goroutines, 10) })
	}
	assert.LessOrEqual(t, cost[16], 0.5)
	assert.LessOrEqual(t, cost[64], 0.2)
	assert.LessOrEqual(t, cost[200], cost[64])
	synctest.Test(t, func(t *testing.T) {
		assert.Greater(t, loop(t, lockupdate.Config{NoCombining: true}, 64, 5), 1., "control")
	})
}

// However many goroutines wait for another process' lock, whenever they came, it is
// asked for once.
func TestOnePollForAll(t *testing.T) {
	polls := func(t *testing.T, waiters int, apart time.Duration) int {
		f := newFixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		f.taken(key, 2*time.Second)
		var wg sync.WaitGroup
		for range waiters {
			wg.Go(func() {
				_, err := f.store.Update(t.Context(), key, appendText("x"))
				assert.NoError(t, err)
			})
			time.Sleep(apart)
		}
		wg.Wait()
		assert.Len(t, f.text(key), 3+waiters)
		return f.sent()["acquire"]
	}
	var one, many, inTurn int
	synctest.Test(t, func(t *testing.T) { one = polls(t, 1, 0) })
	synctest.Test(t, func(t *testing.T) { many = polls(t, 100, 0) })
	synctest.Test(t, func(t *testing.T) { inTurn = polls(t, 200, 5*time.Millisecond) })
	assert.InDelta(t, one, many, 25)
	assert.InDelta(t, one, inTurn, 25, "whoever joins the line need not ask again")
}

// goroutine returns the id of the caller's.
func goroutine() string {
	var buf [64]byte
	return string(bytes.Fields(buf[:runtime.Stack(buf[:], false)])[1])
}

type callerKey struct{}

// Each fn runs on its caller's goroutine, with what its caller's ctx holds.
func TestFnIsTheCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		f.slow(time.Millisecond)
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() {
				own := goroutine()
				ctx := context.WithValue(t.Context(), callerKey{}, own)
				for range 5 {
					_, err := f.store.Update(ctx, rmw.Key{Name: "s"}, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
						assert.Equal(t, own, goroutine())
						assert.Equal(t, own, ctx.Value(callerKey{}))
						return appendText("x")(ctx, cur)
					})
					assert.NoError(t, err)
				}
			})
		}
		wg.Wait()
		assert.Len(t, f.text(rmw.Key{Name: "s"}), 32*5)
	})
}

// However an fn ends, it ends its own update only: those before and after it are
// written, by the same commit.
func TestOneFailsAlone(t *testing.T) {
	for name, tc := range map[string]struct {
		fn    rmw.UpdateFunc
		check func(t *testing.T, f *fate)
	}{
		"error": {abort, func(t *testing.T, f *fate) { assert.Equal(t, errRoomFull, f.err) }},
		"panic": {func(context.Context, rmw.Value) (rmw.Value, error) { panic("a bug") }, func(t *testing.T, f *fate) {
			assert.Equal(t, "a bug", f.panicked)
			assert.False(t, f.returned)
		}},
		"Goexit": {func(context.Context, rmw.Value) (rmw.Value, error) {
			runtime.Goexit()
			return rmw.Value{}, nil
		}, func(t *testing.T, f *fate) {
			assert.Nil(t, f.panicked)
			assert.False(t, f.returned)
		}},
		"wrong kind": {setField("f", "v"), func(t *testing.T, f *fate) { assert.ErrorIs(t, f.err, rmw.ErrWrongKind) }},
		"bad TTL": {func(context.Context, rmw.Value) (rmw.Value, error) { return rmw.String("x").WithTTL(-7), nil }, func(t *testing.T, f *fate) {
			assert.ErrorIs(t, f.err, rmw.ErrInvalid)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, lockupdate.Config{})
				key := rmw.Key{Name: "s"}
				f.warm(key)
				fates := f.together(key, appendText("a"), tc.fn, appendText("b"), tc.fn, appendText("c"))
				tc.check(t, fates[1])
				tc.check(t, fates[3])
				for _, i := range []int{0, 2, 4} {
					require.NoError(t, fates[i].err)
				}
				assert.Equal(t, "wwwabc", fates[4].res.After.Text())
				f.waitReleases()
				assert.Equal(t, 1, f.sent()["commit_string"])
				assert.Equal(t, "wwwabc", f.text(key))
			})
		})
	}
}

// Nobody is answered before the commit is that holds what it saw: not one who failed
// on top of it, nor one who changed nothing.
func TestNobodyIsAnsweredBeforeTheCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		letGo := f.holdUp("commit_string")
		goOn, same := f.line(key, appendText("a"), abort, keep, appendText("b"))
		go goOn()
		synctest.Wait()
		next := []*fate{
			start(t.Context(), f.store, key, abort),
			start(t.Context(), f.store, key, keep),
			start(t.Context(), f.store, key, appendText("c")),
		}
		time.Sleep(time.Second)
		for i, fate := range append(same, next...) {
			assert.False(t, fate.over(), i)
		}
		letGo()
		for _, fate := range append(same, next...) {
			<-fate.done
		}
		assert.Equal(t, errRoomFull, same[1].err)
		assert.Equal(t, "wwwa", same[2].res.After.Text())
		assert.Equal(t, errRoomFull, next[0].err)
		assert.Equal(t, "wwwab", next[1].res.Before.Text())
		assert.False(t, next[1].res.Written)
		assert.Equal(t, "wwwabc", f.text(key))
		assert.Equal(t, 2, f.sent()["commit_string"], "the next group formed meanwhile")
	})
}

// A slow fn does not keep those before it waiting, and is written in its turn.
func TestASlowFnDelaysNobodyBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		goOn, fates := f.line(key, appendText("a"), appendText("b"), func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			time.Sleep(time.Second)
			return appendText("slow")(ctx, cur)
		}, appendText("c"))
		f.slow(time.Millisecond)
		began := time.Now()
		goOn()
		for _, fate := range fates {
			<-fate.done
			require.NoError(t, fate.err)
		}
		for _, before := range fates[:2] {
			assert.LessOrEqual(t, before.at.Sub(began), 2*time.Millisecond, "a millisecond, and the commit")
		}
		assert.LessOrEqual(t, fates[3].at.Sub(began), time.Second+3*time.Millisecond, "the commit, and the renewal in its flush, which the server does not know yet")
		assert.Equal(t, "wwwabslowc", f.text(key))
	})
}

// A group is bounded, and so is what its refusal costs.
func TestGroupsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		fns := make([]rmw.UpdateFunc, 600)
		for i := range fns {
			fns[i] = appendText("x")
		}
		for _, fate := range f.together(key, fns...) {
			require.NoError(t, fate.err)
		}
		f.waitReleases()
		assert.Equal(t, 3, f.sent()["commit_string"], "601 in groups of 256")
		assert.Equal(t, strings.Repeat("x", 600), strings.TrimPrefix(f.text(key), "www"))
	})
}
