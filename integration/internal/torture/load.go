package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// loadSize is the size of a load: a cell without faults, but with many goroutines that share few connections.
type loadSize struct {
	keys, goroutines int
	pool             int // connections of all stores to the servers that have the keys in the end
}

const (
	// loadLease is short, so that a short load has holders that outlive a lease, and long enough for a busy
	// machine to renew it.
	loadLease = 2 * time.Second

	// loadHolders is the number of goroutines of a process that hold a key for longer than a lease. Another
	// process has one for each of these keys, too, which has to wait.
	loadHolders = 2

	// loadTurns is the number of turns in a third of a load that makes the shares of four stores comparable. A busy machine
	// needs longer for them than a tenth of a short round.
	loadTurns = 100

	// loadSettled limits the wait for releases and goroutines that a call leaves behind for up to a lease.
	loadSettled = 5 * time.Second

	// loadStuck limits the wait for calls at the end of a round. A call that takes longer never ends.
	loadStuck = 30 * time.Second
)

// loading is a load in progress.
type loading struct {
	loadSize
	env     *Environment
	seed    uint64
	label   string // of its goroutines
	began   time.Time
	dials   dials
	members []*loadMember
	workers []*loadWorker
	tally   *tally

	part           atomic.Int32
	lastAck        atomic.Int64 // time of the last acknowledgment in this part; 0: none
	calls, inside  atomic.Int64 // updates in flight; those inside a slow function
	held, heldLost atomic.Int64 // functions that outlived a lease; functions with a ctx that ended
	abandoned      atomic.Int64 // calls that a closed store refused after it had called their function
	waits          [parts]peak  // of calls
	gaps           [parts]peak  // between two acknowledgments
	between        peak         // turns of other stores between two of a store
	pings          peak         // times that a ping waits for its reply
}

// load plays a load, and judges it.
func (s *Environment) load(ctx context.Context, n Nemesis, d time.Duration, seed uint64, v variant) *Result {
	r := &Result{Topology: s.Topology, Nemesis: n.Name, Seed: seed, History: newHistory(), Verdict: &Verdict{}}
	l := &loading{
		loadSize: *n.load, env: s, seed: seed, label: s.Topology + "/" + n.Name, began: time.Now(),
		tally: newTally(n.load.keys + loadKeysHeld),
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := &measured{Bound: l.pool * len(s.stores()), Moving: s.sides != nil}
	err := marked(l.label, func() error { return l.run(ctx, d, v.load(ctx), m) })()
	r.Took = r.History.now()
	if err != nil {
		r.Errors = append(r.Errors, err.Error())
		return r
	}
	r.Rows = judgeLoad(m)
	r.Operations, r.Acknowledged, r.Unknown = l.tally.counts()
	r.NotWritten = r.Operations - r.Acknowledged - r.Unknown
	for _, gap := range m.Gaps[:closing] {
		r.Stall = max(r.Stall, time.Duration(gap.Most))
	}
	for _, row := range r.Rows {
		if row.Broken {
			r.example("%s: %s, want %s", strings.TrimSpace(row.What), row.Measured, row.Bound)
		}
	}
	for _, name := range m.Closed.Locks[:min(len(m.Closed.Locks), 5)] {
		r.example("lock left: %s", name)
	}
	for _, text := range m.Closed.Errors {
		r.example("Close: %s", text)
	}
	l.tally.judge(r.Verdict, m.Stored)
	return r
}

func (l *loading) run(ctx context.Context, d time.Duration, open loadOpener, m *measured) error {
	if err := l.env.calmForLoad(ctx); err != nil {
		return err
	}
	before := goroutines(l.label)
	for process := range processes {
		l.members = append(l.members, l.join(process, open))
	}
	defer func() { _ = l.leave() }() // a second time after a load without an error
	for i := range l.goroutines {
		l.workers = append(l.workers, newLoadWorker(l, i))
	}
	pinging, stop := context.WithCancel(ctx)
	var pings sync.WaitGroup
	for _, m := range l.members {
		pings.Go(func() { l.ping(pinging, m) })
	}
	err := l.rounds(ctx, d, m)
	stop()
	pings.Wait()
	closed, unclosed := l.close(ctx, err == nil) // also if ctx has ended: the workers depend on their stores only
	if err := errors.Join(err, unclosed); err != nil {
		return err
	}
	m.Closed = closed
	l.measure(m)
	if m.Stored, m.Closed.Locks, err = l.stored(ctx); err != nil {
		return fmt.Errorf("read the final state: %w", err)
	}
	if err := l.leave(); err != nil {
		return err
	}
	soon, cancel := context.WithTimeout(ctx, loadSettled)
	defer cancel()
	for {
		m.Closed.Connections, _ = l.dials.counts()
		m.Closed.Goroutines = max(0, goroutines(l.label)-before)
		if m.Closed.Connections+m.Closed.Goroutines == 0 || pause(soon, 10*time.Millisecond) != nil {
			return context.Cause(ctx)
		}
	}
}

// ping measures how long a member waits for a reply as its leases do: with a command that a proxy passes on, over the
// connections for pipelines. Without replies, no lease can be renewed.
func (l *loading) ping(ctx context.Context, m *loadMember) {
	rdb := m.clients[len(m.clients)-1] // that of the locks that last
	for {
		began := time.Now()
		_, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error { return p.Exists(ctx, loadKey(0)).Err() })
		if err != nil {
			return
		}
		l.pings.add(int64(time.Since(began)))
		if pause(ctx, 20*time.Millisecond) != nil {
			return
		}
	}
}

// calmForLoad empties the servers, and switches their logs off, since a slow disk would make waits long.
func (s *Environment) calmForLoad(ctx context.Context) error {
	return errors.Join(s.clean(ctx), s.direct(ctx, func(ctx context.Context, rdb *redis.Client) error {
		return rdb.ConfigSet(ctx, "appendonly", "no").Err()
	}))
}

// rounds runs a warm-up, which fills pools, buffers and the servers' script caches, a first third of the load, and
// the rest of it. It compares heap and goroutines after the last two.
func (l *loading) rounds(ctx context.Context, d time.Duration, m *measured) error {
	if err := l.round(ctx, min(max(d/10, time.Second), 10*time.Second), 0); err != nil {
		return err
	}
	l.forget()
	if err := l.round(ctx, d/3, loadTurns); err != nil {
		return err
	}
	m.First = l.rest(ctx)
	if err := l.round(ctx, d-d/3, 3*loadTurns); err != nil {
		return err
	}
	m.Last = l.rest(ctx)
	return context.Cause(ctx)
}

// round runs all goroutines until the stores have taken these turns in all, and until each call has ended.
func (l *loading) round(ctx context.Context, length time.Duration, turns int64) (err error) {
	var all sync.WaitGroup
	working, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		if !ended(&all, loadStuck) && err == nil {
			err = fmt.Errorf("%d calls did not end within %v after a round", l.calls.Load(), loadStuck)
		}
	}()
	for _, next := range []struct {
		part
		share time.Duration // in tenths
	}{{even, 4}, {skewed, 4}, {hot, 2}} {
		for _, m := range l.members {
			m.turn.Store(0)
		}
		l.lastAck.Store(0)
		if l.part.Store(int32(next.part)); next.part == even {
			l.start(working, &all)
		}
		if err := pause(ctx, length*next.share/10); err != nil {
			return err
		}
	}
	for limit := time.Now().Add(loadPatience); l.turns() < turns && time.Now().Before(limit); {
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// ended waits until all goroutines have ended, or for limit.
func ended(all *sync.WaitGroup, limit time.Duration) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		all.Wait()
	}()
	select {
	case <-done:
		return true
	case <-time.After(limit):
		return false
	}
}

// start starts all goroutines. They end after their call when working ends, or when their store is closed.
func (l *loading) start(working context.Context, all *sync.WaitGroup) {
	for _, w := range l.workers {
		all.Go(func() { w.run(working) })
	}
	for i := range loadHolders * processes {
		rng := rand.New(rand.NewPCG(l.seed, uint64(l.goroutines+i)))
		// Processes 0 and 2 share a key, and 1 and 3: on demand, a commit makes a function with the lock run again.
		all.Go(func() { l.hold(working, l.members[i%processes], l.keys+i/processes*2+i%2, rng) })
	}
}

// forget resets the counters after the warm-up.
func (l *loading) forget() {
	l.between.reset()
	for p := range parts {
		l.waits[p].reset()
		l.gaps[p].reset()
	}
	for _, m := range l.members {
		m.turns.Store(0)
	}
	for _, w := range l.workers {
		w.served.Store(0)
	}
}

func (l *loading) turns() (n int64) {
	for _, m := range l.members {
		n += m.turns.Load()
	}
	return n
}

// measure sums the counters of the goroutines, all of which have ended.
func (l *loading) measure(m *measured) {
	_, m.Connections = l.dials.counts()
	for p := range parts {
		m.Waits[p], m.Gaps[p] = l.waits[p].value(), l.gaps[p].value()
	}
	m.Between, m.Pings = l.between.value(), l.pings.value()
	for _, one := range l.members {
		var served []int64
		for _, w := range l.workers {
			if w.loadMember == one {
				served = append(served, w.served.Load())
			}
		}
		m.Served, m.Turns = append(m.Served, served), append(m.Turns, one.turns.Load())
		stats := one.Stats()
		m.Renewed, m.Lost = m.Renewed+int64(stats.Renewed), m.Lost+int64(stats.Lost)
	}
	m.Held, m.HeldLost = l.held.Load(), l.heldLost.Load()
	_, _, unknown := l.tally.counts()
	m.Failed, m.Unknown = l.tally.failed.Load(), int64(unknown)
}

// stored reads all values, and the names of all other keys, which belong to locks.
func (l *loading) stored(ctx context.Context) (values []record, locks []string, err error) {
	values = make([]record, len(l.tally.keys))
	return values, locks, l.env.direct(ctx, func(ctx context.Context, rdb *redis.Client) error {
		names := rdb.Scan(ctx, 0, "*", 1000).Iterator()
		for names.Next(ctx) {
			number, ours := loadKeyNumber(names.Val())
			if !ours {
				locks = append(locks, names.Val())
				continue
			}
			text, err := rdb.Get(ctx, names.Val()).Result()
			if l.env.sides != nil && strings.HasPrefix(fmt.Sprint(err), "WRONGTYPE") {
				continue // a marker: the key has moved
			}
			if err == nil {
				values[number], err = parseRecord(text)
			}
			if err != nil {
				return err
			}
		}
		return names.Err()
	})
}
