package lockupdate_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// A malformed or too long hint in a lock does not end the lease, although each renewal returns the hint. It does not keep the
// process from taking the lock again.
func TestInvalidHintsDoNotEndALease(t *testing.T) {
	for _, hint := range []string{"-1", "-7", "1e300", "-1e300", "inf", "-inf", "nan", "9223372036854775807", "3600000", "x", "", "\x00"} {
		withKey(t, lockupdate.Config{Lease: time.Second}, func(t *testing.T, f *fixture, key rmw.Key) {
			_, err := f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				require.NoError(t, f.direct().HSet(t.Context(), lock+key.Name, "unwatch-waiting", hint).Err())
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
				rdb, what := f.direct(), fmt.Sprintf("%q: %q", field, count)
				require.NoError(t, rdb.HSet(t.Context(), lock+testKey.Name, field, count).Err())
				require.NoError(t, rdb.PExpire(t.Context(), lock+testKey.Name, 3*time.Second).Err())
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
