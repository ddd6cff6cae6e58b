package cutover_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/rmw"
)

// Another program has changed the marker of a key. No call takes that for an outage: each says what happened, and writes
// nothing. Sweep and Verify name the key, also if it is the only one of its batch, and visit the others.
func TestDamagedMarkers(t *testing.T) {
	type admin = *redis.Client
	for name, damage := range map[string]func(context.Context, admin) error{
		"LTRIM to 1":       func(ctx context.Context, c admin) error { return c.LTrim(ctx, "room", 0, 0).Err() },
		"LTRIM to 4":       func(ctx context.Context, c admin) error { return c.LTrim(ctx, "room", 0, 3).Err() },
		"LTRIM to 6":       func(ctx context.Context, c admin) error { return c.LTrim(ctx, "room", 0, 5).Err() },
		"LTRIM of a value": func(ctx context.Context, c admin) error { return c.LTrim(ctx, "room", 0, 6).Err() },
		"RPOP":             func(ctx context.Context, c admin) error { return c.RPop(ctx, "room").Err() },
		"RPUSH":            func(ctx context.Context, c admin) error { return c.RPush(ctx, "room", "x").Err() },
		"LSET of a nonce":  func(ctx context.Context, c admin) error { return c.LSet(ctx, "room", 2, "x").Err() },
		"LSET of a type":   func(ctx context.Context, c admin) error { return c.LSet(ctx, "room", 4, "x").Err() },
		"LSET of a TTL":    func(ctx context.Context, c admin) error { return c.LSet(ctx, "room", 5, "x").Err() },
		"LSET of a time":   func(ctx context.Context, c admin) error { return c.LSet(ctx, "room", 6, "x").Err() },
	} {
		for _, last := range []string{"seal", ""} {
			t.Run(fmt.Sprint(name, last), func(t *testing.T) {
				bubble(t, func(t *testing.T, r *rig) {
					old := r.admin(0)
					for _, key := range []string{"room", "a", "z"} {
						require.NoError(t, old.Set(t.Context(), key, "v", 0).Err())
					}
					if last == "seal" {
						r.stopAt("fill", r.open(forward))
					} else {
						r.swept(forward)
					}
					require.NoError(t, damage(t.Context(), old))
					before, err := old.LRange(t.Context(), "room", 0, -1).Result()
					require.NoError(t, err)
					for _, stage := range []cutover.Stage{follow, reverse} {
						p := r.open(stage)
						cfg := r.old(1)
						_, err := p.Read(t.Context(), room)
						if last == "seal" || stage.Phase == cutover.Reverse && err != nil { // a read of a whole move may not need the value
							require.ErrorIs(t, err, rmw.ErrWrongKind, "%v", stage)
							require.ErrorContains(t, err, room.Name)
							assert.ErrorContains(t, err, "Write the right value to the old store, then delete the key in the new one")
						}
						report := p.verify(cfg)
						assert.Equal(t, operate.Keys{Count: 1, Names: []string{"room"}}, report.Failed)
						require.ErrorIs(t, report.Cause, rmw.ErrWrongKind)
						if err := p.change(add("x")); err != nil { // the way back of a whole move replaces the marker
							require.ErrorIs(t, err, rmw.ErrWrongKind, "%v", stage)
						}
						require.NoError(t, p.Close())
					}
					if last == "seal" {
						after, err := old.LRange(t.Context(), "room", 0, -1).Result()
						require.NoError(t, err)
						assert.Equal(t, before, after)
						p := r.open(forward)
						pass := p.sweep(r.old(1))
						assert.Equal(t, operate.Keys{Count: 1, Names: []string{"room"}}, pass.Failed)
						require.ErrorIs(t, pass.Cause, rmw.ErrWrongKind)
						assert.Equal(t, 2, pass.There+pass.Completed)
						require.NoError(t, p.Close())
					}
					// the repair that the error names
					require.NoError(t, old.Set(t.Context(), "room", "right", 0).Err())
					require.NoError(t, r.admin(1).Del(t.Context(), "room").Err())
					r.swept(forward)
					r.swept(forward)
					r.open(forward).requireText("right")
					assert.Zero(t, r.verify(4).Wrong())
				})
			})
		}
	}
}

// A newer build has made a mark. No call changes it, and each says what to do.
func TestMarksOfANewerBuild(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		for side := range 2 {
			key := rmw.Key{Name: fmt.Sprint("k", side)}
			mark := []any{seal.Magic, "newer", "1.a", "x", "string", "-1", "0", "v"}
			require.NoError(t, r.admin(side).RPush(t.Context(), key.Name, mark...).Err())
			for _, stage := range []cutover.Stage{follow, forward, reverse, complete} {
				if side == 1 && stage.Phase == cutover.Follow || side == 0 && stage.Phase == cutover.Complete {
					continue // it does not look there
				}
				p := r.open(stage)
				_, err := p.Update(t.Context(), key, add("x"))
				if side == 1 && stage.Phase == cutover.Reverse {
					require.NoError(t, err) // the old store serves
					require.NoError(t, r.admin(0).Del(t.Context(), key.Name).Err())
				} else {
					require.ErrorIs(t, err, rmw.ErrUnsupported, "%v", stage)
					require.ErrorContains(t, err, "deploy the newer build here as well")
				}
				_, err = rmw.Transact(t.Context(), p, addTo("x", key), key)
				if side == 0 || stage.Phase != cutover.Reverse {
					require.ErrorIs(t, err, rmw.ErrUnsupported, "%v", stage)
				}
				pass := p.sweep(r.both(1))
				if stage.Phase == cutover.Copying {
					assert.Equal(t, 1, pass.Failed.Count)
					assert.ErrorContains(t, pass.Cause, "deploy the newer build")
				}
				require.NoError(t, p.Close())
			}
			assert.Equal(t, 1, r.verify(1).Failed.Count)
			left, err := r.admin(side).LRange(t.Context(), key.Name, 0, -1).Result()
			require.NoError(t, err)
			assert.Equal(t, fmt.Sprint(mark), fmt.Sprint(left))
			require.NoError(t, r.admin(side).Del(t.Context(), key.Name).Err())
			require.NoError(t, r.admin(0).Del(t.Context(), key.Name).Err())
		}
	})
}
