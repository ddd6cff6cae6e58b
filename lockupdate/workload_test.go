package lockupdate_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/testing/long"
	locking "github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// workload runs random updates from several processes on a few keys, under random faults.
type workload struct {
	cfg             lockupdate.Config
	unguarded       bool // a negative control
	locklessWriters bool // writers that take no lock
	processes       int
	goroutines      int // of each process
	calls           int // of each goroutine
}

// keys returns two keys of one kind that share a lock, and two of different kinds that share
// another.
func (w workload) keys() []rmw.Key {
	keys := []rmw.Key{{Name: "a"}, {Name: "b"}, {Name: "c", TTL: time.Hour}, {Name: "h", Kind: rmw.KindHash}}
	if w.cfg.Commit != lockupdate.CommitGuarded {
		keys[3].Kind = rmw.KindString
	}
	return keys
}

func deletable(key rmw.Key) bool { return key.Name == "c" }

func sharedLockName(key string) string {
	if key == "a" || key == "b" {
		return "/lock/ab"
	}
	return "/lock/ch"
}

// run returns the violations.
func (w workload) run(t *testing.T, seed uint64) []string {
	t.Helper()
	w.cfg.LockName = sharedLockName
	profile := proxycompat.Codis32()
	if seed%2 == 1 {
		profile = proxycompat.Redis() // for WATCH
	}
	f := newFixtureOn(t, profile, w.cfg)
	if w.unguarded {
		f.unguard()
	}
	remove := w.faults(f, seed)
	histories := map[string]*history{}
	for _, key := range w.keys() {
		histories[key.Name] = &history{appendOnly: !deletable(key)}
	}
	var wg sync.WaitGroup
	spawn := func(name string, stream uint64, one func(rng *rand.Rand, key rmw.Key, id string, h *history)) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, stream))
			for i := range w.calls {
				key := w.keys()[rng.IntN(4)]
				one(rng, key, fmt.Sprintf("%s.%d", name, i), histories[key.Name])
				time.Sleep(time.Duration(1 + rng.IntN(1_000_000)))
			}
		})
	}
	var stores []*lockupdate.Store
	for p := range w.processes {
		store := f.another(w.cfg)
		stores = append(stores, store)
		for g := range w.goroutines {
			spawn(fmt.Sprintf("%d.%d", p, g), uint64(p*100+g), func(rng *rand.Rand, key rmw.Key, id string, h *history) {
				newOp(rng, key, id).call(t.Context(), store, h)
			})
		}
	}
	if w.locklessWriters {
		w.addLocklessWriters(t, f, spawn)
	}
	wg.Wait()
	remove()
	time.Sleep(time.Minute) // late commands are executed
	for _, store := range stores {
		lockupdate.Settle(store)
		require.NoError(t, store.Close())
	}
	var wrong []string
	for _, key := range w.keys() {
		if n := f.direct().Exists(t.Context(), sharedLockName(key.Name)).Val(); n != 0 {
			wrong = append(wrong, "a lock is left behind")
		}
		v := f.value(key)
		for _, violation := range histories[key.Name].audit(listOf(v)) {
			wrong = append(wrong, key.Name+": "+violation)
		}
	}
	return wrong
}

// addLocklessWriters adds a writer of plain commands, and one with WATCH where no proxy refuses it.
func (w workload) addLocklessWriters(t *testing.T, f *fixture, spawn func(string, uint64, func(*rand.Rand, rmw.Key, string, *history))) {
	rdb := f.direct()
	spawn("plain", 1000, func(_ *rand.Rand, key rmw.Key, id string, _ *history) {
		if key.Kind == rmw.KindString {
			assert.NoError(t, rdb.Append(t.Context(), key.Name, id+",").Err())
		}
	})
	if f.rdb.Options().MaintNotificationsConfig == nil {
		return
	}
	legacy := cas.New(f.direct(), cas.Config{})
	t.Cleanup(func() { require.NoError(t, legacy.Close()) })
	spawn("watch", 1001, func(rng *rand.Rand, key rmw.Key, id string, h *history) {
		newOp(rng, key, id).call(t.Context(), legacy, h)
	})
}

// faults makes one command in ten fail, and delays the others.
func (w workload) faults(f *fixture, seed uint64) (remove func()) {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 7))
	var removes []func()
	inject := func(chance float64, script string, fault proxytest.Fault) {
		fault.Times = -1
		fault.Match = func(args []string) bool {
			name := lockupdate.RequestName(args)
			if name == strings.ToUpper(args[0]) || script != "" && name != script {
				return false
			}
			mu.Lock()
			defer mu.Unlock()
			return rng.Float64() < chance
		}
		removes = append(removes, f.proxy.Inject(fault))
	}
	if w.cfg.Lease > 0 { // a stalled renewal loses the lease
		inject(0.7, "renew", proxytest.Fault{Action: proxytest.Delay, Delay: 2 * w.cfg.Lease})
	}
	inject(0.015, "", proxytest.Fault{Action: proxytest.DropRequest})
	inject(0.015, "", proxytest.Fault{Action: proxytest.DropReply})
	inject(0.005, "", proxytest.Fault{Action: proxytest.HangRequest})
	inject(0.005, "", proxytest.Fault{Action: proxytest.HangReply})
	inject(0.02, "", proxytest.Fault{Action: proxytest.ExecuteLater, Delay: 3 * time.Millisecond, Text: connReset})
	inject(0.01, "", proxytest.Fault{Action: proxytest.ExecuteLater, Delay: 30 * time.Millisecond})
	inject(0.01, "", proxytest.Fault{Action: proxytest.RefuseWith, Text: "LOADING Redis is loading the dataset in memory"})
	inject(0.02, "", proxytest.Fault{Action: proxytest.Delay, Delay: 20 * time.Millisecond})
	rdb := f.direct()
	inject(0.01, "commit_string", proxytest.Fault{Action: proxytest.DelayReply, Delay: time.Millisecond, Do: func() {
		_ = rdb.Del(context.Background(), "/lock/ab", "/lock/ch").Err() // a failover may lose locks
	}})
	inject(1, "", proxytest.Fault{Action: proxytest.DelayReply, Delay: 200 * time.Microsecond})
	return func() {
		for _, remove := range removes {
			remove()
		}
	}
}

type op struct {
	key    rmw.Key
	id     string
	action string
	pause  time.Duration // in fn
	limit  time.Duration // of ctx
	given  rmw.Value     // to fn, the last time
}

func newOp(rng *rand.Rand, key rmw.Key, id string) *op {
	actions := []string{
		"append", "append", "append", "append", "append", "append",
		"keep", "keep", "abort", "panic", "exit", "cancel", "wrong kind", "section", "try",
	}
	if deletable(key) {
		actions = append(actions, "delete")
	}
	o := &op{key: key, id: id, action: actions[rng.IntN(len(actions))]}
	if rng.IntN(4) == 0 {
		o.pause = time.Duration(rng.IntN(int(8 * time.Millisecond)))
	}
	if rng.IntN(4) == 0 {
		o.limit = time.Duration(1 + rng.IntN(int(20*time.Millisecond)))
	}
	return o
}

// call makes the call on its own goroutine, which fn may end.
func (o *op) call(ctx context.Context, store rmw.Store, h *history) {
	ctx, cancel := context.WithCancel(ctx)
	if o.limit > 0 {
		ctx, cancel = context.WithTimeout(ctx, o.limit)
	}
	defer cancel()
	if o.action == "section" || o.action == "try" {
		o.enter(ctx, store)
		return
	}
	minLen := h.acknowledgedLen()
	var res rmw.Result
	err := errNoReturn
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		res, err = store.Update(ctx, o.key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			o.given = cur
			time.Sleep(o.pause)
			return o.fn(ctx, cancel, cur)
		})
	}()
	<-done
	h.record(o, minLen, res, err)
}

// enter takes the lock of the key for a critical section, if the store has locks.
func (o *op) enter(ctx context.Context, store rmw.Store) {
	l, ok := store.(locking.Locker)
	if !ok {
		return
	}
	take := l.WithLock
	if o.action == "try" {
		take = l.TryLock
	}
	_ = take(ctx, o.key.Name, func(context.Context) error { time.Sleep(o.pause); return nil })
}

var errNoReturn = errors.New("fn did not return")

func (o *op) fn(_ context.Context, cancel func(), cur rmw.Value) (rmw.Value, error) {
	switch o.action {
	case "keep":
		return cur, nil
	case "abort":
		return rmw.Value{}, errRoomFull
	case "delete":
		return rmw.Value{}, nil
	case "panic":
		panic("a bug in fn")
	case "exit":
		runtime.Goexit()
	case "cancel":
		cancel()
	case "wrong kind":
		if o.key.Kind == rmw.KindString {
			return rmw.Hash(map[string]string{o.id: ""}), nil
		}
		return rmw.String(o.id), nil
	}
	if o.key.Kind == rmw.KindHash {
		return cur.With(o.id, strconv.Itoa(cur.Len())), nil
	}
	return rmw.String(cur.Text() + o.id + ","), nil
}

// listOf returns the ids in a value, in the order of their updates.
func listOf(v rmw.Value) string {
	if v.Kind() == rmw.KindString {
		return v.Text()
	}
	ids := make([]string, v.Len())
	for id, at := range v.All() {
		i, err := strconv.Atoi(at)
		if err != nil || i >= len(ids) || ids[i] != "" {
			return "fields that no update wrote"
		}
		ids[i] = id
	}
	return strings.Join(append(ids, ""), ",")
}

// workloads are changes to the usual workload.
var workloads = map[string]func(w *workload){
	"default":      func(*workload) {},
	"no combining": func(w *workload) { w.cfg.NoCombining = true },
	"linger":       func(w *workload) { w.cfg.Linger = 5 * time.Millisecond },
	"few attempts": func(w *workload) { w.cfg.MaxAttempts, w.cfg.MaxWait = 3, time.Second },
	"on demand":    func(w *workload) { w.cfg.LockOnDemand = true },
	"on demand, short lease": func(w *workload) {
		w.cfg.LockOnDemand, w.cfg.Lease = true, 15*time.Millisecond
	},
	"sole writer": func(w *workload) { w.cfg.SoleWriter, w.locklessWriters = true, false },
	"short lease": func(w *workload) { w.cfg.Lease = 15 * time.Millisecond },
	"IFEQ":        func(w *workload) { w.cfg.Commit = lockupdate.CommitIFEQ },
	"VX":          func(w *workload) { w.cfg.Commit = lockupdate.CommitVX },
	"CAS":         func(w *workload) { w.cfg.Commit = lockupdate.CommitCAS },
	"one process": func(w *workload) { w.processes, w.goroutines = 1, 16 },
}

// runWorkloads requires that acknowledged updates are stored once, failed ones are not, every caller
// saw a stored value, and no lock is left.
func runWorkloads(t *testing.T, names ...string) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			w := workload{processes: 3, goroutines: 5, calls: 8, locklessWriters: true}
			workloads[name](&w)
			for seed := range uint64(2) {
				synctest.Test(t, func(t *testing.T) { assert.Empty(t, w.run(t, seed), "seed %d", seed) })
			}
		})
	}
}

func TestRandomWorkload(t *testing.T) {
	runWorkloads(t, "default", "linger", "few attempts", "short lease")
}

func TestLongRandomWorkload(t *testing.T) {
	long.Only(t)
	runWorkloads(t, slices.Sorted(maps.Keys(workloads))...)
}

// Negative control: without the guard, the same workload loses updates.
func TestRandomWorkloadWithoutTheGuard(t *testing.T) {
	long.Repeats(t)
	w := workload{processes: 3, goroutines: 5, calls: 8, locklessWriters: true, unguarded: true}
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(50) { // one in three shows it
			if len(w.run(t, seed)) > 0 {
				return
			}
		}
		t.Error("no violation without the guard, so the workload proves nothing")
	})
}
