package integration

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// A lock is a hash of one owner and a count, like Redisson's RLock, so that a service in another language
// can share locks with lockupdate. Here redis-cli is that service, and runs the scripts of RLock.

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

// layouts are the two naming schemes: a foreign service that follows lockupdate's, and lockupdate with
// RLock's.
type layout struct {
	prefix string
	config lockupdate.Config
}

func layouts() map[string]layout {
	const prefix = "myLock:"
	return map[string]layout{
		"our names":    {"/lock/", lockupdate.Config{}},
		"RLock's name": {prefix, lockupdate.Config{LockName: func(key string) string { return prefix + key }}},
	}
}

// foreign is a service in another language: it runs redis-cli.
type foreign struct {
	t       *testing.T
	program string
	addr    string
	lock    string
	admin   *redis.Client
}

func newForeign(t *testing.T, addr, lock string) *foreign {
	program, err := exec.LookPath("redis-cli")
	if err != nil {
		if os.Getenv("CI") == "true" || os.Getenv(servers.RequireEnv) == "1" {
			t.Fatalf("redis-cli is %v: %s", servers.ErrMissing, servers.Install)
		}
		t.Skipf("\n!!!\n!!! NOT TESTED against redis-cli, which is %v: %s\n!!!", servers.ErrMissing, servers.Install)
	}
	return &foreign{t: t, program: program, addr: addr, lock: lock, admin: client(t, addr)}
}

// cli returns redis-cli's output: "(nil)", "(integer) 7".
func (f *foreign) cli(args ...string) string {
	f.t.Helper()
	host, port, err := net.SplitHostPort(f.addr)
	require.NoError(f.t, err)
	cmd := exec.CommandContext(f.t.Context(), f.program, append([]string{"-h", host, "-p", port, "--no-raw"}, args...)...)
	out, err := cmd.CombinedOutput()
	require.NoError(f.t, err, string(out))
	return strings.TrimSpace(string(out))
}

func (f *foreign) acquire(lease time.Duration) string {
	return f.cli("EVAL", rlockAcquire, "1", f.lock, strconv.FormatInt(lease.Milliseconds(), 10), foreigner)
}

func (f *foreign) unlock() string {
	return f.cli("EVAL", rlockUnlock, "2", f.lock, rlockChannel(f.lock), "0", "30000", foreigner)
}

// polled waits until a Store has polled the lock n more times.
func (f *foreign) polled(n int) {
	f.t.Helper()
	calls := func() int {
		stats, err := f.admin.Info(f.t.Context(), "commandstats").Result()
		require.NoError(f.t, err)
		m := regexp.MustCompile(`cmdstat_evalsha:calls=(\d+)`).FindStringSubmatch(stats)
		if m == nil {
			return 0
		}
		count, err := strconv.Atoi(m[1])
		require.NoError(f.t, err)
		return count
	}
	until := calls() + n
	require.Eventually(f.t, func() bool { return calls() >= until }, patience, time.Millisecond)
}

func (f *foreign) content() map[string]string {
	return f.admin.HGetAll(f.t.Context(), f.lock).Val()
}

// patience limits the wait for an immediate event.
const patience = 20 * time.Second

// updating is an Update in flight.
type updating struct {
	t    *testing.T
	done chan error
	res  rmw.Result
}

func update(t *testing.T, store *lockupdate.Store, key string) *updating {
	u := &updating{t: t, done: make(chan error, 1)}
	go func() {
		var err error
		u.res, err = store.Update(t.Context(), rmw.Key{Name: key}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			return rmw.String(cur.Text() + "ours"), nil
		})
		u.done <- err
	}()
	return u
}

func (u *updating) waits() {
	u.t.Helper()
	select {
	case err := <-u.done:
		u.t.Fatalf("the Update does not wait for the foreign owner: %v", err)
	default:
	}
}

func (u *updating) ends() {
	u.t.Helper()
	select {
	case err := <-u.done:
		require.NoError(u.t, err)
		assert.Positive(u.t, u.res.Waited)
	case <-time.After(patience):
		u.t.Fatal("the Update still waits")
	}
}

// shared runs test once for each layout, with a foreign service and a Store on one server.
func shared(t *testing.T, test func(t *testing.T, f *foreign, store *lockupdate.Store)) {
	t.Parallel()
	for name, l := range layouts() {
		t.Run(name, func(t *testing.T) {
			server := servers.Redis(t)
			f := newForeign(t, server.Addr, l.prefix+"k")
			store := lockupdate.New(client(t, server.Addr), l.config)
			t.Cleanup(func() { assert.NoError(t, store.Close()) })
			test(t, f, store)
		})
	}
}

// An Update waits for a foreign owner, also for one that holds the lock twice, until it has unlocked as
// often.
func TestUpdateWaitsForForeignOwner(t *testing.T) {
	shared(t, func(t *testing.T, f *foreign, store *lockupdate.Store) {
		require.Equal(t, "(nil)", f.acquire(time.Hour))
		require.Equal(t, "(nil)", f.acquire(time.Hour), "once more")
		u := update(t, store, "k")
		f.polled(5)
		u.waits()
		require.ErrorIs(t, store.TryLock(t.Context(), "k", nothing), rmw.ErrContended)
		assert.Equal(t, map[string]string{foreigner: "2"}, f.content())

		require.Equal(t, "(integer) 0", f.unlock())
		f.polled(5)
		u.waits()
		assert.Equal(t, map[string]string{foreigner: "1"}, f.content())

		require.Equal(t, "(integer) 1", f.unlock())
		u.ends()
		assert.Equal(t, "ours", f.admin.Get(t.Context(), "k").Val())
		assert.Equal(t, "(nil)", f.unlock(), "no longer its own")
	})
}

// A foreign owner that dies blocks an Update until its lease ends, and no longer.
func TestForeignLeaseExpires(t *testing.T) {
	shared(t, func(t *testing.T, f *foreign, store *lockupdate.Store) {
		require.Equal(t, "(nil)", f.acquire(500*time.Millisecond))
		u := update(t, store, "k")
		u.ends()
		assert.Less(t, u.res.Waited, patience/2)
	})
}

// A foreign service cannot take or unlock a lock of lockupdate, and gets it after the release.
func TestForeignOwnerWaitsForUpdate(t *testing.T) {
	shared(t, func(t *testing.T, f *foreign, store *lockupdate.Store) {
		const lease = 10 * time.Second // the default
		kept := func() {
			before := f.content()
			assert.Len(t, before, 1)
			pttl, err := strconv.Atoi(strings.TrimPrefix(f.acquire(time.Hour), "(integer) "))
			require.NoError(t, err)
			assert.Positive(t, pttl)
			assert.LessOrEqual(t, pttl, int(lease.Milliseconds()))
			assert.Equal(t, "(nil)", f.unlock())
			assert.Equal(t, before, f.content())
			assert.LessOrEqual(t, f.admin.PTTL(t.Context(), f.lock).Val(), lease)
		}
		getsIt := func() {
			require.Eventually(t, func() bool { return f.acquire(time.Hour) == "(nil)" }, patience, time.Millisecond)
			require.Equal(t, "(integer) 1", f.unlock())
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

// Waiters set no hint in a foreign lock: an owner that releases field by field would leave it behind, and
// other foreign services would take it for an owner.
func TestNoHintInForeignLock(t *testing.T) {
	shared(t, func(t *testing.T, f *foreign, store *lockupdate.Store) {
		require.Equal(t, "(nil)", f.acquire(time.Hour))
		u := update(t, store, "k")
		f.polled(10)
		assert.Equal(t, map[string]string{foreigner: "1"}, f.content())
		require.Equal(t, "(integer) 1", f.cli("HDEL", f.lock, foreigner))
		u.ends()
		require.NoError(t, store.Close())
		assert.Zero(t, f.admin.Exists(t.Context(), f.lock).Val(), "something of ours keeps the lock alive")
		require.Equal(t, "(nil)", f.acquire(time.Hour))
	})
}

// Operators see a foreign owner, too.
func TestInspectForeignOwner(t *testing.T) {
	shared(t, func(t *testing.T, f *foreign, store *lockupdate.Store) {
		require.Equal(t, "(nil)", f.acquire(time.Hour))
		require.Equal(t, "(nil)", f.acquire(time.Hour))
		h, err := store.Inspect(t.Context(), "k")
		require.NoError(t, err)
		assert.Positive(t, h.Left)
		assert.LessOrEqual(t, h.Left, time.Hour)
		h.Left = 0
		assert.Equal(t, lock.Info{Sequencer: lock.Sequencer{Name: "k", Owner: foreigner}, Held: true}, h)
		assert.Equal(t, map[string]string{foreigner: "2"}, f.content())

		require.Equal(t, "(integer) 0", f.unlock())
		require.Equal(t, "(integer) 1", f.unlock())
		h, err = store.Inspect(t.Context(), "k")
		require.NoError(t, err)
		assert.False(t, h.Held)
	})
}

// Under load, unguarded writes of both services under the lock are not lost.
func TestForeignOwnersAndUpdatesExclude(t *testing.T) {
	shared(t, func(t *testing.T, f *foreign, store *lockupdate.Store) {
		const each = 20
		add := func(get func() string, set func(n string)) {
			n, _ := strconv.Atoi(get())
			set(strconv.Itoa(n + 1))
		}
		done := make(chan error, 1)
		go func() {
			var failed error
			for range each {
				failed = errors.Join(failed, store.WithLock(t.Context(), "k", func(ctx context.Context) error {
					add(func() string { return f.admin.Get(ctx, "n").Val() },
						func(n string) { assert.NoError(t, f.admin.Set(ctx, "n", n, 0).Err()) })
					return nil
				}))
			}
			done <- failed
		}()
		for range each {
			require.Eventually(t, func() bool { return f.acquire(time.Hour) == "(nil)" }, patience, time.Millisecond)
			add(func() string { return strings.Trim(f.cli("GET", "n"), `"`) },
				func(n string) { assert.Equal(t, "OK", f.cli("SET", "n", n)) })
			require.Equal(t, "(integer) 1", f.unlock())
		}
		require.NoError(t, <-done)
		assert.Equal(t, strconv.Itoa(2*each), f.admin.Get(t.Context(), "n").Val())
	})
}

func nothing(context.Context) error { return nil }
