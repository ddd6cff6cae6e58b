package shadow_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/internal/notcompared"
	"github.com/unwatch/unwatch/shadow/report"
)

// severalMutant is a path that updates one key as Memory does, and several keys as transact does.
type severalMutant struct {
	*rmwtest.Memory
	transact rmw.Middleware // over a Memory
}

func (m severalMutant) Transact(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (rmw.TxResult, error) {
	return rmw.Transact(ctx, m.transact(m.Memory), fn, keys...)
}

// severalFunc is a Transactor.
type severalFunc struct {
	rmw.Store
	transact func(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (rmw.TxResult, error)
}

func (f severalFunc) Transact(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (rmw.TxResult, error) {
	return f.transact(ctx, keys, fn)
}

func severally(transact func(m rmw.Store, ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (rmw.TxResult, error)) rmw.Store {
	return severalMutant{rmwtest.NewMemory(), func(next rmw.Store) rmw.Store {
		return severalFunc{next, func(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (rmw.TxResult, error) {
			return transact(next, ctx, keys, fn)
		}}
	}}
}

// putting is a path that changes the values that an update of several keys puts. i counts the keys that were put.
func putting(change func(i int, c rmw.Change) (v rmw.Value, put bool)) rmw.Store {
	return severally(func(m rmw.Store, ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (rmw.TxResult, error) {
		var asked []rmw.Change
		res, err := rmw.Transact(ctx, m, func(ctx context.Context, tx *rmw.Tx) error {
			if err := fn(ctx, tx); err != nil {
				return err
			}
			i := 0
			asked = tx.Changes()
			for _, c := range asked {
				if !c.Written {
					continue
				}
				if v, put := change(i, c); put {
					tx.Put(c.Key, v)
				} else {
					tx.Put(c.Key, c.Before)
				}
				i++
			}
			return nil
		}, keys...)
		for i := range res.Changes { // it tells what it was asked for
			res.Changes[i].After, res.Changes[i].Written = asked[i].After.WithTTL(0), asked[i].Written
		}
		return res, err
	})
}

// dropsZero is a path that drops a field of hashes.
func dropsZero() rmw.Store {
	return putting(func(_ int, c rmw.Change) (rmw.Value, bool) {
		if c.Key.Kind == rmw.KindHash {
			return c.After.Without("zero"), true
		}
		return c.After, true
	})
}

// rash reads several keys, waits, and writes over any update of a key that is not guarded.
func rash(guarded func(c rmw.Change) bool) rmw.Store {
	m := rmwtest.NewMemory()
	read := func(ctx context.Context, key rmw.Key) (rmw.Value, error) { return m.Read(ctx, key) }
	return severalMutant{m, func(rmw.Store) rmw.Store {
		return severalFunc{m, func(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (rmw.TxResult, error) {
			for {
				values := make([]rmw.Value, len(keys))
				for i, key := range keys {
					values[i], _ = m.Read(ctx, key)
				}
				run := rmw.NewTxRun(m, keys, values, read)
				if aborted, err := run.Do(ctx, fn, func() error { return nil }); aborted != nil || err != nil {
					return rmw.TxResult{Attempts: 1}, cmp.Or(aborted, err)
				}
				<-time.After(time.Millisecond)
				changed := errors.New("changed")
				_, err := rmw.Transact(ctx, m, func(_ context.Context, tx *rmw.Tx) error {
					for _, c := range run.Changes() {
						if guarded(c) && !tx.Get(c.Key).Equal(c.Before) {
							return changed
						}
						if c.Written {
							tx.Put(c.Key, c.After)
						}
					}
					return nil
				}, keys...)
				if errors.Is(err, changed) {
					continue
				}
				return rmw.TxResult{Changes: run.Changes(), Attempts: 1}, err
			}
		}}
	}}
}

// twoKeys returns an account and a log of it.
func twoKeys(i int) (account, log rmw.Key) {
	return rmw.Key{Name: "account:" + strconv.Itoa(i), Label: "account"},
		rmw.Key{Name: "log:" + strconv.Itoa(i), Label: "log", Kind: rmw.KindHash, TTL: time.Hour}
}

var errOverdrawn = errors.New("overdrawn")

// book counts an account down and writes its log.
func book(account, log rmw.Key) rmw.TxFunc {
	return func(ctx context.Context, tx *rmw.Tx) error {
		next, err := add(ctx, tx.Get(account))
		if err != nil || next.Text() == "7" {
			return cmp.Or(err, errOverdrawn)
		}
		tx.Put(account, next)
		tx.Put(log, tx.Get(log).With("last", next.Text()).With("zero", "0"))
		return nil
	}
}

// bookings has goroutines book, and read several keys.
func bookings(t *testing.T, s *shadow.Store, goroutines, each, accounts int) {
	t.Helper()
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				account, log := twoKeys((g + i) % accounts)
				_, err := rmw.Transact(rmw.WithOperation(t.Context(), "book"), s, book(account, log), account, log)
				if err != nil {
					assert.ErrorIs(t, err, errOverdrawn)
					set(t, s, account, rmw.String("8"))
				}
				_, err = rmw.ReadAll(t.Context(), s, account, log)
				assert.NoError(t, err)
				time.Sleep(time.Millisecond)
			}
		})
	}
	wg.Wait()
}

func operationOf(t *testing.T, r *report.Report, name string) report.Operation {
	t.Helper()
	for _, op := range r.Operations {
		if op.Domain+"/"+op.Name == name {
			return op
		}
	}
	t.Fatalf("no operation %s", name)
	return report.Operation{}
}

// Without a fault, both comparators compare each update of several keys, and all match: also refusals and reads, and while
// updates of one key run.
func TestTransactsMatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{})
		bookings(t, s, 8, 50, 5)
		time.Sleep(time.Minute)
		r := quiet(t, s)
		book := operationOf(t, r, "account/book")
		assert.EqualValues(t, 400, book.Tallies[report.Seeded].Compared)
		commits := book.Tallies[report.Free].Compared
		assert.Equal(t, map[string]int64{"ok": commits, "refused": 400 - commits}, book.Outcomes)
		assert.Positive(t, book.Outcomes["refused"])
		assert.Positive(t, book.Contended)
		assert.Positive(t, book.Candidate.Count())
		assert.Equal(t, commits, book.Audited, "each commit was found in both chains")
		reads := operationOf(t, r, "account/transact")
		assert.EqualValues(t, 400, reads.Tallies[report.Seeded].Classes[report.MatchNoop])
		assert.Zero(t, reads.Tallies[report.Free].Eligible)
	})
}

// Each fault of a path that updates one key without a fault is found.
func TestFaultsOfTransactsAreFound(t *testing.T) {
	all := func(c rmw.Change) rmw.Value { return c.After }
	for name, of := range map[string]struct {
		candidate rmw.Store
		found     string
	}{
		"stores only the first value": {putting(func(i int, c rmw.Change) (rmw.Value, bool) { return all(c), i == 0 }), "seeded lost_write "},
		"commits only the first value": {putting(func(i int, c rmw.Change) (rmw.Value, bool) {
			return all(c), i == 0 || c.After.Fields()["zero"] != ""
		}), "free lost_update "},
		"drops a field": {dropsZero(), "seeded value zero"},
		"changes an expiry": {putting(func(i int, c rmw.Change) (rmw.Value, bool) {
			return all(c).WithTTL(time.Duration(i) * time.Minute), true
		}), "seeded ttl "},
		"forgets refusals": {severally(func(m rmw.Store, ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (rmw.TxResult, error) {
			res, err := rmw.Transact(ctx, m, fn, keys...)
			if errors.Is(err, errOverdrawn) {
				err = nil
			}
			return res, err
		}), "seeded error_class "},
		"cannot": {severally(func(rmw.Store, context.Context, []rmw.Key, rmw.TxFunc) (rmw.TxResult, error) {
			return rmw.TxResult{}, &rmw.Error{Path: "mutant", Op: "transact", Reason: rmw.ErrUnsupported}
		}), "free error_class "},
		"lacks a change": {severally(func(m rmw.Store, ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (rmw.TxResult, error) {
			res, err := rmw.Transact(ctx, m, fn, keys...)
			if err == nil {
				res.Changes = res.Changes[:len(res.Changes)-1]
			}
			return res, err
		}), "seeded value "},
		"applies twice": {severally(func(m rmw.Store, ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (rmw.TxResult, error) {
			res, err := rmw.Transact(ctx, m, fn, keys...)
			if err == nil && res.Written() && len(keys) == 2 {
				_, err = rmw.Transact(ctx, m, fn, keys...)
			}
			return res, err
		}), "free double_apply "},
		"is not guarded":      {rash(func(rmw.Change) bool { return false }), "free lost_update "},
		"guards only strings": {rash(func(c rmw.Change) bool { return c.Key.Kind == rmw.KindString }), "free lost_update "},
		"deletes unguarded":   {rash(func(c rmw.Change) bool { return c.After.Exists() }), "free lost_update "},
	} {
		run(t, name, func(t *testing.T) {
			s := open(t, rmwtest.NewMemory(), of.candidate, shadow.Config{})
			bookings(t, s, 8, 50, 5)
			time.Sleep(time.Minute)
			r := drained(t, s)
			assert.Contains(t, named(r), of.found)
			assert.Equal(t, report.NotReady, r.Judge(report.Policy{}).State)
		})
	}
}

// Without contention, the forced conflicts find a path that is not guarded.
func TestForcedConflictsOfTransacts(t *testing.T) {
	for name, guarded := range map[string]func(rmw.Change) bool{
		"not guarded":          func(rmw.Change) bool { return false },
		"last key not guarded": func(c rmw.Change) bool { return c.Key.Kind == rmw.KindString },
	} {
		run(t, name, func(t *testing.T) {
			s := open(t, rmwtest.NewMemory(), rash(guarded), shadow.Config{Workers: 4})
			for i := range 100 {
				account, log := twoKeys(i)
				_, err := rmw.Transact(t.Context(), s, book(account, log), account, log)
				require.NoError(t, err)
			}
			r := drained(t, s)
			assert.Contains(t, named(r), "free lost_update ")
			assert.Positive(t, r.Operations[0].Audited)
		})
	}
}

// The chains find a commit that is missing in one of them, also if the call was no forced conflict.
func TestMissingPartsAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, rmwtest.NewMemory(), putting(func(i int, c rmw.Change) (rmw.Value, bool) { return c.After, i == 0 }), shadow.Config{
			Skip: []report.Comparator{report.Seeded}, RedactKey: func(key rmw.Key) string { return key.Name },
		})
		for range 40 {
			account, log := twoKeys(1)
			_, err := rmw.Transact(t.Context(), s, book(account, log), account, log)
			if errors.Is(err, errOverdrawn) {
				set(t, s, account, rmw.String("8"))
				continue
			}
			require.NoError(t, err)
		}
		r := drained(t, s)
		assert.EqualValues(t, compared(r, report.Free)-1, named(r)["free lost_update "], "the update of one key is stored")
		require.Len(t, r.Keys, 1)
		assert.Equal(t, "log:1", r.Keys[0].Key)
	})
}

// Two keys of a call may have one scratch key of the free run.
func TestKeysWithOneScratchKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{})
		for range 20 {
			_, err := rmw.Transact(t.Context(), s, func(_ context.Context, tx *rmw.Tx) error {
				tx.Put(rmw.Key{Name: "a"}, rmw.String(tx.Get(rmw.Key{Name: "a"}).Text()+"x"))
				tx.Put(rmw.Key{Name: "{a}"}, rmw.String(tx.Get(rmw.Key{Name: "{a}"}).Text()+"yy"))
				return nil
			}, rmw.Key{Name: "a"})
			require.NoError(t, err)
		}
		assert.EqualValues(t, 20, compared(quiet(t, s), report.Free))
	})
}

// A guard that works has no finding, although the path reads and writes in two steps.
func TestAGuardedTransactMatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, rmwtest.NewMemory(), rash(func(rmw.Change) bool { return true }), shadow.Config{})
		bookings(t, s, 4, 20, 5)
		time.Sleep(time.Minute)
		quiet(t, s)
	})
}

// A report names each key that differs, and no other. The rules of its label hold for it.
func TestKeysOfATransactAreReported(t *testing.T) {
	for name, of := range map[string]struct {
		domains map[string]shadow.Domain
		keys    []string
	}{
		"all that differ": {nil, []string{"log:1", "log:2"}},
		"by their label":  {map[string]shadow.Domain{"log": {Ignore: []string{"zero"}}}, nil},
		"not by another":  {map[string]shadow.Domain{"account": {Ignore: []string{"zero"}}}, []string{"log:1", "log:2"}},
	} {
		run(t, name, func(t *testing.T) {
			s := open(t, rmwtest.NewMemory(), dropsZero(), shadow.Config{
				Domains: of.domains, RedactKey: func(key rmw.Key) string { return key.Name }, Skip: []report.Comparator{report.Free},
			})
			account, log := twoKeys(1)
			_, other := twoKeys(2)
			_, err := rmw.Transact(t.Context(), s, func(ctx context.Context, tx *rmw.Tx) error {
				tx.Put(other, rmw.Hash(map[string]string{"zero": "0", "last": "1"}))
				return book(account, log)(ctx, tx)
			}, account, log)
			require.NoError(t, err)
			r := drained(t, s)
			var keys []string
			for _, dirty := range r.Keys {
				assert.Equal(t, "account", dirty.Domain)
				keys = append(keys, dirty.Key)
			}
			assert.ElementsMatch(t, of.keys, keys)
			samples := slices.DeleteFunc(r.Samples, func(s report.Sample) bool { return !s.Class.Blocks() })
			assert.Len(t, samples, len(of.keys))
			assert.EqualValues(t, 1, operationOf(t, r, "account/transact").Tallies[report.Seeded].Compared)
		})
	}
}

// The replay names the keys that the caller named, and mentions the others.
func TestReplayMentionsKeysAsFnDid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var named atomic.Int64
		counting := severally(func(m rmw.Store, ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (rmw.TxResult, error) {
			named.Store(int64(len(keys)))
			return rmw.Transact(ctx, m, fn, keys...)
		})
		s := open(t, rmwtest.NewMemory(), counting, shadow.Config{Skip: []report.Comparator{report.Free}})
		account, log := twoKeys(1)
		for n, keys := range map[int64][]rmw.Key{1: {account, account}, 2: {log, account}} {
			_, err := rmw.Transact(t.Context(), s, book(account, log), keys...)
			require.NoError(t, err)
			quiet(t, s)
			assert.Equal(t, n, named.Load())
		}
	})
}

// A pure operation over several keys runs again with the same Env. It is reported if it returns something else.
func TestPureTransacts(t *testing.T) {
	var elsewhere atomic.Int64
	account, log := twoKeys(1)
	for name, of := range map[string]struct {
		text  func(ctx context.Context) string
		found bool
	}{
		"no fault":    {func(ctx context.Context) string { return shadow.EnvOf(ctx).NewID() }, false},
		"clock":       {func(context.Context) string { return strconv.FormatInt(time.Now().UnixNano(), 10) }, true},
		"another key": {func(context.Context) string { return fmt.Sprint("e", elsewhere.Add(1)) }, true},
	} {
		run(t, name, func(t *testing.T) {
			s := open(t, rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{Pure: []string{"account/transact"}})
			runs := 0
			for range 5 {
				_, err := rmw.Transact(t.Context(), s, func(ctx context.Context, tx *rmw.Tx) error {
					runs++
					text := of.text(ctx)
					tx.Put(account, rmw.String(text))
					tx.Put(log, rmw.Hash(map[string]string{"at": text}))
					if name == "another key" {
						tx.Get(rmw.Key{Name: text})
					}
					time.Sleep(time.Microsecond)
					return nil
				}, account)
				require.NoError(t, err)
				require.NoError(t, s.Drain(t.Context()))
			}
			var found int64
			for what, n := range named(drained(t, s)) {
				assert.Contains(t, what, "seeded nondeterministic")
				found += n
			}
			assert.Equal(t, of.found, found >= 5, "%d", found)
			if !of.found {
				assert.Equal(t, 10, runs, "once to serve, once to compare")
			}
		})
	}
}

// A shadow over a serving path that cannot update several keys says so. Calls that it does not sample pass as they are.
func TestTransactWithoutComparison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		account, log := twoKeys(1)
		s := open(t, instant{}, rmwtest.NewMemory(), shadow.Config{})
		_, err := rmw.Transact(t.Context(), s, book(account, log), account, log)
		require.ErrorIs(t, err, rmw.ErrUnsupported)
		assert.Equal(t, int64(1), passed(drained(t, s), report.Seeded)[notcompared.PrimaryFailed])

		legacy := rmwtest.NewMemory()
		s = open(t, legacy, rmwtest.NewMemory(), shadow.Config{Off: true})
		_, err = rmw.Transact(t.Context(), s, book(account, log), account, log)
		require.NoError(t, err)
		v, _, err := legacy.Get(t.Context(), account.Name)
		require.NoError(t, err)
		assert.Equal(t, "1", v.Text())
		assert.Empty(t, reported(t, s).Operations)
	})
}

// instant is a path that updates one key only.
type instant struct{ rmw.Store }
