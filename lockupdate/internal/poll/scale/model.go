package main

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/unwatch/unwatch/lockupdate/internal/poll"
	"github.com/unwatch/unwatch/rmw"
)

// load is processes with one goroutine each, which update keys in a closed loop.
type load struct {
	processes int
	keys      int           // picked by Zipf's law with exponent 1; 1: all update the same
	trip      time.Duration // round trip
	work      time.Duration // of each fn
	warm      time.Duration // not measured
	lasting   time.Duration // measured
	static    bool          // negative control: no process knows its usual wait
}

// cycle is how long an update holds its lock as the server sees it: half a round trip for the
// answer, fn, a round trip for the commit, and half of one for the release.
func (l load) cycle() time.Duration { return l.work + 2*l.trip }

// figures are the results of a run.
type figures struct {
	load
	polls    int             // attempts refused or not
	acquired int             // attempts not refused
	waits    []time.Duration // for a lock, sorted
	served   []int           // updates of each process
}

func (f figures) pollsPerAcquisition() float64 {
	return float64(f.polls) / float64(max(f.acquired, 1))
}
func (f figures) perSecond(n int) float64 { return float64(n) / f.lasting.Seconds() }
func (f figures) quantile(q float64) time.Duration {
	if len(f.waits) == 0 {
		return 0
	}
	return f.waits[int(q*float64(len(f.waits)-1))]
}

// least is the share of the least served process, relative to an equal share.
func (f figures) least() float64 {
	sum := 0
	for _, n := range f.served {
		sum += n
	}
	return float64(slices.Min(f.served)) * float64(len(f.served)) / float64(max(sum, 1))
}

const lease = 10 * time.Second

// lock is a lock on the server.
type lock struct {
	held  bool
	until time.Time
	hint  time.Duration
}

// model is a run. It has one goroutine, and events instead of others.
type model struct {
	figures
	now    time.Time
	events events
	made   int // events
	rng    *rand.Rand
	locks  map[int]*lock
	weight []float64 // of the keys up to each
}

type event struct {
	at time.Time
	n  int // in the order of their making, if at the same time
	do func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at.Before(e[j].at) || e[i].at.Equal(e[j].at) && e[i].n < e[j].n
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// run plays a load. The same seed gives the same figures.
func run(l load, seed uint64) figures {
	m := &model{
		figures: figures{load: l, served: make([]int, l.processes)},
		now:     time.Unix(0, 0), rng: rand.New(rand.NewPCG(seed, 1)), locks: map[int]*lock{},
	}
	sum := 0.0
	for i := range l.keys {
		sum += 1 / float64(i+1)
		m.weight = append(m.weight, sum)
	}
	end := m.now.Add(l.warm + l.lasting)
	for i := range l.processes {
		p := &process{model: m, id: i, kept: map[int]kept{}}
		m.after(time.Duration(m.rng.Int64N(int64(10*time.Millisecond))), p.update)
	}
	for len(m.events) > 0 && !m.now.After(end) {
		e := heap.Pop(&m.events).(event)
		m.now = e.at
		e.do()
	}
	slices.Sort(m.waits)
	return m.figures
}

func (m *model) after(d time.Duration, do func()) {
	m.made++
	heap.Push(&m.events, event{at: m.now.Add(max(d, 0)), n: m.made, do: do})
}

// travel lets a message arrive: half a round trip, give or take a tenth.
func (m *model) travel(do func()) {
	m.after(time.Duration(float64(m.trip)/2*(0.9+0.2*m.rng.Float64())), do)
}

func (m *model) measured() bool { return m.now.Sub(time.Unix(0, 0)) >= m.warm }

func (m *model) key() int {
	i, _ := slices.BinarySearch(m.weight, m.rng.Float64()*m.weight[len(m.weight)-1])
	return min(i, m.keys-1)
}

// kept is the memory of a process for a lock after a release.
type kept struct {
	away time.Time
	wait time.Duration
}

// process is one that updates. It follows acquire.go and release.go.
type process struct {
	*model
	id    int
	holds poll.HoldEstimator
	kept  map[int]kept
}

// attempts are the way to one lock.
type attempts struct {
	*process
	key      int
	schedule poll.Schedule
}

func (p *process) update() {
	a := &attempts{process: p, key: p.model.key()}
	k := p.kept[a.key]
	a.schedule = poll.Schedule{
		Backoff: rmw.Backoff{Base: time.Millisecond, Max: 64 * time.Millisecond},
		Lease:   lease, Hold: p.holds.Expected(""), Began: p.now, Wait: k.wait,
	}
	p.after(k.away.Sub(p.now), a.ask)
	if len(p.kept) > 1000 {
		clear(p.kept)
	}
}

func (a *attempts) ask() {
	sent := a.now
	hint := a.schedule.Ceiling(sent)
	if a.measured() {
		a.polls++
	}
	a.travel(func() {
		l := a.locks[a.key]
		if l == nil {
			l = &lock{}
			a.locks[a.key] = l
		}
		if l.held && l.until.After(a.now) {
			pttl := l.until.Sub(a.now).Truncate(time.Millisecond)
			told := l.hint
			if a.static {
				told = 0
			}
			l.hint = max(l.hint, time.Duration(math.Ceil(float64(hint)/1e6))*time.Millisecond)
			a.travel(func() { a.after(a.schedule.Pause(sent, a.now, pttl, told, a.rng.Float64()), a.ask) })
			return
		}
		*l = lock{held: true, until: a.now.Add(lease)}
		a.travel(func() { a.hold(l) })
	})
}

func (a *attempts) hold(l *lock) {
	if a.measured() {
		a.acquired++
		a.waits = append(a.waits, a.now.Sub(a.schedule.Began))
	}
	if a.schedule.Wait = a.schedule.Learned(a.now); a.static {
		a.schedule.Wait = 0
	}
	took := a.now
	a.after(a.work, func() {
		a.travel(func() {
			a.travel(func() {
				if a.measured() {
					a.served[a.id]++
				}
				a.holds.Observe("", a.now.Sub(took))
				a.release(l)
			})
		})
	})
}

// release gives the lock back. The next update follows at once, but if it is of the same key and
// others may wait, it waits for the answer as lockupdate does.
func (a *attempts) release(l *lock) {
	sent := a.now
	a.travel(func() {
		hint := l.hint
		*l = lock{}
		a.travel(func() {
			delete(a.kept, a.key)
			if hint > 0 {
				away := a.schedule.Away(hint, a.now.Sub(sent), a.rng.Float64())
				a.kept[a.key] = kept{away: a.now.Add(away), wait: a.schedule.Wait}
			}
			if a.keys == 1 {
				a.update()
			}
		})
	})
	if a.keys > 1 {
		a.update()
	}
}
