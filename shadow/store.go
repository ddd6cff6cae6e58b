package shadow

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/report"
)

// Store is an [rmw.Store] that answers from one path and compares it with another in
// the background. It is safe for concurrent use. Close it to end its goroutines; it does
// not close the two Stores that it was given.
type Store struct {
	cfg     Config
	invalid error // why nothing is compared
	serving rmw.Store
	hidden  rmw.Store

	recorders *recorders
	book      *book
	engine    *engine

	epoch  time.Time     // calls count their time from here
	share  atomic.Uint32 // of the keys that are in the shadow, in 1/buckets
	shares atomic.Int64  // how often that was changed
	killed atomic.Bool
	ids    atomic.Uint64
	reads  atomic.Uint64
}

// buckets is how finely keys are sampled.
const buckets = 10_000

// New returns a Store that serves from legacy, or, with Config.Serve, from candidate,
// and shadows the other. It starts no goroutine before the first call is sampled.
func New(legacy, candidate rmw.Store, cfg Config) *Store {
	s := &Store{serving: legacy, hidden: candidate, recorders: newRecorders(), epoch: time.Now()}
	serve := Legacy
	if cfg.Serve == Candidate {
		serve, s.serving, s.hidden = Candidate, candidate, legacy
	}
	if s.invalid = cfg.Validate(); s.invalid != nil {
		cfg = Config{Name: cfg.Name, Process: cfg.Process, Build: cfg.Build, Serve: serve, Off: true}
	}
	s.cfg = cfg.withDefaults()
	s.book = newBook(s.cfg)
	s.engine = newEngine(s)
	if !s.cfg.Off {
		s.share.Store(shareOf(s.cfg.Percent))
	}
	return s
}

var _ rmw.Store = (*Store)(nil)

// Unwrap returns the path that serves.
func (s *Store) Unwrap() rmw.Store { return s.serving }

// shareOf is none only if that was asked for.
func shareOf(percent float64) uint32 {
	share := uint32(math.Round(percent * buckets / 100))
	if percent > 0 {
		share = max(share, 1)
	}
	return share
}

// SetPercent changes how many of the keys are in the shadow, 0 to 100; why is for the
// report. Keys that were in it stay in it when the share grows.
func (s *Store) SetPercent(percent float64, why string) error {
	switch {
	case s.invalid != nil:
		return s.invalid
	case !(percent >= 0 && percent <= 100):
		return fmt.Errorf("%w: %v percent; use 0 to 100", rmw.ErrInvalid, percent)
	case s.killed.Load():
		return fmt.Errorf("%w: the shadow was killed; restart the process to have it again", rmw.ErrClosed)
	}
	if s.engine.isClosed() {
		return fmt.Errorf("%w: the shadow was closed; it compares nothing any more", rmw.ErrClosed)
	}
	s.share.Store(shareOf(percent))
	s.shares.Add(1)
	if s.engine.isClosed() {
		s.share.Store(0) // somebody has closed or killed it meanwhile
	}
	s.book.mark(fmt.Sprintf("%v %% of the keys", percent), why)
	s.book.newPeak()
	return nil
}

// Kill switches the shadow off for good: nothing is sampled any more, what waits is
// dropped, and what is on its way to the other path ends. It returns at once, and needs
// nothing to work. The Store goes on serving.
func (s *Store) Kill(why string) {
	if s.killed.Swap(true) {
		return
	}
	s.share.Store(0)
	s.book.mark("killed", why)
	s.engine.kill()
	s.share.Store(0) // whatever SetPercent has done meanwhile
}

// Read implements [rmw.Reader]: it answers what the serving path does.
func (s *Store) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	hash, sampled := s.sample(key.Name)
	if !sampled || !s.sampleRead() {
		return s.serving.Read(ctx, key)
	}
	began := time.Since(s.epoch)
	v, err := s.serving.Read(ctx, key)
	c := call{
		key: key, hash: hash, op: s.book.operation(key.Label, operationName(ctx, "read")), id: s.ids.Add(1), read: true,
		old: v, next: v, at: time.Since(s.epoch), clocked: true,
	}
	c.took = c.at - began
	s.engine.record(&c, verdictOf(err, nil), err)
	return v, err
}

// Update implements [rmw.Updater]: it answers what the serving path does, and fn runs
// there only.
func (s *Store) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	hash, sampled := s.sample(key.Name)
	if !sampled || fn == nil {
		return s.serving.Update(ctx, key, fn)
	}
	c := call{key: key, hash: hash, op: s.book.operation(key.Label, operationName(ctx, "update")), id: s.ids.Add(1)}
	r := s.recorders.get()
	r.fn = fn
	if c.clocked = clocked(c.id); c.clocked {
		r.epoch = &s.epoch
	}
	if c.op.pure {
		drawn := newSeed()
		r.seed, c.seed, c.fn = &drawn, &drawn, fn
	}
	began := time.Since(s.epoch) // quicker than time.Now
	res, err := s.serving.Update(ctx, key, r.observed)
	c.at = time.Since(s.epoch)
	c.took, c.inFn = c.at-began-r.took, r.last
	c.old, c.next, c.written = r.old, r.next, res.Written
	if res.Written && key.Kind == rmw.KindHash {
		// A path may guard and write single fields: then it has not stored what fn has seen.
		c.old, c.next = res.Before, res.After.WithTTL(r.next.TTL())
	}
	why := verdictOf(err, r.err)
	if err != nil && why == "" {
		c.err = r.err
	}
	s.recorders.put(r)
	s.engine.record(&c, why, err)
	return res, err
}

// clocked tells whether an update's latency is measured. It takes two more looks at the
// clock to leave out what fn takes, and after the first few thousand calls an eighth of
// them, in no pattern that those of a service could have, is enough to tell.
func clocked(id uint64) bool { return id <= 4096 || id*0x9e3779b97f4a7c15>>61 == 0 }

func operationName(ctx context.Context, otherwise string) string {
	if name := rmw.OperationOf(ctx); name != "" {
		return name
	}
	return otherwise
}

// sample tells whether a key is in the shadow.
func (s *Store) sample(name string) (hash uint64, sampled bool) {
	share := s.share.Load()
	if share == 0 {
		return 0, false
	}
	hash = hashOf(name)
	return hash, hash%buckets < uint64(share)
}

// sampleRead tells whether a read is one of those that are compared. Single reads may
// be left out: they are no part of a chain.
func (s *Store) sampleRead() bool {
	if s.cfg.Reads <= 0 {
		return false
	}
	const prime = 6_700_417 // spreads those that are, among any number of threads
	return float64(s.reads.Add(1)*prime%buckets) < s.cfg.Reads*buckets/100
}

// hashOf is FNV-1a with a final mix, the same in every process.
func hashOf(name string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h ^= uint64(name[i])
		h *= 1099511628211
	}
	h ^= h >> 32
	h *= 0x9fb21c651e98df25
	return h ^ h>>28
}

// Drain waits until every call recorded so far is compared, or ctx ends.
func (s *Store) Drain(ctx context.Context) error { return s.engine.drain(ctx) }

// Close stops the sampling, waits for what was recorded to be compared, for at most
// Config.CloseTimeout, drops the rest, and ends all goroutines. The Store goes on
// serving.
func (s *Store) Close() error {
	s.share.Store(0)
	defer s.share.Store(0) // whatever SetPercent has done meanwhile
	return s.engine.close()
}

// Reset begins to count an operation anew, as its code has changed. A domain is a
// Key.Label, an operation what [rmw.WithOperation] names, or "update" or "read".
func (s *Store) Reset(domain, operation string) { s.book.reset(domain, operation) }

// Report returns what was found so far.
func (s *Store) Report() *report.Report { return s.book.report(s) }
