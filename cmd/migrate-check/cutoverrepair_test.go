package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// service opens a process of the service at the stage.
func (s *sides) service(t *testing.T, stage cutover.Stage) *cutover.Store {
	t.Helper()
	var at [2]cutover.Side
	for i, p := range s.proxies {
		rdb := redis.NewClient(p.Options())
		t.Cleanup(func() { require.NoError(t, rdb.Close()) })
		at[i] = cutover.Side{Store: s.stores[i], Redis: rdb}
	}
	store := cutover.New(at[0], at[1], cutover.Config{Stage: stage})
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

var (
	atCopying = cutover.Stage{Phase: cutover.Copying, Percent: 100}
	room1     = rmw.Key{Name: "room:1"}
)

func appended(text string) rmw.UpdateFunc {
	return func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return rmw.String(cur.Text() + text), nil }
}

// moved is a cut-over at copying with 3 moved keys, of which two updates changed room:1 since.
func moved(t *testing.T) (s *sides, old *redis.Client) {
	t.Helper()
	s = newSides(t)
	old = s.fill(t, 3)
	s.copying(t, "100")
	require.Equal(t, codeOK, s.try(t, "sweep", s.masters()...).code)
	for _, text := range []string{"+1", "+2"} {
		_, err := s.service(t, atCopying).Update(t.Context(), room1, appended(text))
		require.NoError(t, err)
	}
	return s, old
}

// requireAll requires the text of room:1 at each stage, and a clean verify.
func (s *sides) requireAll(t *testing.T, want string) {
	t.Helper()
	r := s.try(t, "verify", s.masters()...)
	require.Equal(t, codeOK, r.code, "%s%s", r.stdout, r.stderr)
	for _, stage := range []cutover.Stage{{}, atCopying, {Phase: cutover.Reverse}} {
		v, err := s.service(t, stage).Read(t.Context(), room1)
		require.NoError(t, err)
		assert.Equal(t, want, v.Text(), stage)
	}
}

// From each fault of the alerts CutoverTwoHomes and CutoverFailover to a clean verify, as docs/observe.md says. The value that
// the operator named is read and updated at every stage, the file has both, and the key moves again.
func TestCutoverRepairs(t *testing.T) {
	for _, tc := range []struct {
		name   string
		fault  func(context.Context, *redis.Client) error
		wrong  string
		keep   string
		want   string
		oldWas string
	}{
		{"SET, new", func(ctx context.Context, old *redis.Client) error { return old.Set(ctx, "room:1", "cron", 0).Err() },
			"two homes 1 room:1", "new", "v+1+2", "cron"},
		{"SET, old", func(ctx context.Context, old *redis.Client) error { return old.Set(ctx, "room:1", "cron", 0).Err() },
			"two homes 1 room:1", "old", "cron", "cron"},
		{"a forgotten seal, new", func(ctx context.Context, old *redis.Client) error { return old.Set(ctx, "room:1", "v", 0).Err() },
			"two homes 1 room:1", "new", "v+1+2", "v"},
		{"DEL, new", func(ctx context.Context, old *redis.Client) error { return old.Del(ctx, "room:1").Err() },
			"no marker in the old store 1 room:1", "new", "v+1+2", ""},
		{"RENAME, old", func(ctx context.Context, old *redis.Client) error {
			return old.Rename(ctx, "room:1", "/lock/gone").Err()
		},
			"no marker in the old store 1 room:1", "old", "", ""},
		{"a hash over it, new", func(ctx context.Context, old *redis.Client) error {
			_, err := old.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Del(ctx, "room:1")
				return p.HSet(ctx, "room:1", "f", "cron").Err()
			})
			return err
		}, "two homes 1 room:1", "new", "v+1+2", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, old := moved(t)
			require.NoError(t, tc.fault(t.Context(), old))
			require.Equal(t, codeOK, s.try(t, "freeze").code)
			r := s.try(t, "verify", s.masters()...)
			require.Equal(t, codeDiffers, r.code)
			require.Contains(t, unwrapped(r.stdout), tc.wrong)
			save := filepath.Join(t.TempDir(), "repaired.json")
			at := []string{"-key", "room:1", "-save", save}
			r = s.try(t, "repair", append(at, "-dry-run")...)
			require.Equal(t, codeOK, r.code, r.stderr)
			assert.Contains(t, unwrapped(r.stdout), `new store: string: "v+1+2"`)
			fits(t, r.stdout)
			require.Equal(t, codeDiffers, s.try(t, "verify", s.masters()...).code, "-dry-run changed nothing")

			r = s.try(t, "repair", append(at, "-keep", tc.keep)...)
			require.Equal(t, codeOK, r.code, "%s%s", r.stdout, r.stderr)
			s.requireAll(t, tc.want)
			text, err := os.ReadFile(save)
			require.NoError(t, err)
			for line := range strings.Lines(string(text)) {
				var kept savedKey
				require.NoError(t, json.Unmarshal([]byte(line), &kept))
				assert.Equal(t, "v+1+2", kept.New.Value.Text)
				if tc.oldWas != "" {
					assert.Equal(t, tc.oldWas, kept.Old.Value.Text)
				}
			}
			assert.Equal(t, 2, strings.Count(string(text), "\n"))

			r = s.try(t, "repair", append(at, "-keep", tc.keep)...)
			assert.Equal(t, codeDiffers, r.code, "there is nothing left to repair")
			assert.Contains(t, unwrapped(r.stdout), "Nothing was changed: the key has one home")
			require.Equal(t, codeOK, s.try(t, "freeze", "-off").code)
			require.Equal(t, codeOK, s.try(t, "sweep", s.masters()...).code)
			_, err = s.service(t, atCopying).Update(t.Context(), room1, appended("+3"))
			require.NoError(t, err)
			s.requireAll(t, tc.want+"+3")
			r = s.try(t, "repair", append(at, "-keep", "old")...)
			assert.Equal(t, codeDiffers, r.code)
			assert.Contains(t, unwrapped(r.stdout), "has a marker or another list")
			s.requireAll(t, tc.want+"+3")
		})
	}
}

func TestCutoverMarkerWithAnExpiry(t *testing.T) {
	s, old := moved(t)
	require.NoError(t, old.Expire(t.Context(), "room:1", time.Hour).Err())
	r := s.try(t, "verify", s.masters()...)
	require.Equal(t, codeDiffers, r.code)
	require.Contains(t, unwrapped(r.stdout), "marker with an expiry 1 room:1")
	require.NoError(t, old.Persist(t.Context(), "room:1").Err())
	s.requireAll(t, "v+1+2")
}

// Deleting the old value by hand loses the updates of the service in the new store. This is the control for repair.
func TestDeletingByHandLoses(t *testing.T) {
	s, old := moved(t)
	require.NoError(t, old.Set(t.Context(), "room:1", "cron", 0).Err())
	require.NoError(t, old.Del(t.Context(), "room:1").Err())
	v, err := s.service(t, cutover.Stage{Phase: cutover.Reverse}).Read(t.Context(), room1)
	require.NoError(t, err)
	assert.False(t, v.Exists())
	assert.Equal(t, codeDiffers, s.try(t, "verify", s.masters()...).code)
}

// The service updates the key, at copying, while the repair runs: each acknowledged update is in the value that stays.
func TestCutoverRepairsBesideUpdates(t *testing.T) {
	s, old := moved(t)
	require.NoError(t, old.Set(t.Context(), "room:1", "cron", 0).Err())
	p := s.service(t, atCopying)
	ctx, cancel := context.WithCancel(t.Context())
	var acked strings.Builder
	var updates sync.WaitGroup
	updates.Go(func() {
		for n := 0; ctx.Err() == nil && n < 2000; n++ {
			text := fmt.Sprintf(".%d", n)
			if _, err := p.Update(context.WithoutCancel(ctx), room1, appended(text)); assert.NoError(t, err) {
				acked.WriteString(text)
			}
		}
	})
	r := s.try(t, "repair", "-key", "room:1", "-save", filepath.Join(t.TempDir(), "saved"), "-keep", "new")
	cancel()
	updates.Wait()
	if r.code != codeOK {
		r = s.try(t, "repair", "-key", "room:1", "-save", filepath.Join(t.TempDir(), "saved"), "-keep", "new")
	}
	require.Equal(t, codeOK, r.code, "%s%s", r.stdout, r.stderr)
	s.requireAll(t, "v+1+2"+acked.String())
}

// An update that arrives between the save and the delete is not deleted: the repair saves and copies it, too.
func TestCutoverRepairIsGuarded(t *testing.T) {
	for name, tc := range map[string]struct {
		side int
		code int
		want string
	}{
		"an update at copying":                {1, codeOK, "v+1+2+late"},
		"one at follow, which the copy meets": {0, codeOK, "v+1+2"},
	} {
		t.Run(name, func(t *testing.T) {
			s, old := moved(t)
			require.NoError(t, old.Set(t.Context(), "room:1", "cron", 0).Err())
			var once sync.Once
			s.proxies[0].Inject(proxytest.Fault{Times: -1, Match: func(args []string) bool {
				if len(args) > 3 && args[3] == "/lock/room:1" { // the first write of the repair begins
					once.Do(func() {
						if tc.side == 1 {
							require.NoError(t, s.servers[1].Set("room:1", "v+1+2+late"))
						} else {
							require.NoError(t, s.servers[0].Set("room:1", "cron+late"))
						}
					})
				}
				return false
			}})
			save := filepath.Join(t.TempDir(), "saved")
			r := s.try(t, "repair", "-key", "room:1", "-save", save, "-keep", "new")
			require.Equal(t, tc.code, r.code, "%s%s", r.stdout, r.stderr)
			s.requireAll(t, tc.want)
			text, err := os.ReadFile(save)
			require.NoError(t, err)
			assert.Contains(t, string(text), "late", "every value that goes was saved")
		})
	}
}

// The expiry goes with the value, and at complete the new store is the home.
func TestCutoverRepairKeepsExpiries(t *testing.T) {
	s, old := moved(t)
	require.NoError(t, old.Set(t.Context(), "room:1", "cron", time.Hour).Err())
	save := filepath.Join(t.TempDir(), "saved")
	require.Equal(t, codeOK, s.try(t, "repair", "-key", "room:1", "-save", save, "-keep", "new").code)
	assert.Zero(t, s.servers[0].TTL("room:1"))
	require.NoError(t, s.servers[1].Set("room:1", "mirror"))
	s.servers[1].SetTTL("room:1", time.Hour)
	require.Equal(t, codeOK, s.try(t, "repair", "-key", "room:1", "-save", save, "-keep", "new").code)
	assert.InDelta(t, time.Hour, s.servers[0].TTL("room:1"), float64(time.Minute))

	require.NoError(t, s.servers[1].Set("room:1", "new"))
	for i := range s.servers {
		text, err := s.servers[i].Get("~cutover:{desk}")
		require.NoError(t, err)
		text = strings.NewReplacer("copying", "complete", `"epoch":1`, `"epoch":2`).Replace(text)
		require.NoError(t, s.servers[i].Set("~cutover:{desk}", text))
	}
	r := s.try(t, "repair", "-key", "room:1", "-save", save, "-keep", "old")
	require.Equal(t, codeOK, r.code, "%s%s", r.stdout, r.stderr)
	got, err := s.servers[1].Get("room:1")
	require.NoError(t, err)
	assert.Equal(t, "mirror", got)
	assert.False(t, s.servers[0].Exists("room:1"))
}

func TestCutoverRepairRefuses(t *testing.T) {
	s, old := moved(t)
	save := filepath.Join(t.TempDir(), "saved")
	require.NoError(t, old.Del(t.Context(), "room:1").Err())
	require.NoError(t, old.SAdd(t.Context(), "room:1", "m").Err())
	r := s.try(t, "repair", "-key", "room:1", "-save", save, "-keep", "new")
	assert.Equal(t, codeDiffers, r.code)
	assert.Contains(t, unwrapped(r.stdout), "the old store has a set, and this command reads strings and hashes: RENAME it")
	r = s.try(t, "repair", "-key", "room:1", "-save", filepath.Join(save, "no", "such"), "-keep", "new")
	assert.Equal(t, codeDiffers, r.code)
	require.NoError(t, old.Del(t.Context(), "room:1").Err())
	r = s.try(t, "repair", "-key", "room:1", "-save", filepath.Join(save, "no", "such"), "-keep", "old")
	assert.Equal(t, codeError, r.code, "nothing is deleted that is not saved")
	assert.Contains(t, r.stderr, "-save: ")
	got, err := s.servers[1].Get("room:1")
	require.NoError(t, err)
	assert.Equal(t, "v+1+2", got)
	for want, args := range map[string][]string{
		"-keep is old or new": {"repair", "-key", "a", "-save", save},
		"needs -key, and":     {"repair", "-key", "a", "-keep", "old"},
		"are for repair":      {"sweep", "-key", "a"},
	} {
		r := s.try(t, args[0], args[1:]...)
		assert.Equal(t, codeError, r.code)
		assert.Contains(t, unwrapped(r.stderr), want)
	}
}

// A repair refuses to copy a hash over another store if fields of either have an expiry. In place, they keep it.
func TestCutoverRepairRefusesFieldExpiries(t *testing.T) {
	for side, store := range sideNames {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			s := newSides(t)
			ctx, hashes := t.Context(), [2]*redis.Client{}
			for i, server := range s.servers {
				hashes[i] = redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2})
				t.Cleanup(func() { require.NoError(t, hashes[i].Close()) })
				require.NoError(t, hashes[i].HSet(ctx, "otp", "code", "1234", "of", sideNames[i]).Err())
			}
			require.NoError(t, hashes[side].HExpire(ctx, "otp", time.Hour, "code").Err())
			at := []string{"-key", "otp", "-save", filepath.Join(t.TempDir(), "repaired.json")}
			r := s.try(t, "repair", append(at, "-dry-run")...)
			require.Equal(t, codeOK, r.code, "%s%s", r.stdout, r.stderr)
			assert.Contains(t, unwrapped(r.stdout), store+" store: hash, fields with expiries: ")
			fits(t, r.stdout)
			r = s.try(t, "repair", append(at, "-keep", "new")...)
			assert.Equal(t, codeDiffers, r.code)
			assert.Contains(t, unwrapped(r.stdout), "Nothing was changed: fields of the "+store+" store's hash have an expiry (HEXPIRE)")
			for i, hash := range hashes {
				assert.Equal(t, sideNames[i], hash.HGet(ctx, "otp", "of").Val())
			}
			r = s.try(t, "repair", append(at, "-keep", "old")...)
			require.Equal(t, codeOK, r.code, "%s%s", r.stdout, r.stderr)
			assert.Equal(t, side == 0, hashes[0].HPTTL(ctx, "otp", "code").Val()[0] > 0)
			assert.Zero(t, hashes[1].Exists(ctx, "otp").Val())
		})
	}
}

// A repair of one store under two addresses would delete the only copy of a key.
func TestCutoverRepairNeedsTwoStores(t *testing.T) {
	s := newSides(t)
	old := s.fill(t, 2)
	save := filepath.Join(t.TempDir(), "repaired.json")
	r := s.try(t, "repair", "-new", s.proxies[0].Addr(), "-key", "room:1", "-keep", "old", "-save", save)
	assert.Equal(t, codeError, r.code)
	assert.Contains(t, unwrapped(r.stderr), "one store: 64 of 64")
	assert.Equal(t, "v", old.Get(t.Context(), "room:1").Val())
}
