package lockupdate_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

var (
	from = rmw.Key{Name: "account:{1}", Label: "account"}
	to   = rmw.Key{Name: "account:{2}", Label: "account"}
)

func balance(v rmw.Value) int {
	n, _ := strconv.Atoi(v.Text())
	return n
}

// transfer moves one from the first account to the second.
func transfer(_ context.Context, tx *rmw.Tx) error {
	a, b := balance(tx.Get(from)), balance(tx.Get(to))
	tx.Put(from, rmw.String(strconv.Itoa(a-1)))
	tx.Put(to, rmw.String(strconv.Itoa(b+1)))
	return nil
}

func (f *fixture) transact(fn rmw.TxFunc, keys ...rmw.Key) rmw.TxResult {
	f.t.Helper()
	res, err := f.store.Transact(f.t.Context(), keys, fn)
	require.NoError(f.t, err)
	return res
}

// An update of n keys has two round trips before the answer, and 2n+2 commands in all.
func TestTransactBudget(t *testing.T) {
	slow := func(ctx context.Context, tx *rmw.Tx) error {
		time.Sleep(300 * time.Millisecond)
		return transfer(ctx, tx)
	}
	for name, tc := range map[string]struct {
		fn            rmw.TxFunc
		before, after int64 // round trips before and after the answer
		commands      []string
		calls         int // on the servers: commands, and calls of scripts; two less if they are not those of a cluster
	}{
		"two keys": {fn: transfer, before: 2, after: 2, commands: []string{"take", "take", "HSETNX", "open", "open", "HDEL"}, calls: 20},
		"nothing written": {
			fn: func(_ context.Context, tx *rmw.Tx) error { tx.Get(from); return nil }, before: 2, after: 2,
			commands: []string{"take", "take", "HSETNX", "open", "open", "HDEL"}, calls: 20,
		},
		"slow": {
			fn: slow, before: 4, after: 2,
			commands: []string{"read", "read", "take", "take", "HSETNX", "open", "open", "HDEL"}, calls: 24,
		},
	} {
		bubbleWith(t, name, lockupdate.Config{}, func(t *testing.T, f *fixture) {
			for _, key := range []rmw.Key{from, to} {
				f.update(key, appendText("5"))
			}
			f.transact(tc.fn, from, to)
			f.settle()
			start, executed := f.meter.Read(), f.executed()
			f.transact(tc.fn, from, to)
			answered := f.meter.Read()
			synctest.Wait()
			assert.Equal(t, tc.calls, f.executed()-executed, "calls on the servers")
			assert.EqualValues(t, tc.before+tc.after, f.meter.Read().Sub(start).RoundTrips, "round trips")
			assert.LessOrEqual(t, answered.Sub(start).RoundTrips, tc.before+1)
			assert.ElementsMatch(t, tc.commands, f.calls())
		})
	}
}

// leave seals keys as a process that has died: with the given decision, or without one.
func (f *fixture) leave(record func(nonce string) string, keys ...rmw.Key) {
	f.t.Helper()
	ctx, id := f.t.Context(), "unwatch:dead:1"
	decision := seal.DecisionKey(min(keys[0].Name, keys[len(keys)-1].Name))
	for _, key := range keys {
		reply, err := f.rdb.Eval(ctx, seal.Take.Source, []string{key.Name}, seal.TakeArgs(key, id, decision, seal.CheckAll)...).Slice()
		require.NoError(f.t, err)
		require.Contains(f.t, []any{int64(1), int64(6)}, reply[0])
	}
	if record != nil {
		require.NoError(f.t, f.rdb.HSetNX(ctx, decision, id, record(id)).Err())
	}
}

// Whoever meets the seal of a process that has died ends its update. A Read does not wait, and writes nothing.
func TestTransactMeets(t *testing.T) {
	stored := func(nonce string) string {
		return seal.Committed([]seal.Next{
			{Key: from.Name, Nonce: nonce, Value: rmw.String("4")}, {Key: to.Name, Nonce: nonce, Value: rmw.String("6")},
		})
	}
	aborted := func(string) string { return seal.Aborted }
	for name, tc := range map[string]struct {
		record func(nonce string) string
		want   [2]string
		wait   time.Duration
	}{
		"no decision": {nil, [2]string{"5", "5"}, seal.Patience},
		"stored":      {stored, [2]string{"4", "6"}, 0},
		"aborted":     {aborted, [2]string{"5", "5"}, 0},
	} {
		for how, meet := range map[string]func(f *fixture){
			"update": func(f *fixture) {
				f.update(from, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
					assert.Equal(f.t, tc.want[0], cur.Text())
					return rmw.String(cur.Text() + "x"), nil
				})
			},
			"transact": func(f *fixture) {
				f.transact(func(_ context.Context, tx *rmw.Tx) error {
					assert.Equal(f.t, tc.want, [2]string{tx.Get(from).Text(), tx.Get(to).Text()})
					return nil
				}, from, to)
			},
			"peek": func(f *fixture) {
				v, _ := f.peek(from)
				assert.Equal(f.t, tc.want[0], v.Text())
			},
			"read": func(f *fixture) {
				before := f.rdb.Type(f.t.Context(), from.Name).Val()
				assert.Equal(f.t, tc.want, [2]string{f.text(from), f.text(to)})
				assert.Equal(f.t, before, f.rdb.Type(f.t.Context(), from.Name).Val(), "a Read writes nothing")
			},
		} {
			for with, cfg := range map[string]lockupdate.Config{
				"": {}, ", on demand": {LockOnDemand: true}, ", master reads": {MasterReads: true},
			} {
				bubbleWith(t, name+", "+how+with, cfg, func(t *testing.T, f *fixture) {
					for _, key := range []rmw.Key{from, to} {
						f.update(key, appendText("5"))
					}
					f.waitReleases()
					f.leave(tc.record, from, to)
					began := time.Now()
					meet(f)
					wait := tc.wait
					if how == "read" {
						wait = 0
					}
					assert.InDelta(t, wait, time.Since(began), float64(100*time.Millisecond))
				})
			}
		}
	}
}

// What cannot be ended is a clear error, and nothing is written.
func TestTransactMeetsWhatItDoesNotKnow(t *testing.T) {
	push := func(f *fixture, words ...any) {
		require.NoError(f.t, f.rdb.RPush(f.t.Context(), from.Name, words...).Err())
	}
	for name, tc := range map[string]struct {
		make func(f *fixture)
		want error
		text string
	}{
		"a newer seal": {
			func(f *fixture) { push(f, "~unwatch:9f2c4e7b", "tx9", "n", "~tx:{1}", "string", "-1", "0", "5") },
			rmw.ErrUnsupported, "deploy the newer build here as well",
		},
		"a marker of a move": {
			func(f *fixture) { push(f, "~unwatch:9f2c4e7b", "away", "1.a", "", "string", "-1", "0") },
			rmw.ErrWrongKind, "by package cutover",
		},
		"a damaged seal": {func(f *fixture) { push(f, "~unwatch:9f2c4e7b", "tx") }, rmw.ErrWrongKind, "another program has changed it"},
		"a list":         {func(f *fixture) { push(f, "a", "b") }, rmw.ErrWrongKind, "holds a list"},
		"a newer decision": {
			func(f *fixture) { f.leave(func(string) string { return "committed 9\n" }, from) },
			rmw.ErrUnsupported, "deploy the newer build here as well",
		},
		"a damaged decision": {
			func(f *fixture) { f.leave(func(string) string { return "committed 1\nxxxx" }, from) }, rmw.ErrUnsupported, "damaged",
		},
		"decisions of another type": {
			func(f *fixture) {
				f.leave(nil, from)
				require.NoError(f.t, f.rdb.Set(f.t.Context(), seal.DecisionKey(from.Name), "x", 0).Err())
			}, rmw.ErrWrongKind, "another program uses that name",
		},
	} {
		bubbleWith(t, name, lockupdate.Config{}, func(t *testing.T, f *fixture) {
			tc.make(f)
			before := f.rdb.LRange(t.Context(), from.Name, 0, -1).Val()
			for op, err := range map[string]error{
				"transact": second(f.store.Transact(t.Context(), []rmw.Key{from, to}, transfer)),
				"update":   second(f.store.Update(t.Context(), from, appendText("x"))),
				"read":     second(f.store.Read(t.Context(), from)),
			} {
				require.ErrorIs(t, err, tc.want, op)
				require.ErrorContains(t, err, tc.text, op)
			}
			assert.Equal(t, before, f.rdb.LRange(t.Context(), from.Name, 0, -1).Val())
			assert.Zero(t, f.rdb.Exists(t.Context(), to.Name).Val())
		})
	}
}

func second[T any](_ T, err error) error { return err }

// mortal stops after some commands: it sends none of the later ones.
type mortal struct {
	mu   sync.Mutex
	left int
}

var errDead = errors.New("this process has died")

func (m *mortal) DialHook(next redis.DialHook) redis.DialHook { return next }

func (m *mortal) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if m.take(1) == 0 {
			cmd.SetErr(errDead)
			return errDead
		}
		return next(ctx, cmd)
	}
}

func (m *mortal) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) (err error) {
		n := m.take(len(cmds))
		if n > 0 {
			err = next(ctx, cmds[:n])
		}
		for _, cmd := range cmds[n:] {
			cmd.SetErr(errDead)
			err = errDead
		}
		return err
	}
}

func (m *mortal) take(want int) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n = min(want, m.left)
	m.left -= n
	return n
}

// A process stops after each of its commands. The next one that meets its keys ends its update: both values, or none, and
// nothing stays sealed. A sweep does it for keys that nobody meets, once the update is decided, and leaves no decision behind.
func TestTransactOfAProcessThatStops(t *testing.T) {
	found := false
	defer func() { assert.True(t, found, "no sweep has opened a key") }()
	for _, sweeps := range []bool{false, true} {
		for n := 0; ; n++ {
			over := false
			bubbleWith(t, fmt.Sprintf("after %d, sweep %v", n, sweeps), lockupdate.Config{}, func(t *testing.T, f *fixture) {
				for _, key := range []rmw.Key{from, to} {
					f.update(key, appendText("5"))
				}
				m := &mortal{left: n}
				rdb := redis.NewClient(f.proxy.Options())
				rdb.AddHook(m)
				dead := lockupdate.New(rdb, lockupdate.Config{NoBreaker: true, MaxOutage: -1})
				_, errDead := rmw.Transact(t.Context(), dead, transfer, from, to)
				time.Sleep(time.Minute)
				if over = m.take(1) == 1; over {
					require.NoError(t, errDead)
				}
				_ = dead.Close()
				require.NoError(t, rdb.Close())
				if sweeps {
					time.Sleep(10 * time.Minute)
					// A process that dies in its first flush may not have told its keys yet; then it has decided nothing.
					decided := f.rdb.Exists(t.Context(), seal.DecisionKey(from.Name)).Val() > 0
					swept, err := f.store.Sweep(t.Context())
					require.NoError(t, err)
					found = found || swept.Opened > 0
					if decided {
						assert.Equal(t, 1, swept.Stores, "%+v %v", swept, f.calls())
						kinds := f.rdb.Type(t.Context(), from.Name).Val() + f.rdb.Type(t.Context(), to.Name).Val()
						assert.Equal(t, "stringstring", kinds)
						time.Sleep(25 * time.Hour)
						_, err = f.store.Sweep(t.Context())
						require.NoError(t, err)
						assert.Empty(t, f.rdb.Keys(t.Context(), "~tx:*").Val(), "a day later")
					}
				}
				values, err := rmw.ReadAll(t.Context(), f.store, from, to)
				require.NoError(t, err)
				a, b := balance(values[0]), balance(values[1])
				assert.Equal(t, 10, a+b)
				if errDead == nil {
					assert.Equal(t, 4, a, "an acknowledged update is lost")
				} else if !errors.Is(errDead, rmw.ErrOutcomeUnknown) {
					assert.Equal(t, 5, a, "%v", errDead)
				}
				synctest.Wait()
				assert.Equal(t, strconv.Itoa(a), f.rdb.Get(t.Context(), from.Name).Val(), "it is open")
			})
			if over || t.Failed() {
				break
			}
			require.Less(t, n, 40)
		}
	}
}

// A sweep finds nothing of processes that live, and a Store without updates of several keys sends nothing by itself.
func TestSweepIsCheap(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		f.update(from, appendText("5"))
		f.settle()
		time.Sleep(time.Hour)
		assert.Empty(t, f.calls())
		f.transact(transfer, from, to)
		f.settle()
		time.Sleep(10*time.Minute - time.Second)
		assert.LessOrEqual(t, len(f.calls()), 40, "in ten minutes: %v", f.calls())
		swept, err := f.store.Sweep(t.Context())
		require.NoError(t, err)
		assert.Zero(t, swept)
	})
}

// Callers that wait for the same keys are served together.
func TestTransactCombines(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		f.transact(transfer, from, to)
		f.settle()
		const callers = 64
		unblock := f.block("take")
		var all sync.WaitGroup
		for range callers {
			all.Go(func() { f.transact(transfer, from, to) })
		}
		synctest.Wait()
		unblock()
		all.Wait()
		synctest.Wait()
		assert.LessOrEqual(t, len(f.calls()), 20)
		assert.Equal(t, strconv.Itoa(callers+1), f.text(to))
		assert.EqualValues(t, callers-2, f.store.Stats().Combined, "all but the first, and the decision that the others share")
	})
}

// A fn that hangs does not hold up the callers that were combined with it.
func TestSlowFnHoldsUpNobody(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		hung := make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() {
			f.transact(func(ctx context.Context, tx *rmw.Tx) error {
				<-hung
				return transfer(ctx, tx)
			}, from, to)
		})
		time.Sleep(time.Millisecond)
		began := time.Now()
		f.transact(transfer, from, to)
		assert.Less(t, time.Since(began), time.Second)
		close(hung)
		all.Wait()
		assert.Equal(t, "2", f.text(to))
	})
}

// A key without scripts, names of decisions, and updates within the Update of a key are refused.
func TestTransactRefuses(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		_, err := f.store.Transact(t.Context(), []rmw.Key{{Name: "~tx:{1}"}}, transfer)
		require.ErrorIs(t, err, rmw.ErrInvalid)
		f.update(from, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			_, err := f.store.Transact(ctx, []rmw.Key{from, to}, transfer)
			require.ErrorIs(t, err, rmw.ErrInvalid)
			return cur, nil
		})
		require.NoError(t, f.rdb.Set(t.Context(), to.Name, strings.Repeat("x", seal.MaxBytes+1), 0).Err())
		_, err = f.store.Transact(t.Context(), []rmw.Key{from, to}, transfer)
		require.ErrorIs(t, err, rmw.ErrInvalid)
		require.ErrorContains(t, err, "can be updated together with others")
		assert.Equal(t, "none", f.rdb.Type(t.Context(), from.Name).Val())
	})
	profile := proxycompat.Codis32()
	bubble(t, "without scripts", func(t *testing.T) {
		f := newFixtureOn(t, profile, lockupdate.Config{Commit: lockupdate.CommitDELIFEQ})
		_, err := f.store.Transact(t.Context(), []rmw.Key{from, to}, transfer)
		require.ErrorIs(t, err, rmw.ErrUnsupported)
		require.ErrorContains(t, err, "use CommitGuarded")
	})
	withFixture(t, lockupdate.Config{SoleWriter: true}, func(t *testing.T, f *fixture) {
		_, err := f.store.Transact(t.Context(), []rmw.Key{from, to}, transfer)
		require.ErrorIs(t, err, rmw.ErrUnsupported)
		require.ErrorContains(t, err, "SoleWriter")
	})
}
