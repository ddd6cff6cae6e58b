package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

var played = sync.OnceValue(play)

// leastShare is the least that a process gets of an equal share of one key.
const leastShare = 0.15

// The polls that an acquisition takes do not grow with the number of processes, whatever a round
// trip and fn take, and no process starves.
func TestLongPollsDoNotGrow(t *testing.T) {
	long.Only(t)
	check := func(f figures) {
		least := leastShare
		if f.keys > 1 { // some draw the hot keys more often than others
			least = 0.1
		}
		at := fmt.Sprint(f.processes, " processes, ", f.keys, " keys, round trip ", f.trip, ", fn ", f.work)
		assert.Less(t, f.pollsPerAcquisition(), 15.0, at)
		assert.Greater(t, f.least(), least, at)
	}
	tables := played()
	for _, table := range tables[:len(tables)-1] {
		for _, f := range table.runs {
			check(f)
			if f.keys == 1 && f.processes < 1000 {
				check(run(f.load, seed+1))
				check(run(f.load, seed+2))
			}
		}
	}
}

// Negative control: if no process knows its usual wait, the polls grow with the processes.
func TestLongPollsGrowWithoutTheUsualWait(t *testing.T) {
	long.Only(t)
	tables := played()
	without := tables[len(tables)-1].runs
	few, many := without[1], without[2]
	require.Equal(t, []int{16, 128}, []int{few.processes, many.processes})
	assert.Greater(t, many.pollsPerAcquisition(), 4*few.pollsPerAcquisition())
}

// The model behaves as Stores behind an emulated server do.
func TestModelAgreesWithStores(t *testing.T) {
	for _, n := range []int{4, 16} {
		synctest.Test(t, func(t *testing.T) {
			l := loadOf(n, 1, 2*time.Millisecond, 5*time.Millisecond)
			l.warm = 0
			l.lasting = time.Duration(n) * time.Second // as many acquisitions for each process
			want, got := run(l, seed), withStores(t, l)
			t.Logf("%d processes: model %.2f polls per acquisition, %d acquired, least %.2f; Stores %.2f, %d, %.2f", n,
				want.pollsPerAcquisition(), want.acquired, want.least(), got.pollsPerAcquisition(), got.acquired, got.least())
			assert.InEpsilon(t, want.pollsPerAcquisition(), got.pollsPerAcquisition(), 0.35)
			assert.InEpsilon(t, want.acquired, got.acquired, 0.25)
			assert.Greater(t, got.least(), leastShare)
		})
	}
}

// withStores plays a load with Stores.
func withStores(t *testing.T, l load) figures {
	proxy, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Codis32(), Engines: 1, InMemory: true})
	require.NoError(t, err)
	defer func() { assert.NoError(t, proxy.Close()) }()
	proxy.Inject(proxytest.Fault{Match: func([]string) bool { return true }, Times: -1, Action: proxytest.Delay, Delay: l.trip})
	f := figures{load: l, served: make([]int, l.processes)}
	end := time.Now().Add(l.lasting)
	var all sync.WaitGroup
	var mu sync.Mutex
	for i := range l.processes {
		all.Go(func() {
			rdb := redis.NewClient(proxy.Options())
			s := lockupdate.New(rdb, lockupdate.Config{MasterReads: true})
			for time.Now().Before(end) {
				_, err := s.Update(t.Context(), rmw.Key{Name: "k"}, func(_ context.Context, v rmw.Value) (rmw.Value, error) {
					time.Sleep(l.work)
					return rmw.String(fmt.Sprint(len(v.Text()), i, time.Now().UnixNano())), nil
				})
				assert.NoError(t, err)
				mu.Lock()
				f.served[i]++
				mu.Unlock()
			}
			mu.Lock()
			f.polls += int(s.Stats().Polled + s.Stats().Acquired)
			f.acquired += int(s.Stats().Acquired)
			mu.Unlock()
			assert.NoError(t, s.Close())
			assert.NoError(t, rdb.Close())
		})
	}
	all.Wait()
	return f
}

// The command writes docs/results/scale.md.
func TestLongPageIsUpToDate(t *testing.T) {
	long.Only(t)
	var now strings.Builder
	require.NoError(t, write(&now, played()))
	page, err := os.ReadFile("../../../../docs/results/scale.md")
	require.NoError(t, err)
	assert.True(t, now.String() == string(page), "run: make scale")
}
