package shadow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/unwatch/unwatch/internal/twin"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/report"
)

// scenario is a row of the table of probes.
type scenario struct {
	name    string
	broken  report.Class // of updates that form no sequence
	explain string       // of these
	blocks  bool         // may leave the key locked
	play    func(p *probe)
}

var scenarios = sync.OnceValue(func() []scenario {
	const lost = "an acknowledged update overwrote another one, or was overwritten"
	return []scenario{
		{"a value like the one read came in between", report.LostUpdate, lost, false, (*probe).likeGiven},
		{"the same write came in between", report.LostUpdate, lost, false, (*probe).sameWrite},
		{"after an error of fn", report.LostUpdate, lost, true, func(p *probe) { p.afterFailure(errProbe) }},
		{"after a panic of fn", report.LostUpdate, lost, true, func(p *probe) { p.afterFailure(errProbePanic) }},
		{"an expiry", report.TTLDiffers, "an update was given a value after its expiry", false, (*probe).expiries},
		{"goroutines", report.LostUpdate, lost, false, (*probe).goroutines},
	}
})

// stored returns values of the pool that a scratch key may hold, absent among them.
func stored(kind rmw.Kind) []rmw.Value { return storedOf()[kind] }

var storedOf = sync.OnceValue(func() (all [2][]rmw.Value) {
	for _, kind := range []rmw.Kind{rmw.KindString, rmw.KindHash} {
		values, common := twin.Values(kind)
		values = append([]rmw.Value{{}}, values[:common]...)
		all[kind] = slices.DeleteFunc(values, func(v rmw.Value) bool { return v.Size() >= maxLinkBytes })
	}
	return all
})

// like returns one of the values that a careless guard takes for v, or absent.
func like(v rmw.Value, kind rmw.Kind, n int) rmw.Value {
	all := twin.Of(v, kind)
	if v.Exists() {
		all = append(all, rmw.Value{})
	}
	return all[n%len(all)]
}

// likeGiven writes, in each run of fn, a value like the one that fn was given. Every third time, fn deletes the key.
func (p *probe) likeGiven() {
	kind := p.key.Kind
	values := stored(kind)
	p.set(values[p.round%len(values)])
	result := marker(kind, p.key.Name)
	if p.round%3 == 2 {
		result = rmw.Value{}
	}
	p.overlap(probeRivals,
		func(i int, cur rmw.Value) rmw.Value { return like(cur, kind, p.round+i) },
		func(_ int, cur rmw.Value) (rmw.Value, error) {
			if p.round%2 == 0 {
				cur.Len() // depends on all fields, without reading one
			} else {
				cur.Fields()
			}
			return result, nil
		})
}

// marker returns a value that is in no pool.
func marker(kind rmw.Kind, text string) rmw.Value {
	if kind == rmw.KindHash {
		return rmw.Hash(map[string]string{"probe": text})
	}
	return rmw.String("probe " + text)
}

// sameWrite makes the same change in between, in each run of fn.
func (p *probe) sameWrite() {
	kind := p.key.Kind
	p.set(plusOne(kind, rmw.Value{}))
	p.overlap(1+p.round%2*(probeRivals-1),
		func(_ int, cur rmw.Value) rmw.Value { return plusOne(kind, cur) },
		func(_ int, cur rmw.Value) (rmw.Value, error) { return plusOne(kind, cur), nil })
}

// plusOne increments the number in a value. The result depends on all of the value.
func plusOne(kind rmw.Kind, cur rmw.Value) rmw.Value {
	text := cur.Text()
	if kind == rmw.KindHash {
		text = cur.Fields()["n"]
	}
	n, _ := strconv.Atoi(text)
	text = strconv.Itoa(n + 1)
	if kind == rmw.KindHash {
		return rmw.Hash(map[string]string{"n": text, "pad": "."})
	}
	return rmw.String(text)
}

// afterFailure lets fn fail, every second time in its second run, and updates the key again.
func (p *probe) afterFailure(failure error) {
	kind := p.key.Kind
	p.set(plusOne(kind, rmw.Value{}))
	p.overlap(p.round%2,
		func(_ int, cur rmw.Value) rmw.Value { return plusOne(kind, cur) },
		func(run int, cur rmw.Value) (rmw.Value, error) {
			if run > p.round%2 {
				return rmw.Value{}, failure
			}
			return plusOne(kind, cur), nil
		})
	if p.void.Load() || p.blocked != nil {
		return
	}
	next, done := p.on(p.key), make(chan struct{})
	go func() {
		defer close(done)
		next.increment()
	}()
	if p.await(done); p.blocked != nil {
		return
	}
	p.log = append(p.log, next.log...)
	p.void.Store(next.void.Load())
	if err := next.log[0].err; errors.Is(err, rmw.ErrContended) || errors.Is(err, context.DeadlineExceeded) {
		p.blockedBy(err)
	}
}

// expiries sets an expiry, keeps it, and reads a value after its end.
func (p *probe) expiries() {
	if p.hidden.peeker == nil {
		p.void.Store(true)
		return
	}
	ttls := probeTTLs()
	ttl, byKey := ttls[p.round%len(ttls)], p.round/len(ttls)%2 == 0
	p.key.TTL = 0
	p.set(marker(p.key.Kind, "0").WithTTL(seedTTL))
	set := p.setExpiring("1", ttl, byKey)
	p.compareExpiry(set, ttl)
	p.set(marker(p.key.Kind, "2"))
	p.compareExpiry(set, ttl)
	if time.Since(set.began) > ttl/2 {
		p.void.Store(true)
	}
	p.compareExpiry(p.setExpiring("3", shortTTL, !byKey), shortTTL)
	p.readExpired()
	p.key.TTL = seedTTL
}

const (
	shortTTL      = 100 * time.Millisecond
	mostShortTTL  = 1500 * time.Millisecond // rounded up
	expiryRetries = 6                       // a replica may be behind
)

// probeTTLs returns the expiries of the pool that a scratch key may have if the process ends.
func probeTTLs() []time.Duration {
	return slices.DeleteFunc(twin.TTLs(), func(d time.Duration) bool { return d < time.Second || d > time.Hour })
}

func (p *probe) setExpiring(text string, ttl time.Duration, byKey bool) *probed {
	key, next := p.key, marker(p.key.Kind, text)
	if byKey {
		key.TTL = ttl
	} else {
		next = next.WithTTL(ttl)
	}
	return p.update(key, func(int, rmw.Value) (rmw.Value, error) { return next, nil })
}

func (p *probe) peek() (rmw.Value, time.Duration) {
	ctx, cancel := context.WithTimeout(p.ctx, p.cfg.Timeout)
	defer cancel()
	v, left, err := p.hidden.peeker.Peek(ctx, p.key)
	if err != nil {
		p.void.Store(true)
	}
	return v, left
}

// compareExpiry compares the expiry with the one that an update has set.
func (p *probe) compareExpiry(set *probed, ttl time.Duration) {
	v, left := p.peek()
	took := time.Since(set.began)
	if p.void.Load() || !v.Exists() && took > ttl/2 || p.it.op.compare.near(ttl-took, left, took) {
		return
	}
	p.other = expiryFinding(ttl-took, left, "an update leaves another expiry than its Key.TTL or WithTTL, or does not keep the one before")
}

// readExpired waits for the end of the expiry that the path itself tells, and reads the key.
func (p *probe) readExpired() {
	v, left := p.peek()
	if left > mostShortTTL || left == rmw.NoTTL && v.Exists() {
		return // compareExpiry has seen it
	}
	for try := 0; !p.void.Load() && v.Exists(); try++ {
		if try > expiryRetries {
			p.other = finding{class: report.TTLDiffers, explain: "a value is read after its expiry"}
			break
		}
		p.wait(nil, left+10*time.Millisecond)
		left = 50 * time.Millisecond
		ctx, cancel := context.WithTimeout(p.ctx, p.cfg.Timeout)
		var err error
		v, err = p.hidden.store.Read(ctx, p.key)
		cancel()
		if err != nil {
			p.void.Store(true)
		}
	}
	p.log = append(p.log, &probed{given: marker(p.key.Kind, "3"), expired: true})
}

// leaks remembers the last updates, for a later count of their goroutines.
type leaks struct {
	label   string
	ended   time.Time
	wait    time.Duration // from ended; doubles, as a profile of all goroutines costs time
	strikes int           // counts in a row with a goroutine for each update
}

const (
	leakUpdates = 16
	leakWait    = 2 * time.Second
	leakLabel   = "unwatch-shadow"
	// maxGoroutines, before the first count, bounds the cost of a profile. A leak may exceed it later.
	maxGoroutines = 10_000
)

// goroutines counts the goroutines that earlier updates have left, by their label, and starts some updates for the next
// count.
func (p *probe) goroutines() {
	l := &p.leaks
	switch {
	case l.label == "" && runtime.NumGoroutine() > maxGoroutines, l.label != "" && time.Since(l.ended) < l.wait:
		p.void.Store(true)
		return
	case l.label != "":
		left := labelled(l.label)
		if l.strikes++; left < leakUpdates {
			l.strikes = 0
		}
		if l.strikes > 1 {
			p.other = finding{
				class: report.ErrorClass, legacy: "ok", candidate: "leak",
				explain: fmt.Sprintf("%d goroutines of %d updates still run after %v", left, leakUpdates, l.wait),
			}
			l.wait = freeTTL // a profile of many goroutines is slow
		}
	}
	l.label, l.wait = p.idOf(p.it), max(leakWait, min(2*l.wait, freeTTL))
	pprof.Do(p.ctx, pprof.Labels(leakLabel, l.label), func(context.Context) {
		for range leakUpdates {
			p.increment()
		}
	})
	l.ended = time.Now()
}

// labelled counts the goroutines with a label, which those that they start inherit.
func labelled(label string) (n int) {
	var text bytes.Buffer
	if pprof.Lookup("goroutine").WriteTo(&text, 1) != nil {
		return 0
	}
	want, count := fmt.Sprintf("%q:%q", leakLabel, label), 0
	for line := range strings.SplitSeq(text.String(), "\n") {
		if number, _, ok := strings.Cut(line, " @ "); ok { // of goroutines with the stack and the labels that follow
			count, _ = strconv.Atoi(number)
		} else if strings.HasPrefix(line, "# labels:") && strings.Contains(line, want) {
			n += count
		}
	}
	return n
}
