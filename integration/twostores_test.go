package integration

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/report"
)

// twoStores is a fleet that uses one server and shadows it on another.
type twoStores struct {
	t     *testing.T
	fleet []*shadow.Store
	paths []rmw.Store // of the candidate, per process
}

const (
	shadowProcesses = 3
	shadowClients   = 4
	shadowKeys      = 9
)

// shadowed opens a fleet with a candidate behind the given options. wrap may wrap its path; the hooks are
// for the candidate's clients.
func shadowed(
	t *testing.T, options func() *redis.Options, cfg lockupdate.Config, wrap func(rmw.Store) rmw.Store, hooks ...redis.Hook,
) *twoStores {
	t.Helper()
	open := func(opts *redis.Options) *redis.Client {
		rdb := redis.NewClient(opts)
		t.Cleanup(func() { assert.NoError(t, rdb.Close()) })
		return rdb
	}
	addr := servers.Redis(t).Addr
	f := &twoStores{t: t}
	for i := range shadowProcesses {
		old := cas.New(client(t, addr), cas.Config{MaxAttempts: 1000})
		t.Cleanup(func() { assert.NoError(t, old.Close()) })
		rdb := open(options())
		for _, h := range hooks {
			rdb.AddHook(h)
		}
		lock := lockupdate.New(rdb, cfg)
		t.Cleanup(func() { assert.NoError(t, lock.Close()) })
		path := rmw.Store(lock)
		if wrap != nil {
			path = wrap(path)
		}
		f.paths = append(f.paths, path)
		s := shadow.New(old, path, shadow.Config{Name: "sessions", Process: fmt.Sprint("p", i), Reads: 100, RedactSecret: []byte("fleet")})
		t.Cleanup(func() { s.Kill("the test is over") })
		f.fleet = append(f.fleet, s)
	}
	return f
}

type refused struct{}

func (refused) Error() string { return "refused" }
func (refused) Code() string  { return "refused" }

// change returns a random operation of a service: its name, its key's TTL and its function.
func (f *twoStores) change(r *rand.Rand, kind rmw.Kind) (string, time.Duration, rmw.UpdateFunc) {
	set := func(text string) rmw.Value {
		if kind == rmw.KindHash {
			return rmw.Hash(map[string]string{"n": text, "state": "open"})
		}
		return rmw.String(`{"n":` + text + `,"state":"open"}`)
	}
	n := strconv.Itoa(r.IntN(1000))
	always := func(v rmw.Value) rmw.UpdateFunc {
		return func(context.Context, rmw.Value) (rmw.Value, error) { return v, nil }
	}
	switch r.IntN(10) {
	case 0:
		return "open", 30 * time.Minute, always(set(n))
	case 1:
		return "keep for ever", rmw.NoTTL, always(set(n))
	case 2:
		return "delete", 0, always(rmw.Value{})
	case 3:
		return "refuse", 0, func(context.Context, rmw.Value) (rmw.Value, error) { return rmw.Value{}, refused{} }
	case 4:
		return "look", 0, func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur, nil }
	case 5:
		return "touch", 0, func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur.WithTTL(time.Hour), nil }
	case 6:
		return "expire", 200 * time.Millisecond, always(set(n))
	case 7:
		return "toggle", 0, always(set(strconv.Itoa(r.IntN(2))))
	}
	return "write", 0, always(set(n))
}

// traffic makes all clients of all processes do so many calls, half of them on two keys.
func (f *twoStores) traffic(seed uint64, calls int) {
	f.t.Helper()
	var all sync.WaitGroup
	for i, s := range f.fleet {
		for j := range shadowClients {
			r := rand.New(rand.NewPCG(seed, uint64(10*i+j)))
			all.Go(func() {
				for range calls {
					n := r.IntN(2 * shadowKeys)
					if n >= shadowKeys {
						n %= 2
					}
					key := rmw.Key{Name: fmt.Sprint("k", n), Label: "string"}
					if n%2 == 1 {
						key.Kind, key.Label = rmw.KindHash, "hash"
					}
					var err error
					if r.IntN(5) == 0 {
						_, err = s.Read(f.t.Context(), key)
					} else {
						var name string
						var fn rmw.UpdateFunc
						name, key.TTL, fn = f.change(r, key.Kind)
						_, err = s.Update(rmw.WithOperation(f.t.Context(), name), key, fn)
					}
					if !errors.Is(err, refused{}) {
						assert.NoError(f.t, err)
					}
				}
			})
		}
	}
	all.Wait()
}

// drain waits until everything is compared.
func (f *twoStores) drain() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	for _, s := range f.fleet {
		require.NoError(f.t, s.Drain(ctx))
	}
}

// merged merges the reports of the fleet directly.
func (f *twoStores) merged() *report.Report {
	f.t.Helper()
	var all []*report.Report
	for _, s := range f.fleet {
		all = append(all, s.Report())
	}
	r, err := shadow.Merge(all...)
	require.NoError(f.t, err)
	return r
}

// report returns the report of the fleet, published under a key per process and collected.
func (f *twoStores) report() *report.Report {
	f.t.Helper()
	for i, s := range f.fleet {
		require.NoError(f.t, s.Publish(f.t.Context(), f.paths[i], "shadow:sessions"))
	}
	got, err := shadow.Collect(f.t.Context(), f.paths[0], "shadow:sessions")
	require.NoError(f.t, err)
	assert.Len(f.t, got.Processes, len(f.fleet))
	assert.Equal(f.t, len(f.merged().Operations), len(got.Operations))
	for _, op := range got.Operations {
		for c, tally := range op.Tallies {
			var passed, classed int64
			for _, n := range tally.NotCompared {
				passed += n
			}
			for _, n := range tally.Classes {
				classed += n
			}
			assert.Equal(f.t, tally.Eligible, tally.Compared+passed+tally.InFlight, "%s %s", op.Name, c)
			assert.Equal(f.t, tally.Compared, classed, "%s %s", op.Name, c)
		}
	}
	return got
}

// blocking returns the findings that block a cutover: comparator, class and path.
func blocking(r *report.Report) map[string]int64 {
	found := map[string]int64{}
	for _, op := range r.Operations {
		for _, f := range op.Findings {
			if f.Class.Blocks() {
				found[string(f.Comparator)+" "+string(f.Class)+" "+f.Path] += f.Count
			}
		}
	}
	return found
}

// told returns the text of a report that should be empty.
func told(r *report.Report) (text string) {
	for _, s := range r.Samples {
		if s.Class.Blocks() {
			text += fmt.Sprintf("%+v\n", s)
		}
	}
	return text
}
