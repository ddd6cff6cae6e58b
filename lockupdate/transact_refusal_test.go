package lockupdate_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// slowly has the calls with the label of from run fn on values that are not sealed.
func (f *fixture) slowly() {
	f.t.Helper()
	f.transact(func(_ context.Context, tx *rmw.Tx) error {
		tx.Get(from)
		time.Sleep(300 * time.Millisecond)
		return nil
	}, from)
	f.settle()
}

// A refusal that comes of values of two moments does not reach the caller, nor does an error of fn, and nothing is written.
func TestTornRefusalIsChecked(t *testing.T) {
	for name, refused := range map[string]func(tx *rmw.Tx) error{
		"a late key of another kind": func(tx *rmw.Tx) error { tx.Get(rmw.Key{Name: "a hash"}); return nil },
		"a Put of another kind":      func(tx *rmw.Tx) error { tx.Put(from, rmw.Hash(map[string]string{"f": "1"})); return nil },
		"a late key with a bad TTL":  func(tx *rmw.Tx) error { tx.Get(rmw.Key{Name: "x", TTL: -5}); return nil },
		"a newer seal":               func(tx *rmw.Tx) error { tx.Get(rmw.Key{Name: "newer"}); return nil },
		"an error of fn":             func(tx *rmw.Tx) error { tx.Put(from, rmw.String("torn")); return errors.New("torn") },
	} {
		for _, slow := range []bool{false, true} {
			how := name + ", quick"
			if slow {
				how = name + ", slow"
			}
			bubbleWith(t, how, lockupdate.Config{}, func(t *testing.T, f *fixture) {
				require.NoError(t, f.rdb.HSet(t.Context(), "a hash", "f", "1").Err())
				require.NoError(t, f.rdb.RPush(t.Context(), "newer", seal.Magic, "tx9", "n", "~tx:{1}", "string", "-1", "0", "5").Err())
				if slow {
					f.slowly()
				}
				res, err := f.store.Transact(t.Context(), []rmw.Key{from}, func(_ context.Context, tx *rmw.Tx) error {
					a := tx.Get(from)
					if !a.Exists() { // another process takes this one for dead, and writes both keys
						f.meddle(!slow)
					}
					if b := tx.Get(to); !b.Equal(a) {
						return refused(tx)
					}
					tx.Put(from, rmw.String("done"))
					return nil
				})
				require.NoError(t, err)
				assert.Equal(t, 2, res.Attempts)
				assert.Equal(t, "done", f.text(from))
			})
			bubbleWith(t, how+", not torn", lockupdate.Config{}, func(t *testing.T, f *fixture) {
				require.NoError(t, f.rdb.HSet(t.Context(), "a hash", "f", "1").Err())
				require.NoError(t, f.rdb.RPush(t.Context(), "newer", seal.Magic, "tx9", "n", "~tx:{1}", "string", "-1", "0", "5").Err())
				if slow {
					f.slowly()
				}
				res, err := f.store.Transact(t.Context(), []rmw.Key{from, to}, func(_ context.Context, tx *rmw.Tx) error {
					tx.Put(to, rmw.String("x"))
					return refused(tx)
				})
				require.Error(t, err)
				assert.Equal(t, 1, res.Attempts)
				synctest.Wait()
				assert.Equal(t, int64(0), f.rdb.Exists(t.Context(), from.Name, to.Name).Val(), "nothing is written")
			})
		}
	}
}

// meddle writes both keys; a process that has sealed the first is aborted.
func (f *fixture) meddle(sealed bool) {
	ctx := f.t.Context()
	rdb := f.direct()
	if sealed {
		m, err := rdb.LRange(ctx, from.Name, 0, 3).Result()
		require.NoError(f.t, err)
		require.Len(f.t, m, 4)
		require.NoError(f.t, rdb.HSetNX(ctx, m[3], seal.IDOf(m[2]), seal.Aborted).Err())
		require.NoError(f.t, rdb.Del(ctx, from.Name).Err())
	}
	require.NoError(f.t, rdb.Set(ctx, from.Name, "1", 0).Err())
	require.NoError(f.t, rdb.Set(ctx, to.Name, "1", 0).Err())
}

// While fn waits in a Get, Close waits for the client, and not for fn: it gives up after its limit, and the Get ends. It leaves no
// goroutine behind, once the client has returned.
func TestCloseGivesUpOnALateGet(t *testing.T) {
	for _, slow := range []bool{false, true} {
		bubbleWith(t, map[bool]string{false: "quick", true: "slow"}[slow], lockupdate.Config{}, func(t *testing.T, f *fixture) {
			opts := f.proxy.Options()
			opts.ReadTimeout, opts.ContextTimeoutEnabled = -1, false
			rdb := redis.NewClient(opts)
			s := lockupdate.New(rdb, lockupdate.Config{MaxOutage: time.Hour})
			if slow {
				_, err := s.Transact(t.Context(), []rmw.Key{from}, func(context.Context, *rmw.Tx) error {
					time.Sleep(300 * time.Millisecond)
					return nil
				})
				require.NoError(t, err)
			}
			late := func(args []string) bool {
				return len(args) > 3 && args[3] == to.Name || len(args) > 1 && args[1] == to.Name
			}
			f.proxy.Inject(proxytest.Fault{Match: late, Times: -1, Action: proxytest.HangRequest})
			done := make(chan error, 1)
			go func() {
				_, err := s.Transact(t.Context(), []rmw.Key{from}, transfer)
				done <- err
			}()
			time.Sleep(100 * time.Millisecond)
			began := time.Now()
			require.ErrorContains(t, s.Close(), "Close waited")
			assert.Less(t, time.Since(began), 2*redisx.CloseLimit)
			synctest.Wait()
			select {
			case err := <-done:
				require.ErrorIs(t, err, rmw.ErrClosed)
			default:
				t.Error("the Transact waits after Close has given up")
			}
			require.NoError(t, rdb.Close())
		})
	}
}

// A key that cannot be opened leaves no goroutine behind after Close has given up, not even one that sleeps. If the server refuses
// to open it at all, Close does not wait.
func TestCloseWithAKeyThatStaysSealed(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"ERR a reason that passes": redisx.CloseLimit,
		"NOPERM this user has no permissions to run the 'evalsha' command": 0,
	} {
		bubbleWith(t, text, lockupdate.Config{}, func(t *testing.T, f *fixture) {
			f.transact(transfer, from, to)
			f.settle()
			rdb := redis.NewClient(f.proxy.Options())
			s := lockupdate.New(rdb, lockupdate.Config{})
			remove := f.refuse("open", -1, text)
			_, err := s.Transact(t.Context(), []rmw.Key{from, to}, transfer)
			require.NoError(t, err)
			began := time.Now()
			err = s.Close()
			assert.InDelta(t, want, time.Since(began), float64(time.Second))
			assert.Equal(t, want > 0, err != nil, "%v", err)
			remove()
			require.NoError(t, rdb.Close())
		})
	}
}

// Keys, decisions and values that an update cannot use are a clear error, whether they are named or got late; nothing is written, and
// nothing stays sealed.
func TestTransactRefusesWhatIsStored(t *testing.T) {
	decisions := seal.DecisionKey(from.Name)
	for name, tc := range map[string]struct {
		prepare func(ctx context.Context, rdb *redis.Client) error
		want    error
		text    string
	}{
		"decisions of another type": {
			func(ctx context.Context, rdb *redis.Client) error { return rdb.Set(ctx, decisions, "x", 0).Err() },
			rmw.ErrWrongKind, "another program uses that name",
		},
		"another kind": {
			func(ctx context.Context, rdb *redis.Client) error { return rdb.HSet(ctx, to.Name, "f", "v").Err() },
			rmw.ErrWrongKind, "the key holds a hash",
		},
		"a newer mark": {
			func(ctx context.Context, rdb *redis.Client) error {
				return rdb.RPush(ctx, to.Name, seal.Magic, "tx9", "n", decisions, "string", "-1", "0", "5").Err()
			}, rmw.ErrUnsupported, "deploy the newer build here as well",
		},
		"a newer decision": {
			func(ctx context.Context, rdb *redis.Client) error {
				return errors.Join(
					rdb.RPush(ctx, to.Name, seal.Magic, "tx", "dead:1", decisions, "string", "-1", "0", "5").Err(),
					rdb.HSet(ctx, decisions, "dead:1", "committed 9\n").Err(),
				)
			}, rmw.ErrUnsupported, "deploy the newer build here as well",
		},
	} {
		for how, keys := range map[string][]rmw.Key{"named": {from, to}, "late": {from}} {
			bubbleWith(t, name+", "+how, lockupdate.Config{}, func(t *testing.T, f *fixture) {
				require.NoError(t, f.rdb.Set(t.Context(), from.Name, "5", time.Hour).Err())
				require.NoError(t, tc.prepare(t.Context(), f.rdb))
				before := f.rdb.Dump(t.Context(), to.Name).Val()
				_, err := f.store.Transact(t.Context(), keys, transfer)
				require.ErrorIs(t, err, tc.want)
				require.ErrorContains(t, err, tc.text)
				synctest.Wait()
				assert.Equal(t, "5", f.rdb.Get(t.Context(), from.Name).Val())
				assert.Equal(t, before, f.rdb.Dump(t.Context(), to.Name).Val())
			})
		}
	}
}
