package load

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

func small(t *testing.T, topology string) Config {
	return Config{Duration: 3 * time.Second, Seed: 1, Keys: 500, Goroutines: 100, Pool: 16, Topology: topology, Dir: t.TempDir()}
}

// A small load over each topology; make load plays a large one.
func TestLongLoad(t *testing.T) {
	long.Only(t)
	for _, topology := range append(Topologies(), "redis, on demand", "redis, sweep", "nutcracker, sweep") {
		t.Run(topology, func(t *testing.T) {
			topology, variant, _ := strings.Cut(topology, ", ")
			needs(t, topology)
			cfg := small(t, topology)
			cfg.OnDemand = variant == "on demand"
			if variant == "sweep" {
				cfg.Sweep = 500
			}
			report, err := Run(t.Context(), cfg)
			require.NoError(t, err)
			var table bytes.Buffer
			require.NoError(t, report.Table(&table))
			assert.False(t, report.Bad(), table.String())
			for line := range strings.Lines(table.String()) {
				assert.LessOrEqual(t, len(strings.TrimRight(line, "\n")), 80, line)
			}
		})
	}
}

// needs skips, or fails, where there is no such server.
func needs(t *testing.T, topology string) {
	server := servers.Redis(t)
	if topology == "nutcracker" {
		servers.Nutcracker(t, []string{server.Addr}, 1)
	}
}

func TestConfigsThatCannotWork(t *testing.T) {
	for want, harm := range map[string]func(cfg *Config){
		"a duration of at least 1s is needed":                                 func(cfg *Config) { cfg.Duration = 0 },
		"at least 2 keys and 4 goroutines are needed":                         func(cfg *Config) { cfg.Goroutines = 3 },
		"a pool of at least 8 connections is needed: 2 for each of 4 stores":  func(cfg *Config) { cfg.Pool = 7 },
		"a sweep needs a positive rate":                                       func(cfg *Config) { cfg.Sweep = -1 },
		"a pool of at least 16 connections is needed: 4 for each of 4 stores": func(cfg *Config) { cfg.Sweep, cfg.Pool = 1, 15 },
		"no topology is called moon; there are redis, nutcracker, codis":      func(cfg *Config) { cfg.Topology = "moon" },
	} {
		cfg := small(t, "redis")
		harm(&cfg)
		_, err := Run(t.Context(), cfg)
		assert.EqualError(t, err, want)
	}
}

// mistakes are those of four stores together.
type mistakes struct {
	opened, calls atomic.Int64
	mu            sync.Mutex
	kept          [][]byte
	end           chan struct{} // of the goroutines that they leave
}

// spoiled is a store with all of them.
type spoiled struct {
	*lockupdate.Store
	*mistakes
	rdb     *redis.Client
	starved bool // its callers wait for no reason
	held    atomic.Bool
}

func (s *spoiled) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	n := s.calls.Add(1)
	if n%10 == 0 {
		s.mu.Lock()
		s.kept = append(s.kept, make([]byte, 2048))
		s.mu.Unlock()
	}
	if n%100 == 0 {
		go func() { <-s.end }()
	}
	if n%1000 == 0 && key.Label == "shared" {
		_, err := fn(ctx, rmw.Value{})
		return rmw.Result{}, err
	}
	if s.starved {
		wait := 100 * time.Millisecond
		if s.held.CompareAndSwap(false, true) {
			wait = 3 * patience // of one goroutine
		}
		_ = pause(ctx, wait)
	}
	return s.Store.Update(ctx, key, fn)
}

func (s *spoiled) Close() error {
	err := s.Store.Close()
	return errors.Join(err, s.rdb.Set(context.Background(), "/lock/load:1", "spoiled", 0).Err())
}

// The whole run has to find what each judge finds in what it is given.
func TestLongMistakesShow(t *testing.T) {
	long.Only(t)
	needs(t, "redis")
	m := &mistakes{end: make(chan struct{})}
	defer close(m.end)
	cfg := small(t, "redis")
	cfg.Duration *= 2 // or goroutines may have too few updates to compare
	cfg.open = func(rdb *redis.Client) store {
		return &spoiled{Store: lockupdate.New(rdb, lockupdate.Config{Lease: lease}), mistakes: m, rdb: rdb, starved: m.opened.Add(1) == 1}
	}
	report, err := Run(t.Context(), cfg)
	require.NoError(t, err)
	assert.True(t, report.Bad())
	assert.Subset(t, broken(report.Rows), []string{
		"  lost", "heap alive, first -> last round", "goroutines, first -> last round", "  updates of a store, least / fair share",
		"  updates of its goroutine, least / median", "  locks left", "  goroutines left",
	})
	assert.Equal(t, []string{"/lock/load:1"}, report.Ending.Locks)
}

// Whoever interrupts a run gets it back without goroutines.
func TestInterrupted(t *testing.T) {
	needs(t, "redis")
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	cfg := small(t, "redis")
	cfg.Progress = func(text string) {
		if strings.HasPrefix(text, "round 1") {
			cancel()
		}
	}
	_, err := Run(ctx, cfg)
	require.ErrorIs(t, err, context.Canceled)
	gone := func() bool { return runtime.NumGoroutine() <= before+1 } // one is Eventually's own
	require.Eventually(t, gone, 5*time.Second, 10*time.Millisecond)
}
