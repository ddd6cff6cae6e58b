package integration

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// A lock is a hash of one owner and a count, like Redisson's RLock, so that a service in another language
// can share locks with lockupdate. Here that service runs the scripts of RLock.

// rlockAcquire is RLock's tryLock. KEYS: the lock. ARGV: the lease in milliseconds, the owner. It returns
// nil on success, else the PTTL of the other owner's lock.
const rlockAcquire = `
if ((redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1)) then
  redis.call('hincrby', KEYS[1], ARGV[2], 1);
  redis.call('pexpire', KEYS[1], ARGV[1]);
  return nil;
end;
return redis.call('pttl', KEYS[1]);`

// rlockUnlock is RLock's unlock. KEYS: the lock, its channel. ARGV: the message, the lease, the owner. It
// returns nil if another owner has the lock, 1 if it is free now, and 0 if the owner still holds it.
const rlockUnlock = `
if (redis.call('hexists', KEYS[1], ARGV[3]) == 0) then
  return nil;
end;
local counter = redis.call('hincrby', KEYS[1], ARGV[3], -1);
if (counter > 0) then
  redis.call('pexpire', KEYS[1], ARGV[2]);
  return 0;
else
  redis.call('del', KEYS[1]);
  redis.call('publish', KEYS[2], ARGV[1]);
  return 1;
end;
return nil;`

// An RLock's owner is a client's UUID (version 4) and a thread.
const foreigner = "9d1b6a53-20c7-4b0e-8f5d-2f3f0c1e7a64:42"

// foreign is a service in another language.
type foreign struct {
	t    *testing.T
	rdb  *redis.Client
	lock string
}

// eval returns the reply to a script; nil for none.
func (f *foreign) eval(script string, keys []string, args ...any) any {
	f.t.Helper()
	reply, err := f.rdb.Eval(f.t.Context(), script, keys, args...).Result()
	if !errors.Is(err, redis.Nil) {
		require.NoError(f.t, err)
	}
	return reply
}

func (f *foreign) acquire() any {
	return f.eval(rlockAcquire, []string{f.lock}, time.Hour.Milliseconds(), foreigner)
}

func (f *foreign) unlock() any {
	return f.eval(rlockUnlock, []string{f.lock, rlockChannel(f.lock)}, 0, 30_000, foreigner)
}

// polled waits until a Store has polled the lock five more times.
func (f *foreign) polled() {
	f.t.Helper()
	calls := func() (n int) {
		stats, err := f.rdb.Info(f.t.Context(), "commandstats").Result()
		require.NoError(f.t, err)
		if m := regexp.MustCompile(`cmdstat_evalsha:calls=(\d+)`).FindStringSubmatch(stats); m != nil {
			n, err = strconv.Atoi(m[1])
			require.NoError(f.t, err)
		}
		return n
	}
	until := calls() + 5
	require.Eventually(f.t, func() bool { return calls() >= until }, patience, time.Millisecond)
}

func (f *foreign) content() map[string]string {
	return f.rdb.HGetAll(f.t.Context(), f.lock).Val()
}

// patience limits the wait for an immediate event.
const patience = 20 * time.Second

// shared runs test with a foreign service and a Store on one server: once the foreign service follows
// lockupdate's naming scheme, and once lockupdate follows RLock's.
func shared(t *testing.T, test func(t *testing.T, f *foreign, store *lockupdate.Store)) {
	t.Parallel()
	for lock, config := range map[string]lockupdate.Config{
		"/lock/k":  {},
		"myLock:k": {LockName: func(key string) string { return "myLock:" + key }},
	} {
		t.Run(lock, func(t *testing.T) {
			server := servers.Redis(t)
			store := lockupdate.New(client(t, server.Addr), config)
			t.Cleanup(func() { assert.NoError(t, store.Close()) })
			test(t, &foreign{t: t, rdb: client(t, server.Addr), lock: lock}, store)
		})
	}
}

// An Update waits for a foreign owner, also for one that holds the lock twice, until it has unlocked as
// often.
func TestUpdateWaitsForForeignOwner(t *testing.T) {
	shared(t, func(t *testing.T, f *foreign, store *lockupdate.Store) {
		require.Nil(t, f.acquire())
		require.Nil(t, f.acquire(), "once more")
		done := make(chan error, 1)
		go func() {
			_, err := store.Update(t.Context(), rmw.Key{Name: "k"}, func(context.Context, rmw.Value) (rmw.Value, error) {
				return rmw.String("ours"), nil
			})
			done <- err
		}()
		f.polled()
		assert.Empty(t, done, "the Update waits")
		require.ErrorIs(t, store.TryLock(t.Context(), "k", nothing), rmw.ErrContended)
		assert.Equal(t, map[string]string{foreigner: "2"}, f.content())

		require.EqualValues(t, 0, f.unlock())
		f.polled()
		assert.Empty(t, done, "the Update waits")
		assert.Equal(t, map[string]string{foreigner: "1"}, f.content())

		require.EqualValues(t, 1, f.unlock())
		select {
		case err := <-done:
			require.NoError(t, err)
		case <-time.After(patience):
			t.Fatal("the Update still waits")
		}
		assert.Equal(t, "ours", f.rdb.Get(t.Context(), "k").Val())
		assert.Nil(t, f.unlock(), "no longer its own")
	})
}

// A foreign service cannot take or unlock a lock of lockupdate, and gets it after the release.
func TestForeignOwnerWaitsForUpdate(t *testing.T) {
	shared(t, func(t *testing.T, f *foreign, store *lockupdate.Store) {
		const lease = 10 * time.Second // the default
		kept := func() {
			before := f.content()
			assert.Len(t, before, 1)
			pttl, isHeld := f.acquire().(int64)
			require.True(t, isHeld)
			assert.Positive(t, pttl)
			assert.LessOrEqual(t, pttl, lease.Milliseconds())
			assert.Nil(t, f.unlock())
			assert.Equal(t, before, f.content())
			assert.LessOrEqual(t, f.rdb.PTTL(t.Context(), f.lock).Val(), lease)
		}
		getsIt := func() {
			require.Eventually(t, func() bool { return f.acquire() == nil }, patience, time.Millisecond)
			require.EqualValues(t, 1, f.unlock())
		}
		l, err := store.Lock(t.Context(), "k")
		require.NoError(t, err)
		kept()
		require.NoError(t, l.Context().Err())
		require.NoError(t, l.Unlock())
		getsIt()

		_, err = store.Update(t.Context(), rmw.Key{Name: "k"}, func(context.Context, rmw.Value) (rmw.Value, error) {
			kept()
			return rmw.String("ours"), nil
		})
		require.NoError(t, err)
		getsIt()
	})
}

func nothing(context.Context) error { return nil }
