package shadow

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/internal/keyhash"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/report"
)

// Store is an [rmw.Store] that answers from one path and compares it with another in
// the background. It is safe for concurrent use. Close ends its goroutines, and does not
// close the two paths.
type Store struct {
	cfg     Config
	invalid error // of Config.Validate: nothing is compared
	serving rmw.Store
	hidden  rmw.Store

	counters *counters
	engine   *engine

	epoch  time.Time     // of call.at
	share  atomic.Uint32 // set last; see shareNow
	killed atomic.Bool
	ids    atomic.Uint64
	reads  atomic.Uint64
}

// buckets is the resolution of Config.Percent.
const buckets = 10_000

// New returns a Store that serves from legacy and compares it with candidate. It starts no
// goroutine before the first call is sampled.
func New(legacy, candidate rmw.Store, cfg Config) *Store {
	s := &Store{serving: legacy, hidden: candidate, epoch: time.Now()}
	if s.invalid = cfg.Validate(); s.invalid != nil {
		cfg = Config{Name: cfg.Name, Process: cfg.Process, Build: cfg.Build, Off: true}
	}
	s.cfg = cfg.withDefaults()
	s.counters = newCounters(s.cfg)
	s.engine = newEngine(s)
	if !s.cfg.Off {
		s.share.Store(shareOf(s.cfg.Percent))
	}
	return s
}

var _ rmw.Transactor = (*Store)(nil)

// Unwrap returns the serving path.
func (s *Store) Unwrap() rmw.Store { return s.serving }

// shareOf rounds a percentage to buckets, but not to none.
func shareOf(percent float64) uint32 {
	share := uint32(math.Round(percent * buckets / 100))
	if percent > 0 {
		share = max(share, 1)
	}
	return share
}

// SetPercent changes the share of the keys in the shadow, from 0 to 100; the report shows
// why. When the share grows, the keys that were in the shadow stay in it.
func (s *Store) SetPercent(percent float64, why string) error {
	switch {
	case s.invalid != nil:
		return s.invalid
	case !(percent >= 0 && percent <= 100):
		return fmt.Errorf("%w: %v percent; use 0 to 100", rmw.ErrInvalid, percent)
	case s.killed.Load():
		return fmt.Errorf("%w: the shadow was killed; restart the process to start it again", rmw.ErrClosed)
	case s.engine.closed.Load():
		return fmt.Errorf("%w: the shadow was closed; create a new Store to compare calls again", rmw.ErrClosed)
	}
	s.share.Store(shareOf(percent))
	s.counters.locked(func(*report.Health) {
		s.counters.markLocked(fmt.Sprintf("%v %% of the keys", percent), why)
		s.counters.peak, s.counters.switched = report.Peak{}, time.Now() // the busiest minute had another share
	})
	return nil
}

// Kill switches the shadow off for good: it samples no more calls, drops the queued ones
// and cancels those of the hidden path. It returns at once and contacts no store. The
// Store goes on serving.
func (s *Store) Kill(why string) {
	if s.killed.Swap(true) {
		return
	}
	s.counters.locked(func(*report.Health) { s.counters.markLocked("killed", why) })
	s.engine.kill()
}

// Read implements [rmw.Reader] on the serving path.
func (s *Store) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	hash, sampled := s.sample(key.Name)
	if !sampled || !s.sampleRead() {
		return s.serving.Read(ctx, key)
	}
	began := time.Since(s.epoch)
	v, err := s.serving.Read(ctx, key)
	c := call{
		key: key, hash: hash, op: s.counters.operation(key.Label, operationName(ctx, "read")), id: s.ids.Add(1), read: true,
		old: v, next: v, at: time.Since(s.epoch), clocked: true,
	}
	c.took = c.at - began
	s.engine.record(&c, servingFailure(err, nil), err)
	return v, err
}

// Update implements [rmw.Updater] on the serving path. Unless the operation is listed in
// [Config.Pure], fn runs there only.
func (s *Store) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	hash, sampled := s.sample(key.Name)
	if !sampled || fn == nil {
		return s.serving.Update(ctx, key, fn)
	}
	r := recorders.Get().(*recorder)
	c := &r.call
	c.key, c.hash, c.id = key, hash, s.ids.Add(1)
	c.op = s.counters.operation(key.Label, operationName(ctx, "update"))
	c.clocked = clocked(c.id)
	r.observed, r.epoch = fn, s.epoch
	if c.op.pure {
		drawn := newSeed()
		c.seed, c.fn = &drawn, fn
	}
	began := time.Since(s.epoch) // quicker than time.Now
	res, err := s.serving.Update(ctx, key, r.run)
	c.at, c.written = time.Since(s.epoch), res.Written
	c.took = c.at - began - r.inFns
	if res.Written && key.Kind == rmw.KindHash {
		// A path may guard and write single fields: then it stored other values than fn's.
		c.old, c.next = res.Before, res.After.WithTTL(c.next.TTL())
	}
	why := servingFailure(err, c.err)
	if err == nil {
		c.err = nil
	}
	s.engine.record(c, why, err)
	r.free()
	return res, err
}

// clocked selects the updates to measure: the first 4,096, then one in eight. To leave out
// the time of fn takes two more readings of the clock. The hash keeps the selection from
// following a pattern of the service's calls.
func clocked(id uint64) bool { return id <= 4096 || id*0x9e3779b97f4a7c15>>61 == 0 }

func operationName(ctx context.Context, otherwise string) string {
	if name := rmw.OperationOf(ctx); name != "" {
		return name
	}
	return otherwise
}

// sample reports whether a key is in the shadow.
func (s *Store) sample(name string) (hash uint64, sampled bool) {
	share := s.shareNow()
	if share == 0 {
		return 0, false
	}
	hash = keyhash.Of(name)
	return hash, hash%buckets < uint64(share)
}

// shareNow is the share of the keys in the shadow, in 1/buckets.
func (s *Store) shareNow() uint32 {
	if s.engine.closed.Load() {
		return 0
	}
	return s.share.Load()
}

// sampleRead reports whether a read is compared. Reads are not part of a chain, so single
// ones may be left out.
func (s *Store) sampleRead() bool {
	if s.cfg.Reads <= 0 {
		return false
	}
	const prime = 6_700_417 // spreads the selected reads over all threads
	return float64(s.reads.Add(1)*prime%buckets) < s.cfg.Reads*buckets/100
}

// Drain waits until every call recorded so far is compared, or until ctx ends.
func (s *Store) Drain(ctx context.Context) error { return s.engine.drain(ctx) }

// Handler shows the report as a live page, as text, as JSON and as metrics. Mount it under
// any path:
//
//	mux.Handle("/debug/shadow/", store.Handler())
//
// Prometheus scrapes /debug/shadow/metrics then. See [report.Handler].
//
// Handler answers GET and HEAD only and changes nothing. It shows no value and no name of a
// key unless Config permits it. Do not make it public all the same.
func (s *Store) Handler() http.Handler {
	return report.Handler(func(context.Context) (*report.Report, error) { return s.Report(), nil }, s.cfg.Policy)
}
