package cutover_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

var (
	forward = cutover.Stage{Phase: cutover.Copying, Percent: 100}
	reverse = cutover.Stage{Phase: cutover.Reverse}
	follow  = cutover.Stage{}
	room    = rmw.Key{Name: "room", Label: "room"}
)

func add(id string) rmw.UpdateFunc {
	return func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		return rmw.String(cur.Text() + id + ","), nil
	}
}

func set(v rmw.Value) rmw.UpdateFunc {
	return func(context.Context, rmw.Value) (rmw.Value, error) { return v, nil }
}

// where returns the type of the key in both stores, as the servers tell it.
func (r *rig) where(name string) (where [2]string) {
	for i := range where {
		kind, err := r.admin(i).Type(context.Background(), name).Result()
		require.NoError(r.t, err)
		where[i] = kind
	}
	return where
}

// A process stops after each command of an update, or of a sweep, that moves keys. The next one that reads finds each
// value, the next one that updates keeps it, and the next sweep moves each key to where the stage wants it.
func TestProcessStopsAfterEachCommand(t *testing.T) {
	for _, way := range []struct {
		name        string
		before, now cutover.Stage
		where       [2]string
	}{
		{"forward", follow, forward, [2]string{"list", "string"}},
		{"backward", forward, reverse, [2]string{"string", "list"}},
	} {
		for name, act := range map[string]func(ctx context.Context, r *rig, p process) error{
			"an update": func(ctx context.Context, _ *rig, p process) error {
				_, err := p.Update(ctx, room, add("second"))
				return err
			},
			"a sweep": func(ctx context.Context, r *rig, p process) error { _, err := p.Sweep(ctx, r.sweep(3)); return err },
		} {
			t.Run(way.name+", "+name, func(t *testing.T) {
				if way.name == "backward" {
					long.Repeats(t)
				}
				for n, finished := 0, false; !finished && !t.Failed(); n++ {
					bubble(t, func(t *testing.T, r *rig) {
						r.fill(4)
						require.NoError(t, update(add("first"))(r.open(follow)))
						r.swept(way.before, r.sweep(5))
						sent := 0
						heal := r.dropFrom(func(args []string) bool {
							if strings.HasPrefix(args[0], "eval") {
								sent++
							}
							return sent > n
						})
						p := r.open(way.now)
						ctx, cancel := context.WithTimeout(t.Context(), time.Second)
						defer cancel()
						err := act(ctx, r, p)
						_ = p.Close()
						heal()
						finished = sent <= n
						require.True(t, err == nil || !finished, "%v", err)
						sleep(15 * time.Second) // the lease of a process that stopped

						v, readErr := r.open(follow).Read(t.Context(), room)
						require.NoError(t, readErr)
						want := "first,"
						unknown := strings.Contains(v.Text(), "second") && errors.Is(err, rmw.ErrOutcomeUnknown)
						if name == "an update" && err == nil || unknown {
							want += "second,"
						}
						assert.Equal(t, want, v.Text(), "stopped after command %d: %v", n, err)
						require.NoError(t, update(add("third"))(r.open(follow)))
						if n%2 == 0 { // otherwise the sweep finds the other keys half done
							r.requireFilled(4)
						}
						pass := r.swept(way.now, r.sweep(3))
						assert.Equal(t, 5, pass.Moved+pass.There+pass.Completed, "%+v", pass)
						r.requireFilled(4)
						v, err = r.open(follow).Read(t.Context(), room)
						require.NoError(t, err)
						assert.Equal(t, want+"third,", v.Text(), "stopped after command %d", n)
						for _, key := range []string{"k1", room.Name} {
							assert.Equal(t, way.where, r.where(key), "%s, stopped after command %d", key, n)
						}
					})
					require.True(t, n > 6 || !finished, "the test ended before the move did")
				}
			})
		}
	}
}

// The wait for the replicas, between a seal and its fill, does not count as time to live.
func TestExpiryMoves(t *testing.T) {
	for name, kind := range map[string]rmw.Kind{"string": rmw.KindString, "hash": rmw.KindHash} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				key := rmw.Key{Name: "k", Kind: kind}
				value := rmw.String("v")
				if kind == rmw.KindHash {
					value = rmw.Hash(map[string]string{"f": "v", "g": ""})
				}
				p := r.open(follow)
				_, err := p.Update(t.Context(), key, set(value.WithTTL(time.Hour)))
				require.NoError(t, err)
				began := time.Now()
				for i := range 10 {
					sleep(time.Minute)
					cfg := cutover.Config{Stage: []cutover.Stage{forward, reverse}[i%2], Replicas: 1}
					p := r.openWith(cfg, network{replicas: 1, waits: func(int) { sleep(900 * time.Millisecond) }})
					_, err := p.Update(t.Context(), key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur, nil })
					require.NoError(t, err)
					v, left, err := p.Peek(t.Context(), key)
					require.NoError(t, err)
					assert.True(t, v.Equal(value))
					// A move extends the expiry by the time that the fill was on its way.
					assert.InDelta(t, time.Hour-time.Since(began), left, float64(time.Duration(i+1)*2*time.Millisecond))
				}
				sleep(51 * time.Minute)
				v, err := r.open(follow).Read(t.Context(), key)
				require.NoError(t, err)
				assert.False(t, v.Exists())
			})
		})
	}
}

func TestKeysThatStay(t *testing.T) {
	large := strings.Repeat("x", 1<<20+1)
	for name, tc := range map[string]struct {
		key   rmw.Key
		value rmw.Value
		own   bool // the new store has a value of its own
	}{
		"a large string": {room, rmw.String(large), false},
		"a large hash": {
			rmw.Key{Name: "h", Kind: rmw.KindHash}, rmw.Hash(map[string]string{"a": large[:1<<19], "b": large[:1<<19+1]}), false,
		},
		"the new store has a value of its own": {room, rmw.String("old"), true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				p := r.open(follow)
				_, err := p.Update(t.Context(), tc.key, set(tc.value))
				require.NoError(t, err)
				stage := forward
				if tc.own {
					require.NoError(t, p.clients[1].Set(t.Context(), tc.key.Name, "foreign", 0).Err())
					stage = follow // at forward, a process looks in the new store first
				}
				_, err = r.open(stage).Update(t.Context(), tc.key, set(tc.value.WithTTL(time.Hour)))
				require.NoError(t, err)
				v, left, err := r.open(stage).Peek(t.Context(), tc.key)
				require.NoError(t, err)
				assert.True(t, v.Equal(tc.value))
				assert.InDelta(t, time.Hour, left, float64(time.Second))
			})
		})
	}
}

// A key that exists in neither store moves only if fn writes it.
func TestAbsentKeysMoveLate(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		p := r.open(forward)
		_, err := p.Read(t.Context(), room)
		require.NoError(t, err)
		res, err := p.Update(t.Context(), room, func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur, nil })
		require.NoError(t, err)
		assert.False(t, res.Written)
		assert.Equal(t, [2]string{"none", "none"}, r.where(room.Name))
		_, err = p.Update(t.Context(), room, add("x"))
		require.NoError(t, err)
		require.NoError(t, p.Close())
		assert.Equal(t, [2]string{"list", "string"}, r.where(room.Name))
	})
}

func TestInvalid(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{})
	side := cutover.Side{Store: rmwtest.NewMemory(), Redis: rdb}
	auto, err := rdb.AutoPipelineWithOptions(&redis.AutoPipelineOptions{FullDuplex: true})
	require.NoError(t, err)
	fullDuplex := cutover.Side{Store: side.Store, Redis: auto}
	for name, s := range map[string]*cutover.Store{
		"no old store":   cutover.New(cutover.Side{Redis: side.Redis}, side, cutover.Config{}),
		"no new client":  cutover.New(side, cutover.Side{Store: side.Store}, cutover.Config{}),
		"typed nil":      cutover.New(cutover.Side{Store: side.Store, Redis: (*redis.Client)(nil)}, side, cutover.Config{}),
		"FullDuplex old": cutover.New(fullDuplex, side, cutover.Config{}),
		"FullDuplex new": cutover.New(side, fullDuplex, cutover.Config{}),
		"MaxSeal":        cutover.New(side, side, cutover.Config{MaxSeal: -1}),
		"Replicas":       cutover.New(side, side, cutover.Config{Replicas: -1}),
		"NewReplicas":    cutover.New(side, side, cutover.Config{NewReplicas: -1}),
		"Percent":        cutover.New(side, side, cutover.Config{Stage: cutover.Stage{Percent: 101}}),
		"Phase":          cutover.New(side, side, cutover.Config{Stage: cutover.Stage{Phase: 9}}),
		"no key":         cutover.New(side, side, cutover.Config{}),
	} {
		t.Run(name, func(t *testing.T) {
			key := rmw.Key{Name: "k"}
			if name == "no key" {
				key.Name = ""
			}
			_, err := s.Update(t.Context(), key, add("x"))
			require.ErrorIs(t, err, rmw.ErrInvalid)
			_, err = s.Read(t.Context(), key)
			require.ErrorIs(t, err, rmw.ErrInvalid)
			_, _, err = s.Peek(t.Context(), key)
			require.ErrorIs(t, err, rmw.ErrInvalid)
			require.NoError(t, s.Close())
			_, err = s.Read(t.Context(), key)
			require.Error(t, err)
		})
	}
}

func TestCompleteUsesTheNewStoreOnly(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		require.NoError(t, update(add("x"))(r.open(forward)))
		sleep(time.Second)
		r.proxies[0].Inject(proxytest.Fault{Match: func(args []string) bool { return true }, Times: -1, Action: proxytest.DropRequest})
		p := r.open(cutover.Stage{Phase: cutover.Complete})
		require.NoError(t, update(add("y"))(p))
		requireText(t, p, "x,y,")
		_, err := p.Update(t.Context(), rmw.Key{Name: "fresh"}, add("z"))
		require.NoError(t, err)

		reserve := p.clients[1].Eval(t.Context(), markerScript, []string{"reserved"}, "reserve", "0.1y2p0ij32e8e7")
		require.NoError(t, reserve.Err()) // nothing was sealed for it
		_, err = p.Update(t.Context(), rmw.Key{Name: "reserved"}, add("z"))
		require.NoError(t, err)
	})
}
