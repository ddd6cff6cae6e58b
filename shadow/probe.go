package shadow

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/internal/goroutine"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/driver"
	"github.com/unwatch/unwatch/shadow/report"
)

// probe plays one scenario on a new scratch key. It makes all updates of that key, and records them. They must form one
// sequence, in which each update is given the value that the one before it returned. The last update deletes the key.
type probe struct {
	*free
	scenario *scenario
	it       *item
	key      rmw.Key // scratch key
	round    int     // selects values; grows with each turn of the scenario
	began    time.Time

	mu      sync.Mutex
	log     []*probed   // finished updates
	void    atomic.Bool // the probe says nothing: the store failed, was too slow, or refused a value
	blocked *finding    // in place of a judgement: an update did not end
	other   finding     // besides the updates; Match is none
}

// probed is an update of a probe. The values are those of the last run of fn.
type probed struct {
	given, next rmw.Value
	own         error // returned by fn, or errProbePanic
	runs        int
	res         rmw.Result
	err         error
	began       time.Time
	expired     bool // the end of an expiry, not an update
}

var (
	errProbe      = errors.New("shadow: an fn of a scratch key returns this error")
	errProbePanic = errors.New("shadow: an fn of a scratch key panics")
)

const (
	// probeHold is how long fn waits for another update, as a part of Config.Timeout: a path with a lock keeps it waiting.
	probeHold = 40
	// probeRivals is the number of updates that come in between, one in each run of fn.
	probeRivals = 12
)

// playsProbe selects one call in sixteen, none of which playsConflict selects.
func playsProbe(id uint64) bool { return id*0x9e3779b97f4a7c15>>60 == 4 }

// probe plays a call as a probe, if no other one is playing. It returns false, and settles nothing, if the probe has no
// result: then the call races like the others.
func (f *free) probe(it *item) (settled bool) {
	select {
	case f.probes <- struct{}{}:
		defer func() { <-f.probes }()
	default:
		return false
	}
	n := f.probed[it.key.Kind]
	f.probed[it.key.Kind]++
	all := scenarios()
	if time.Since(f.blockedAt) < freeTTL && all[n%len(all)].blocks {
		return false
	}
	var p *probe
	for try := range 3 { // a lock that lost its release ends with its lease, so one blocked update proves nothing
		p = &probe{
			free: f, it: it, scenario: &all[n%len(all)], round: n / len(all), began: time.Now(),
			key: probeKey(it.key, f.idOf(it)+"."+strconv.Itoa(try)), other: finding{class: report.Match},
		}
		p.scenario.play(p)
		if p.blocked == nil {
			break
		}
		control := p.on(probeKey(it.key, f.idOf(it)+".control"+strconv.Itoa(try)))
		if control.increment().err != nil || control.end().err != nil {
			return false
		}
		p.void.Store(false) // the blocked update has failed
	}
	if p.blocked == nil {
		p.end()
	} else {
		f.blockedAt = time.Now()
	}
	if p.void.Load() || time.Since(p.began) > seedTTL/2 {
		return false
	}
	f.audited(ack{item: it, contended: p.contended()}, p.judge())
	return true
}

func probeKey(key rmw.Key, id string) rmw.Key {
	return rmw.Key{Name: scratch("probe", key, id), Kind: key.Kind, TTL: seedTTL, Label: key.Label}
}

// on returns a probe of another key.
func (p *probe) on(key rmw.Key) *probe {
	return &probe{free: p.free, it: p.it, scenario: p.scenario, key: key, began: time.Now()}
}

// update runs and records an update.
func (p *probe) update(key rmw.Key, fn func(run int, cur rmw.Value) (rmw.Value, error)) *probed {
	u := p.try(key, fn)
	p.record(u, u.err == nil || u.own != nil && passesOn(u.err, u.own) || errors.Is(u.err, errProbe))
	return u
}

// record adds an update to the log. If its outcome is not useful, the probe says nothing.
func (p *probe) record(u *probed, useful bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, u)
	if !useful {
		p.void.Store(true)
	}
}

// try runs an update. Health does not count it, as in a forced conflict.
func (p *probe) try(key rmw.Key, fn func(run int, cur rmw.Value) (rmw.Value, error)) *probed {
	u := &probed{began: time.Now()}
	ctx, cancel := context.WithTimeout(p.ctx, p.cfg.Timeout)
	defer cancel()
	caller := goroutine.ID()
	u.err = p.recovered(u, func() (err error) {
		u.res, err = p.hidden.store.Update(ctx, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			next, err := fn(u.runs+1, cur)
			u.runs++
			u.given, u.next, u.own = driver.Untraced(cur), driver.Untraced(next), err
			if errors.Is(err, errProbePanic) && goroutine.ID() == caller { // elsewhere, a panic would end the process
				panic(errProbePanic)
			}
			return next, err
		})
		return err
	})
	return u
}

// recovered calls do, and returns errProbePanic for the probe's own panic.
func (p *probe) recovered(u *probed, do func() error) (err error) {
	defer p.counters.recoverAs(&err)
	defer func() {
		if !errors.Is(u.own, errProbePanic) {
			return
		}
		if caught := recover(); caught != nil {
			err = errProbePanic
		}
	}()
	return do()
}

// set stores a value; nothing if it is absent.
func (p *probe) set(v rmw.Value) {
	if v.Exists() {
		p.update(p.key, func(int, rmw.Value) (rmw.Value, error) { return v, nil })
	}
}

// end deletes the key. The update is given the stored value.
func (p *probe) end() *probed {
	return p.update(p.key, func(_ int, cur rmw.Value) (rmw.Value, error) {
		cur.Len() // depends on all fields
		return rmw.Value{}, nil
	})
}

func (p *probe) increment() *probed {
	return p.update(p.key, func(_ int, cur rmw.Value) (rmw.Value, error) { return plusOne(p.key.Kind, cur), nil })
}

// overlap runs an update with another one in between in each of its first runs, which stores what rival returns.
func (p *probe) overlap(
	rivals int, rival func(i int, cur rmw.Value) rmw.Value, fn func(run int, cur rmw.Value) (rmw.Value, error),
) *probed {
	var ended []chan struct{}
	began := time.Now()
	u := p.update(p.key, func(run int, cur rmw.Value) (rmw.Value, error) {
		next, err := fn(run, cur)
		if i := len(ended); i < rivals && time.Since(began) < p.cfg.Timeout/2 {
			done := make(chan struct{})
			ended = append(ended, done)
			go func() {
				defer close(done)
				u := p.try(p.key, func(_ int, cur rmw.Value) (rmw.Value, error) { return rival(i, cur), nil })
				gaveUp := errors.Is(u.err, rmw.ErrContended) && !errors.Is(u.err, rmw.ErrOutcomeUnknown)
				p.record(u, u.err == nil || gaveUp || errors.Is(u.err, errProbe))
			}()
			p.wait(done, p.cfg.Timeout/probeHold)
		}
		return next, err
	})
	for _, done := range ended {
		p.await(done)
	}
	return u
}

// await waits for the end of an update. A path may ignore the end of its ctx.
func (p *probe) await(done <-chan struct{}) {
	select {
	case <-done:
	default:
		if p.wait(done, p.cfg.Timeout+time.Second); p.ctx.Err() != nil {
			p.void.Store(true)
		}
	}
	select {
	case <-done:
	default:
		p.blockedBy(context.DeadlineExceeded)
	}
}

// blockedBy notes that an update did not end, or gave up.
func (p *probe) blockedBy(err error) {
	p.blocked = &finding{
		class: report.ErrorClass, legacy: "ok", candidate: reasonName(err),
		explain: "the key stays locked: three times, an update of it did not end, while one of another key did",
	}
}

// wait waits for done, at most for a while.
func (p *probe) wait(done <-chan struct{}, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-p.ctx.Done():
	}
}

// contended reports whether an update of the probe met another writer.
func (p *probe) contended() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range p.log {
		if contended(u.res.Attempts, u.res.Waited) {
			return true
		}
	}
	return false
}

// judge returns the finding of the probe.
func (p *probe) judge() finding {
	f := p.judgeLog()
	if f.class != report.Match {
		f.explain = p.scenario.name + ": " + f.explain
	}
	return f
}

func (p *probe) judgeLog() finding {
	if p.blocked != nil {
		return *p.blocked
	}
	for _, u := range p.log {
		if f := u.judgeError(); f.class != report.Match {
			return f
		}
	}
	compare := p.it.op.compare
	if f := p.judgeSequence(compare); f.class != report.Match {
		return f
	}
	for _, u := range p.log {
		if f := u.judgeResult(compare); f.class != report.Match {
			return f
		}
	}
	return p.other
}

func (u *probed) judgeError() finding {
	refuses := func(candidate, explain string) finding {
		return finding{class: report.ErrorClass, legacy: "ok", candidate: candidate, explain: explain}
	}
	switch {
	case u.own == nil && errors.Is(u.err, errProbe):
		return refuses("refused", "an update returned the error of another update's fn")
	case u.own != nil && u.err == nil:
		return finding{class: report.ErrorClass, legacy: "refused", candidate: "ok", explain: "fn failed, and its update succeeded"}
	case u.err == nil && u.runs == 0 && !u.expired:
		return refuses("ok", "an update succeeded, and its fn was not called")
	}
	return finding{class: report.Match}
}

// judgeSequence reports whether there is an order in which each acknowledged update was given the value that the one
// before it returned: with values as nodes and updates as edges, an Eulerian circuit through absent.
func (p *probe) judgeSequence(compare *comparison) finding {
	same := rmw.Value.Equal
	if !p.givesStored(same) { // a path may store another encoding of a document
		same = compare.sameStored
		if !p.givesStored(same) {
			return finding{class: report.ValueDiffers, explain: "an update was given a value that no other one had stored"}
		}
	}
	nodes, degree, parent := []rmw.Value{{}}, []int{0}, []int{0}
	node := func(v rmw.Value) int {
		for i, known := range nodes {
			if same(known, v) {
				return i
			}
		}
		nodes, degree, parent = append(nodes, v), append(degree, 0), append(parent, len(nodes))
		return len(nodes) - 1
	}
	root := func(i int) int {
		for parent[i] != i {
			i = parent[i]
		}
		return i
	}
	for _, u := range p.log {
		if u.err == nil {
			from, to := node(u.given), node(u.next)
			degree[from]--
			degree[to]++
			parent[root(from)] = root(to)
		}
	}
	for i := range nodes {
		if degree[i] != 0 || root(i) != root(0) {
			return finding{class: p.scenario.broken, explain: p.scenario.explain}
		}
	}
	return finding{class: report.Match}
}

// givesStored reports whether each value that an update was given is absent, or another update returned it.
func (p *probe) givesStored(same func(a, b rmw.Value) bool) bool {
	for _, u := range p.log {
		found := !u.given.Exists()
		for _, other := range p.log {
			found = found || same(other.next, u.given)
		}
		if !found {
			return false
		}
	}
	return true
}

// judgeResult compares the Result of an update with the last run of fn.
func (u *probed) judgeResult(compare *comparison) finding {
	differs := func(explain string) finding { return finding{class: report.ValueDiffers, explain: explain} }
	write := u.next.TTL() != 0 || !u.next.Equal(u.given)
	switch {
	case u.expired || u.err != nil:
	case !compare.sameStored(u.given, u.res.Before):
		return differs("Result.Before is not the value that fn was given")
	case !compare.sameStored(u.next, u.res.After):
		return differs("Result.After is not the value that fn returned")
	case u.res.Written != write && (!write || !compare.sameStored(u.given, u.next)):
		return differs("Result.Written is wrong")
	case u.res.Attempts < 1 || u.res.Attempts > u.runs:
		return differs("Result.Attempts is not the number of calls of fn")
	}
	return finding{class: report.Match}
}
