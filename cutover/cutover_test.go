package cutover_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow"
)

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
			"a sweep": func(ctx context.Context, r *rig, p process) error {
				_, err := operate.Sweep(ctx, p.Store, r.old(3))
				return err
			},
		} {
			t.Run(way.name+", "+name, func(t *testing.T) {
				if way.name == "backward" {
					long.Repeats(t)
				}
				t.Parallel()
				for n, finished := 0, false; !finished && !t.Failed(); n++ {
					bubble(t, func(t *testing.T, r *rig) {
						r.fill(4)
						r.open(follow).add("first")
						r.swept(way.before)
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
						r.open(follow).add("third")
						if n%2 == 0 { // otherwise the sweep finds the other keys half done
							r.requireFilled(4)
						}
						pass := r.swept(way.now)
						assert.Equal(t, 5, pass.Moved+pass.There+pass.Completed, "%+v", pass)
						r.requireFilled(4)
						r.open(follow).requireText(want+"third,", "stopped after command %d", n)
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

// A process that finds the key absent in both stores is slow. Meanwhile a second one writes the key to the
// old store, and a third one seals it there and stops. No late command of the first one loses the value.
func TestKeyIsCreatedWhileAnotherProcessFindsItAbsent(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		for _, proxy := range r.proxies {
			proxy.Inject(proxytest.Fault{
				Match: isStep("unreserve"), Action: proxytest.ExecuteLater, Delay: 10 * time.Second, Times: -1,
			})
		}
		require.NoError(t, r.open(forward).change(keep))
		r.open(follow).add("x")
		heal := r.dropFrom(isStep("fill"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := r.open(forward).Update(ctx, room, add("y"))
		require.Error(t, err)
		heal()
		require.Equal(t, "list", r.where(room.Name)[0], "the seal")
		sleep(time.Minute) // the late command, and the lease of the third process
		r.open(follow).requireText("x,")
	})
}

// The wait for the replicas, between a seal and its fill, does not count as time to live.
func TestExpiryMoves(t *testing.T) {
	for key, value := range map[rmw.Key]rmw.Value{
		{Name: "string"}: rmw.String("v"), {Name: "hash", Kind: rmw.KindHash}: rmw.Hash(map[string]string{"f": "v", "g": ""}),
	} {
		run(t, key.Name, func(t *testing.T, r *rig) {
			r.open(follow).put(key, value.WithTTL(time.Hour))
			began := time.Now()
			for i := range 10 {
				sleep(time.Minute)
				cfg := cutover.Config{Stage: []cutover.Stage{forward, reverse}[i%2], Replicas: 1}
				p := r.openWith(cfg, network{replicas: 1, waits: func(int) { sleep(900 * time.Millisecond) }})
				_, err := p.Update(t.Context(), key, keep)
				require.NoError(t, err)
				v, left := p.peek(key)
				assert.True(t, v.Equal(value))
				// A move extends the expiry by the time that the fill was on its way.
				assert.InDelta(t, time.Hour-time.Since(began), left, float64(time.Duration(i+1)*2*time.Millisecond))
			}
			sleep(51 * time.Minute)
			v, _ := r.open(follow).peek(key)
			assert.False(t, v.Exists())
		})
	}
}

// sealed puts a value that lives for a minute into the old store, where a sweep of the process seals it and stops.
func (r *rig) sealed(p process) (began time.Time) {
	r.open(follow).put(room, rmw.String("v").WithTTL(time.Minute))
	began = time.Now()
	r.stopAt("fill", p)
	require.Equal(r.t, [2]string{"list", "list"}, r.where(room.Name))
	return began
}

// ahead makes the clock of a server an hour fast, for the script of a move.
func ahead(script string) string {
	return strings.Replace(script, "t[1] * 1000", "(t[1] + 3600) * 1000", 1)
}

// durations is a negative control: the value has the time left that it had when it was sealed.
func durations(script string) string {
	return strings.Replace(script, "math.max(0, pttl - (time() - at))", "tonumber(pttl)", 1)
}

// A process stops after it has sealed a key, and another one moves it on, 20 seconds later. The clock of
// one server is an hour ahead. Negative control: the seal does not keep the time.
func TestExpiryWithClocksApart(t *testing.T) {
	left := func(r *rig, fast int, control func(string) string) time.Duration {
		open := func() process {
			p := r.open(forward)
			p.clients[fast].AddHook(network{control: func(script string) string { return ahead(control(script)) }})
			p.clients[1-fast].AddHook(network{control: control})
			return p
		}
		began := r.sealed(open())
		sleep(20*time.Second - time.Since(began))
		open().sweep(r.old(16))
		require.Equal(r.t, [2]string{"list", "string"}, r.where(room.Name))
		_, left := r.open(forward).peek(room)
		return left + time.Since(began)
	}
	require.NotEqual(t, markerScript, ahead(markerScript))
	for fast := range 2 {
		run(t, fmt.Sprint("side ", fast), func(t *testing.T, r *rig) {
			got := left(r, fast, func(script string) string { return script })
			assert.InDelta(t, time.Minute, got, float64(5*time.Millisecond))
		})
		run(t, fmt.Sprint("control, side ", fast), func(t *testing.T, r *rig) {
			assert.Greater(t, left(r, fast, durations), time.Minute+5*time.Second)
		})
	}
}

// A value expires while it is sealed. The next process that looks finds nothing.
func TestExpiryWhileSealed(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.sealed(r.open(forward))
		sleep(time.Minute)
		v, _ := r.open(follow).peek(room)
		assert.False(t, v.Exists())
		assert.Equal(t, "none", r.where(room.Name)[1])
	})
}

// The keys have the names of their types.
func TestLargeKeysStay(t *testing.T) {
	large := strings.Repeat("x", 1<<20+1)
	for key, value := range map[rmw.Key]rmw.Value{
		{Name: "string"}:                   rmw.String(large),
		{Name: "hash", Kind: rmw.KindHash}: rmw.Hash(map[string]string{"a": large[:1<<19], "b": large[:1<<19+1]}),
	} {
		run(t, key.Name, func(t *testing.T, r *rig) {
			r.open(follow).put(key, value)
			r.open(forward).put(key, value.WithTTL(time.Hour))
			v, left := r.open(forward).peek(key)
			assert.True(t, v.Equal(value))
			assert.InDelta(t, time.Hour, left, float64(time.Second))
			assert.Equal(t, key.Name, r.where(key.Name)[0])
		})
	}
}

// A key that exists in neither store moves only if fn writes it.
func TestAbsentKeysMoveLate(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		p := r.open(forward)
		p.requireText("")
		res, err := p.Update(t.Context(), room, keep)
		require.NoError(t, err)
		assert.False(t, res.Written)
		assert.Equal(t, [2]string{"none", "none"}, r.where(room.Name))
		calls := 0
		res, err = p.Update(t.Context(), room, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			calls++
			return add("x")(ctx, cur)
		})
		require.NoError(t, err)
		assert.Greater(t, calls, 1, "the key moves after the first call")
		assert.Equal(t, calls, res.Attempts)
		require.NoError(t, p.Close())
		assert.Equal(t, [2]string{"list", "string"}, r.where(room.Name))
	})
}

func TestCompleteUsesTheNewStoreOnly(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.open(forward).add("x")
		sleep(time.Second)
		r.proxies[0].Inject(proxytest.Fault{Match: every, Times: -1, Action: proxytest.DropRequest})
		p := r.open(complete)
		p.add("y")
		p.requireText("x,y,")
		p.put(rmw.Key{Name: "fresh"}, rmw.String("z"))

		reserve := p.clients[1].Eval(t.Context(), markerScript, []string{"reserved"}, "reserve", "0.1y2p0ij32e8e7")
		require.NoError(t, reserve.Err()) // nothing was sealed for it
		p.put(rmw.Key{Name: "reserved"}, rmw.String("z"))
	})
}

func TestInvalid(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	side := cutover.Side{Store: rmwtest.NewMemory(), Redis: rdb}
	auto, err := rdb.AutoPipelineWithOptions(&redis.AutoPipelineOptions{FullDuplex: true})
	require.NoError(t, err)
	fullDuplex := cutover.Side{Store: side.Store, Redis: auto}
	ring := redis.NewRing(&redis.RingOptions{})
	defer func() { require.NoError(t, ring.Close()) }()
	rings := cutover.Side{Store: side.Store, Redis: ring}
	for name, s := range map[string]*cutover.Store{
		"Ring old":       cutover.New(rings, side, cutover.Config{}),
		"Ring new":       cutover.New(side, rings, cutover.Config{}),
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
		key := rmw.Key{Name: strings.TrimPrefix(name, "no key")}
		_, err := s.Update(t.Context(), key, add("x"))
		require.ErrorIs(t, err, rmw.ErrInvalid, name)
		_, err = s.Read(t.Context(), key)
		require.ErrorIs(t, err, rmw.ErrInvalid, name)
		_, _, err = s.Peek(t.Context(), key)
		require.ErrorIs(t, err, rmw.ErrInvalid, name)
		require.NoError(t, s.Close())
		_, err = s.Read(t.Context(), key)
		require.Error(t, err, name)
	}
}

// Code that knows nothing of a cut-over updates the old store beside movers. Each update is
// acknowledged and kept, or refused.
func TestOldCodeIsRefusedOrRight(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		client := func() *redis.Client {
			rdb := redis.NewClient(r.proxies[0].Options())
			rdb.AddHook(network{})
			t.Cleanup(func() { _ = rdb.Close() })
			return rdb
		}
		through := func(s rmw.Updater) func(id string) error {
			return func(id string) error { _, err := s.Update(t.Context(), room, add(id)); return err }
		}
		raw, viaCAS, viaLock := client(), cas.New(client(), cas.Config{}), lockupdate.New(client(), lockupdate.Config{})
		t.Cleanup(func() { _, _ = viaCAS.Close(), viaLock.Close() })
		refused, acked := 0, []string{}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for name, update := range map[string]func(id string) error{
			"mover0": through(r.open(flips{})), "mover1": through(r.open(flips{})), "cas": through(viaCAS), "lockupdate": through(viaLock),
			"watch": func(id string) error {
				for {
					err := raw.Watch(t.Context(), func(tx *redis.Tx) error {
						text, err := tx.Get(t.Context(), room.Name).Result()
						if err != nil && !errors.Is(err, redis.Nil) {
							return err
						}
						_, err = tx.TxPipelined(t.Context(), func(pipe redis.Pipeliner) error {
							return pipe.Set(t.Context(), room.Name, text+id+",", 0).Err()
						})
						return err
					}, room.Name)
					if !errors.Is(err, redis.TxFailedErr) {
						return err
					}
				}
			},
		} {
			mover := strings.HasPrefix(name, "mover")
			wg.Go(func() {
				for i := range 100 {
					id := fmt.Sprintf("%s-%d", name, i)
					err := update(id)
					mu.Lock()
					switch {
					case err == nil:
						acked = append(acked, id)
					case !mover && (errors.Is(err, rmw.ErrWrongKind) || strings.HasPrefix(err.Error(), "WRONGTYPE")):
						refused++
					default:
						t.Errorf("%s: %v", id, err)
					}
					mu.Unlock()
					if !mover {
						sleep(time.Millisecond)
					}
				}
			})
		}
		wg.Wait()
		v, err := r.direct().Read(t.Context(), room)
		require.NoError(t, err)
		assert.ElementsMatch(t, acked, strings.Split(strings.TrimSuffix(v.Text(), ","), ","))
		assert.Positive(t, refused)
		assert.Greater(t, len(acked), 200+20, "old code was acknowledged, too")
	})
}

// The scratch keys of a shadow before a cut-over close no gate of the first move.
func TestShadowBeforeCutover(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		p := r.open(follow)
		s := shadow.New(p.stores[0], p.stores[1], shadow.Config{})
		for range 3 {
			_, err := s.Update(t.Context(), room, add("x"))
			require.NoError(t, err)
		}
		require.NoError(t, s.Drain(t.Context()))
		require.NoError(t, s.Close())
		for _, op := range s.Report().Operations {
			assert.Empty(t, op.Findings)
		}
		for _, g := range p.preflight(r.both(16)) {
			assert.NotEqual(t, operate.GateClosed, g.State, g.Name)
		}
	})
}
