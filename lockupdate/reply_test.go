package lockupdate_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// The error for a malformed reply names the command, and the type and length of the reply, not its
// content. It is not retryable. For a commit the outcome is unknown.
func TestUnexpectedReplies(t *testing.T) {
	for name, c := range map[string]struct {
		script string // or the command with the same job
		reply  any
		call   string // an operation
		text   string
	}{
		"acquire":    {"acquire", "SECRET", "update", "the reply to the script acquire is a string of 6 bytes"},
		"read":       {"read", []any{int64(7), "SECRET"}, "update", "the reply to the script read is an array of 2 elements"},
		"read alone": {"read", int64(12345), "read", "the reply to the script read is an integer"},
		"peek":       {"peek", []any{}, "peek", "the reply to the script peek is an array of 0 elements"},
		"inspect":    {"inspect", nil, "inspect", "the reply to the script inspect is no value"},
		"token":      {"token", "SECRET", "token", "the reply to the script token is a string of 6 bytes"},
		"commit": {"commit_string", map[any]any{"SECRET": "SECRET"}, "update",
			"the reply to the script commit_string is a map of 1 entries"},
		"a command": {"inspect", int64(12345), "inspect", "the reply to TYPE is an integer"},
	} {
		cfg := map[string]lockupdate.Config{"a command": {Commit: lockupdate.CommitIFEQ}}[name]
		bubbleWith(t, name, cfg, func(t *testing.T, f *fixture) {
			require.NoError(t, operations["update"](t.Context(), f.store))
			lockupdate.Settle(f.store)
			f.rdb.AddHook(afterwards(func(cmd redis.Cmder) {
				if cmd, ok := cmd.(interface{ SetVal(v any) }); ok && lockupdate.RequestName(argsOf(cmd.(redis.Cmder))) == c.script {
					cmd.SetVal(c.reply)
				}
			}))
			err := operations[c.call](t.Context(), f.store)
			if name == "commit" {
				require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
			} else {
				require.ErrorIs(t, err, rmw.ErrUnsupported)
			}
			require.ErrorContains(t, err, c.text)
			assert.NotContains(t, err.Error(), "SECRET")
			assert.ErrorContains(t, err, "miniredis older than v2.40.0")
			assert.False(t, rmw.Retryable(err))
		})
	}
}

// A truncated reply is an error, not an empty value. go-redis returns the zero value with the
// error.
func TestTruncatedReplyIsAnError(t *testing.T) {
	step := 1
	if testing.Short() { // all lengths show the same races
		step = 7
	}
	masters := lockupdate.Config{MasterReads: true}
	for name, test := range map[string]struct {
		cfg   lockupdate.Config
		read  string // the command whose reply is truncated
		key   rmw.Key
		value rmw.Value
	}{
		"a string":                {lockupdate.Config{}, "read", testKey, rmw.String(strings.Repeat("x", 20))},
		"an empty string":         {lockupdate.Config{}, "read", testKey, rmw.String("")},
		"no string":               {lockupdate.Config{}, "read", testKey, rmw.Value{}},
		"a string of a master":    {masters, "get", testKey, rmw.String(strings.Repeat("x", 20))},
		"a hash":                  {lockupdate.Config{}, "read", hashKey, rmw.Hash(map[string]string{"f": "v", "g": "w"})},
		"a hash of a master":      {masters, "hgetall", hashKey, rmw.Hash(map[string]string{"f": "v", "g": "w"})},
		"no hash, of a master":    {masters, "hgetall", hashKey, rmw.Value{}},
		"a hash of another shape": {lockupdate.Config{}, "read", hashKey, rmw.Hash(map[string]string{"": ""})},
	} {
		t.Run(name, func(t *testing.T) {
			for keep := 0; keep < 60; keep += step {
				withFixture(t, test.cfg, func(t *testing.T, f *fixture) {
					store(t, f.direct(), test.key, test.value)
					same := func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur, nil }
					_, err := f.store.Update(t.Context(), test.key, same) // loads the scripts
					require.NoError(t, err)
					f.waitReleases()
					cut := func(args []string) bool {
						return isScript(test.read)(args) || strings.EqualFold(args[0], test.read)
					}
					f.proxy.Inject(proxytest.Fault{Match: cut, Action: proxytest.DropReply, Keep: keep})
					f.update(test.key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
						assert.True(t, cur.Equal(test.value), "%d bytes: fn was given %v", keep, cur.Exists())
						return cur, nil
					})
					// Reads in one flush.
					f.proxy.Inject(proxytest.Fault{Match: cut, Action: proxytest.DropReply, Keep: keep})
					concurrently(5, func(int) {
						v, err := f.store.Read(t.Context(), test.key)
						assert.True(t, err != nil || v.Equal(test.value), "%d bytes: %v was read", keep, v.Exists())
					})
				})
			}
		})
	}
}

// store writes a value without the Store.
func store(t *testing.T, rdb *redis.Client, key rmw.Key, v rmw.Value) {
	t.Helper()
	switch {
	case !v.Exists():
	case key.Kind == rmw.KindHash:
		require.NoError(t, rdb.HSet(t.Context(), key.Name, v.Fields()).Err())
	default:
		require.NoError(t, rdb.Set(t.Context(), key.Name, v.Text(), 0).Err())
	}
}

// In a flush to several servers, like one of a ClusterClient, the error of one node does not count
// for the other node. The lock was granted, and must be released.
func TestOneNodeDown(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		direct := f.direct()
		down := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
		s := f.open(f.opts, lockupdate.Config{}, hook(func(ctx context.Context, cmds []redis.Cmder, _ func() error) (err error) {
			for _, cmd := range cmds {
				if strings.HasPrefix(argsOf(cmd)[3], lock) {
					err = cmp.Or(direct.Process(ctx, cmd), err)
				} else {
					cmd.SetErr(down)
					err = down
				}
			}
			return err
		}))
		require.ErrorIs(t, operations["update"](t.Context(), s), rmw.ErrUnavailable)
		lockupdate.Settle(s)
		assert.False(t, f.hasLock("s"), "the lock is left behind")
	})
}

// A flush to several servers loses the reply to a commit. A redis.Nil for another command says nothing about
// that: the outcome is unknown, and the commit is not refused.
func TestNilReplyOfAnotherCommand(t *testing.T) {
	cfg := lockupdate.Config{Commit: lockupdate.CommitIFEQ, NoCombining: true}
	withFixture(t, cfg, func(t *testing.T, f *fixture) {
		direct := f.direct()
		s := f.open(f.opts, cfg, hook(func(ctx context.Context, cmds []redis.Cmder, next func() error) error {
			if len(cmds) == 1 {
				return next()
			}
			for _, cmd := range cmds {
				if lockupdate.RequestName(argsOf(cmd)) == "commit_string" {
					cmd = redis.NewCmd(ctx, cmd.Args()...)
				}
				_ = direct.Process(ctx, cmd)
			}
			return redis.Nil
		}))
		var calls []*pendingCall
		for range 3 {
			calls = append(calls, start(t.Context(), s, testKey, after(12*time.Millisecond, appendText("x,"))))
		}
		wait(calls...)
		unknown := 0
		for _, call := range calls {
			assert.LessOrEqual(t, call.res.Attempts, 2)
			if errors.Is(call.err, rmw.ErrOutcomeUnknown) {
				unknown++
			}
		}
		assert.Positive(t, unknown, "the case did not occur")
		assert.Len(t, f.text(testKey), 2*len(calls))
	})
}

// A reply counts even if the connection breaks later in the same flush.
func TestReplyBeforeAConnectionErrorCounts(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		f.proxy.Inject(proxytest.Fault{Match: isScript("read"), Action: proxytest.DropReply})
		f.update(key, appendText("x"))
		f.waitReleases()
		assert.Equal(t, []string{"acquire", "read", "read", "commit_string", "release"}, f.calls(), "the lock is not acquired again")
	})
}

// Kvrocks prefixes its WRONGTYPE error with other text.
func TestKvrocksWrongTypeError(t *testing.T) {
	withFixture(t, lockupdate.Config{Commit: lockupdate.CommitCAS}, func(t *testing.T, f *fixture) {
		f.refuse("read", -1, "ERR Invalid argument: WRONGTYPE Operation against a key holding the wrong kind of value")
		_, err := f.store.Read(t.Context(), testKey)
		require.ErrorIs(t, err, rmw.ErrWrongKind)
		require.False(t, rmw.Retryable(err))
	})
}

// A malformed or too long hint in a lock does not end the lease, although each renewal returns the hint. It does not keep the
// process from taking the lock again.
func TestInvalidHintsDoNotEndALease(t *testing.T) {
	for _, hint := range []string{"-1", "-7", "1e300", "-1e300", "inf", "-inf", "nan", "9223372036854775807", "3600000", "x", "", "\x00"} {
		withKey(t, lockupdate.Config{Lease: time.Second}, func(t *testing.T, f *fixture, key rmw.Key) {
			_, err := f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				f.putHash(lock+"s", map[string]string{"unwatch-waiting": hint}, 0)
				select {
				case <-ctx.Done():
				case <-time.After(3 * time.Second):
				}
				return rmw.String(cur.Text() + "1"), ctx.Err()
			})
			require.NoError(t, err, "%q", hint)
			f.waitReleases()
			assert.Zero(t, f.store.Stats().Lost, "%q", hint)
			exists, err := f.direct().Exists(t.Context(), lock+key.Name).Result()
			require.NoError(t, err)
			assert.Zero(t, exists, "%q: the lock is released", hint)
			began := time.Now()
			f.update(key, appendText("2"))
			assert.Less(t, time.Since(began), 80*time.Millisecond, hint)
			assert.Equal(t, "www12", f.text(key))
		})
	}
}

// An update waits for a lock with any content, takes it, or returns an error. Inspect reports it.
func TestMalformedLocks(t *testing.T) {
	long.Repeats(t)
	fields := []string{"", "?", "a", ":", "::", "\x00", "unwatch:", "unwatch:a", "unwatch:a:", "unwatch:a:zzzzzzzzzzzzzzzzzzzz",
		"unwatch:a:1y2p0ij32e8e7", "unwatch:a:-1", "unwatch-waiting"}
	for _, field := range fields {
		for _, count := range []string{"1", "0", "-1", "x", "99999999999999999999", ""} {
			withFixture(t, lockupdate.Config{MaxWait: time.Minute}, func(t *testing.T, f *fixture) {
				what := fmt.Sprintf("%q: %q", field, count)
				f.putHash(lock+"s", map[string]string{field: count}, 3*time.Second)
				h, err := f.store.Inspect(t.Context(), testKey.Name)
				require.NoError(t, err, what)
				assert.GreaterOrEqual(t, h.Age, time.Duration(0), what)
				began := time.Now()
				_, err = f.store.Update(t.Context(), testKey, appendText("1"))
				require.NoError(t, err, what)
				assert.LessOrEqual(t, time.Since(began), 4*time.Second, what)
				assert.Equal(t, "1", f.text(testKey))
			})
		}
	}
}

// The longest durations are accepted and do not overflow.
func TestEndlessConfigs(t *testing.T) {
	const endless = time.Duration(math.MaxInt64)
	for name, cfg := range map[string]lockupdate.Config{
		"Lease":               {Lease: endless},
		"LockDelay":           {LockDelay: endless},
		"MaxHold":             {MaxHold: endless},
		"MaxWait":             {MaxWait: endless},
		"Poll.Base":           {Poll: rmw.Backoff{Base: endless}},
		"Poll.Max":            {Poll: rmw.Backoff{Max: endless}},
		"Poll":                {Poll: rmw.Backoff{Base: endless, Max: endless}},
		"Linger":              {Poll: rmw.Backoff{Max: endless}, Linger: endless},
		"all":                 {Lease: endless, MaxHold: endless, MaxWait: endless, Poll: rmw.Backoff{Max: endless}},
		"MaxAttempts":         {MaxAttempts: math.MaxInt},
		"Lease, without Lua":  {Lease: endless, Commit: lockupdate.CommitIFEQ},
		"Poll, without Lua":   {Poll: rmw.Backoff{Base: endless, Max: endless}, Commit: lockupdate.CommitIFEQ},
		"Linger, without Lua": {Poll: rmw.Backoff{Max: endless}, Linger: endless, Commit: lockupdate.CommitIFEQ},
		"Lease, in seconds":   {Lease: endless, Commit: lockupdate.CommitVX},
		"Lease, with CAS":     {Lease: endless, Commit: lockupdate.CommitCAS},
		"Poll, in seconds":    {Poll: rmw.Backoff{Base: endless, Max: endless}, Commit: lockupdate.CommitVX},
	} {
		bubble(t, name, func(t *testing.T) {
			require.NoError(t, cfg.Validate())
			f := newFixture(t, cfg)
			for range 3 {
				f.update(rmw.Key{Name: "s", TTL: 1<<62 - 1}, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
					select {
					case <-ctx.Done():
						return rmw.Value{}, context.Cause(ctx)
					case <-time.After(30 * time.Second):
						return rmw.String(cur.Text() + "1"), nil
					}
				})
			}
			assert.Equal(t, "111", f.text(testKey))
			assert.Zero(t, f.store.Stats().Lost)
		})
	}
}

// Errors match exactly their reasons, which tell callers how to react: a lock may be taken, lost, unreachable or abandoned.
func TestErrorsMatchTheirReasons(t *testing.T) {
	type doer = func(ctx context.Context, f *fixture) error
	update := func(ctx context.Context, f *fixture) error { return operations["update"](ctx, f.store) }
	left := func(after time.Duration) doer {
		return func(ctx context.Context, f *fixture) error {
			ctx, cancel := context.WithCancel(ctx)
			if after == 0 {
				cancel()
			}
			time.AfterFunc(after, cancel)
			return update(ctx, f)
		}
	}
	free := func(*fixture) {}
	taken := func(f *fixture) { f.takeAsOther(testKey, 0) }
	refused := func(script, text string) func(f *fixture) {
		return func(f *fixture) { f.refuse(script, -1, text) }
	}
	for name, tc := range map[string]struct {
		before func(f *fixture)
		do     doer
		op     string
		are    []error
	}{
		"waited for MaxWait": {taken, update, "acquire", []error{rmw.ErrContended}},
		"waited until the deadline": {taken, func(ctx context.Context, f *fixture) error {
			return update(timeout(ctx, f.t, time.Second), f)
		}, "acquire", []error{rmw.ErrContended, context.DeadlineExceeded}},
		"waited and left": {taken, left(time.Second), "acquire", []error{rmw.ErrContended, context.Canceled}},
		"left before":     {free, left(0), "update", []error{context.Canceled}},
		"did not wait": {taken, func(ctx context.Context, f *fixture) error {
			return f.store.TryLock(ctx, "s", nothing)
		}, "lock", []error{rmw.ErrContended}},
		"lost": {free, func(ctx context.Context, f *fixture) error {
			return f.store.WithLock(ctx, "s", func(ctx context.Context) error {
				assert.NoError(t, f.direct().Del(ctx, lock+"s").Err())
				<-ctx.Done()
				return nil
			})
		}, "unlock", []error{rmw.ErrLockLost}},
		"in doubt": {refused("commit_string", connReset), update, "commit", []error{rmw.ErrOutcomeUnknown}},
		"refused by the server": {refused("acquire", "NOPERM this user has no permissions"), update,
			"acquire", []error{rmw.ErrUnsupported}},
		"refused by Codis": {refused("acquire", "ERR handle request, command 'EVALSHA' is not allowed"), update,
			"acquire", []error{rmw.ErrUnsupported}},
		"unreachable":         {refused("acquire", connReset), update, "acquire", []error{rmw.ErrUnavailable}},
		"wrong kind of lock":  {func(f *fixture) { f.set(lock+"s", "", 0) }, update, "acquire", []error{rmw.ErrWrongKind}},
		"wrong kind of value": {func(f *fixture) { f.putHash("s", fields("f=v"), 0) }, update, "read", []error{rmw.ErrWrongKind}},
		"closed":              {func(f *fixture) { assert.NoError(f.t, f.store.Close()) }, update, "update", []error{rmw.ErrClosed}},
	} {
		bubbleWith(t, name, lockupdate.Config{MaxWait: 5 * time.Second}, func(t *testing.T, f *fixture) {
			tc.before(f)
			err := tc.do(t.Context(), f)
			var own *rmw.Error
			require.ErrorAs(t, err, &own)
			assert.Equal(t, []string{"lockupdate", tc.op, "s"}, []string{own.Path, own.Op, own.Key})
			for _, reason := range []error{
				rmw.ErrContended, rmw.ErrLockLost, rmw.ErrOutcomeUnknown, rmw.ErrWrongKind, rmw.ErrUnsupported,
				rmw.ErrUnavailable, rmw.ErrInvalid, rmw.ErrClosed, context.Canceled, context.DeadlineExceeded,
			} {
				assert.Equal(t, slices.Contains(tc.are, reason), errors.Is(err, reason), reason)
			}
		})
	}
}
