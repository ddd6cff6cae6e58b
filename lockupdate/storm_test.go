package lockupdate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// storm is callers of several processes that do all they may to a few keys, while
// commands and answers get lost.
type storm struct {
	cfg        lockupdate.Config
	unguarded  bool // a negative control
	strangers  bool // writers that take no lock
	processes  int
	goroutines int // of each process
	calls      int // of each goroutine
}

// keys share two locks: two keys of one kind, and two of different kinds.
func (s storm) keys() []rmw.Key {
	keys := []rmw.Key{{Name: "a"}, {Name: "b"}, {Name: "c", TTL: time.Hour}, {Name: "h", Kind: rmw.KindHash}}
	if s.cfg.Commit != lockupdate.CommitGuarded {
		keys[3].Kind = rmw.KindString
	}
	return keys
}

func mayDelete(key rmw.Key) bool { return key.Name == "c" }

func stormLock(key string) string {
	if key == "a" || key == "b" {
		return "/lock/ab"
	}
	return "/lock/ch"
}

// run lets it rage, and returns what is wrong afterwards.
func (s storm) run(t *testing.T, seed uint64) []string {
	t.Helper()
	s.cfg.LockName = stormLock
	profile := proxycompat.Codis32()
	if seed%2 == 1 {
		profile = proxycompat.Redis() // for WATCH
	}
	f := newFixtureOn(t, profile, s.cfg)
	if s.unguarded {
		f.unguard()
	}
	calm := s.faults(f, seed)
	books := map[string]*book{}
	for _, key := range s.keys() {
		books[key.Name] = &book{grows: !mayDelete(key)}
	}
	var wg sync.WaitGroup
	rage := func(name string, stream uint64, one func(rng *rand.Rand, key rmw.Key, id string, b *book)) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, stream))
			for i := range s.calls {
				key := s.keys()[rng.IntN(4)]
				one(rng, key, fmt.Sprintf("%s.%d", name, i), books[key.Name])
				time.Sleep(time.Duration(1 + rng.IntN(1_000_000)))
			}
		})
	}
	var stores []*lockupdate.Store
	for p := range s.processes {
		store := f.another(s.cfg)
		stores = append(stores, store)
		for g := range s.goroutines {
			rage(fmt.Sprintf("%d.%d", p, g), uint64(p*100+g), func(rng *rand.Rand, key rmw.Key, id string, b *book) {
				newOp(rng, key, id).call(t.Context(), store, b)
			})
		}
	}
	if s.strangers {
		s.invite(t, f, rage)
	}
	wg.Wait()
	calm()
	time.Sleep(time.Minute) // what is late comes now
	for _, store := range stores {
		lockupdate.Settle(store)
		require.NoError(t, store.Close())
	}
	var wrong []string
	for _, key := range s.keys() {
		if n := f.direct().Exists(t.Context(), stormLock(key.Name)).Val(); n != 0 {
			wrong = append(wrong, "a lock is left behind")
		}
		v, err := f.store.Read(t.Context(), key)
		require.NoError(t, err)
		for _, w := range books[key.Name].audit(listOf(v)) {
			wrong = append(wrong, key.Name+": "+w)
		}
	}
	return wrong
}

// invite adds writers that heed no lock: one by plain commands, and one with WATCH
// where there is no proxy to refuse it.
func (s storm) invite(t *testing.T, f *fixture, rage func(string, uint64, func(*rand.Rand, rmw.Key, string, *book))) {
	rdb := f.direct()
	rage("plain", 1000, func(_ *rand.Rand, key rmw.Key, id string, _ *book) {
		if key.Kind == rmw.KindString {
			assert.NoError(t, rdb.Append(t.Context(), key.Name, id+",").Err())
		}
	})
	if f.rdb.Options().MaintNotificationsConfig == nil {
		return
	}
	legacy := cas.New(f.direct(), cas.Config{})
	t.Cleanup(func() { require.NoError(t, legacy.Close()) })
	rage("watch", 1001, func(rng *rand.Rand, key rmw.Key, id string, b *book) {
		newOp(rng, key, id).call(t.Context(), legacy, b)
	})
}

// faults makes one command in ten go wrong, and the others take a moment.
func (s storm) faults(f *fixture, seed uint64) (calm func()) {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 7))
	var removes []func()
	inject := func(chance float64, script string, fault proxytest.Fault) {
		fault.Times = -1
		fault.Match = func(args []string) bool {
			name := lockupdate.Said(args)
			if name == strings.ToUpper(args[0]) || script != "" && name != script {
				return false
			}
			mu.Lock()
			defer mu.Unlock()
			return rng.Float64() < chance
		}
		removes = append(removes, f.proxy.Inject(fault))
	}
	if s.cfg.Lease > 0 { // renewals that stall cost the lease
		inject(0.7, "renew", proxytest.Fault{Action: proxytest.Delay, Delay: 2 * s.cfg.Lease})
	}
	inject(0.015, "", proxytest.Fault{Action: proxytest.DropRequest})
	inject(0.015, "", proxytest.Fault{Action: proxytest.DropReply})
	inject(0.005, "", proxytest.Fault{Action: proxytest.HangRequest})
	inject(0.005, "", proxytest.Fault{Action: proxytest.HangReply})
	inject(0.02, "", proxytest.Fault{Action: proxytest.ExecuteLater, Delay: 3 * time.Millisecond, Text: "ERR handle response, backend conn reset"})
	inject(0.01, "", proxytest.Fault{Action: proxytest.ExecuteLater, Delay: 30 * time.Millisecond})
	inject(0.01, "", proxytest.Fault{Action: proxytest.RefuseWith, Text: "LOADING Redis is loading the dataset in memory"})
	inject(0.02, "", proxytest.Fault{Action: proxytest.Delay, Delay: 20 * time.Millisecond})
	rdb := f.direct()
	inject(0.01, "commit_string", proxytest.Fault{Action: proxytest.DelayReply, Delay: time.Millisecond, Do: func() {
		_ = rdb.Del(context.Background(), "/lock/ab", "/lock/ch").Err() // as a failover forgets them
	}})
	inject(1, "", proxytest.Fault{Action: proxytest.DelayReply, Delay: 200 * time.Microsecond})
	return func() {
		for _, remove := range removes {
			remove()
		}
	}
}

// op is one call of Update.
type op struct {
	key   rmw.Key
	id    string
	what  string
	pause time.Duration // in fn
	limit time.Duration // of ctx
	given rmw.Value     // to fn, the last time
}

func newOp(rng *rand.Rand, key rmw.Key, id string) *op {
	whats := []string{
		"append", "append", "append", "append", "append", "append",
		"keep", "keep", "abort", "panic", "exit", "cancel", "misfit",
	}
	if mayDelete(key) {
		whats = append(whats, "delete")
	}
	o := &op{key: key, id: id, what: whats[rng.IntN(len(whats))]}
	if rng.IntN(4) == 0 {
		o.pause = time.Duration(rng.IntN(int(8 * time.Millisecond)))
	}
	if rng.IntN(4) == 0 {
		o.limit = time.Duration(1 + rng.IntN(int(20*time.Millisecond)))
	}
	return o
}

// call makes the call on a goroutine of its own, which it may end.
func (o *op) call(ctx context.Context, store rmw.Store, b *book) {
	ctx, cancel := context.WithCancel(ctx)
	if o.limit > 0 {
		ctx, cancel = context.WithTimeout(ctx, o.limit)
	}
	defer cancel()
	floor := b.atLeast()
	var res rmw.Result
	err := errGone
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
	b.enter(o, floor, res, err)
}

var errGone = errors.New("fn did not return")

func (o *op) fn(_ context.Context, cancel func(), cur rmw.Value) (rmw.Value, error) {
	switch o.what {
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
	case "misfit":
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

// listOf is the ids in a value, in the order in which they were added.
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

// Whatever gets lost and whoever leaves: what was acknowledged is there once, what
// failed is not there, every caller saw a state that was, and nothing stays behind.
func TestStorm(t *testing.T) {
	small := storm{processes: 3, goroutines: 5, calls: 8, strangers: true}
	for name, change := range map[string]func(*storm){
		"default":      func(*storm) {},
		"no combining": func(s *storm) { s.cfg.NoCombining = true },
		"keep":         func(s *storm) { s.cfg.Linger = 5 * time.Millisecond },
		"on demand":    func(s *storm) { s.cfg.LockOnDemand = true },
		"on demand, short lease": func(s *storm) {
			s.cfg.LockOnDemand, s.cfg.Lease = true, 15*time.Millisecond
		},
		"sole writer": func(s *storm) { s.cfg.SoleWriter, s.strangers = true, false },
		"short lease": func(s *storm) { s.cfg.Lease = 15 * time.Millisecond },
		"IFEQ":        func(s *storm) { s.cfg.Commit = lockupdate.CommitIFEQ },
		"VX":          func(s *storm) { s.cfg.Commit = lockupdate.CommitVX },
		"CAS":         func(s *storm) { s.cfg.Commit = lockupdate.CommitCAS },
		"one process": func(s *storm) { s.processes, s.goroutines = 1, 16 },
	} {
		t.Run(name, func(t *testing.T) {
			s := small
			change(&s)
			for seed := range uint64(2) {
				synctest.Test(t, func(t *testing.T) { assert.Empty(t, s.run(t, seed), "seed %d", seed) })
			}
		})
	}
}

// The control: without the guard the same storm shows what it destroys.
func TestStormWithoutTheGuard(t *testing.T) {
	s := storm{processes: 3, goroutines: 5, calls: 8, strangers: true, unguarded: true}
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(10) {
			if len(s.run(t, seed)) > 0 {
				return
			}
		}
		t.Error("it destroyed nothing, so it proves nothing")
	})
}
