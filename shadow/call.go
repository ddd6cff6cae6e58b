package shadow

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/report"
)

// call is one call of the serving path, as it was captured. It holds values, which never
// change, and none of the caller's variables.
type call struct {
	key  rmw.Key
	hash uint64 // of the key's name
	op   *operation
	id   uint64 // one of this Store's
	read bool

	old, next rmw.Value // what fn was given and returned; of a read, both are what was read
	written   bool
	err       error // a refusal: fn's own

	fn   rmw.UpdateFunc // of a pure operation
	seed *seed

	at      time.Duration // when it had ended, by the Store's epoch
	ended   time.Time     // the same; of no use before the dispatcher has it
	clocked bool          // took is known
	took    time.Duration // by the path: what fn has taken is left out, as a playback has none of it
	inFn    time.Duration // by the last run of fn, if clocked
	bytes   int64
}

// refused reports whether fn itself said no.
func (c *call) refused() bool { return c.err != nil }

// outcome is what the serving path answered, in a word.
func (c *call) outcome() string {
	switch {
	case c.read:
		return "read"
	case c.refused():
		return codeOf(c.err)
	case !c.written:
		return "no-op"
	}
	return "ok"
}

// codeOf is a stable name for a refusal: its Code, if it has one.
func codeOf(err error) string {
	if coded, ok := errors.AsType[interface {
		error
		Code() string
	}](err); ok {
		return coded.Code()
	}
	return "refused"
}

// recorder stands between a path and fn, and remembers the last run.
type recorder struct {
	fn       rmw.UpdateFunc
	seed     *seed
	old      rmw.Value
	next     rmw.Value
	err      error
	epoch    *time.Time     // nil: what fn takes is of no interest
	took     time.Duration  // by fn, in all its runs
	last     time.Duration  // by fn, in its last run
	observed rmw.UpdateFunc // the method run, bound once
}

func (r *recorder) run(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
	if r.seed != nil {
		ctx = r.seed.withEnv(ctx)
	}
	var began time.Duration
	if r.epoch != nil {
		began = time.Since(*r.epoch)
	}
	next, err := r.fn(ctx, cur)
	if r.epoch != nil {
		r.last = time.Since(*r.epoch) - began
		r.took += r.last
	}
	r.old, r.next, r.err = cur, next, err
	return next, err
}

// recorders are used again, so that recording allocates nothing.
type recorders struct{ pool sync.Pool }

func newRecorders() *recorders {
	return &recorders{sync.Pool{New: func() any {
		r := &recorder{}
		r.observed = r.run
		return r
	}}}
}

func (p *recorders) get() *recorder { return p.pool.Get().(*recorder) }

func (p *recorders) put(r *recorder) {
	*r = recorder{observed: r.observed}
	p.pool.Put(r)
}

// verdictOf tells what a failure of the serving path means for the comparison; "" if it
// did not fail, or if it was fn that refused.
func verdictOf(err, own error) report.Reason {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, rmw.ErrOutcomeUnknown):
		return report.PrimaryIndeterminate
	case own != nil && isOutage(own):
		return report.PrimaryFailed // fn had no time, or no store, to say anything else
	case own != nil && passesOn(err, own):
		return ""
	}
	return report.PrimaryFailed
}

// passesOn reports whether a path has returned fn's own error. Of some, errors.Is cannot
// tell, and panics: structs that hold what does not compare. They are of the same type, at
// least.
func passesOn(err, own error) (same bool) {
	defer func() {
		if recover() != nil {
			same = true
		}
	}()
	return errors.Is(err, own)
}
