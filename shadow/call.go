package shadow

import (
	"context"
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// call is a recorded call of the serving path. It holds values, which never change, and
// none of the caller's variables.
type call struct {
	key  rmw.Key
	hash uint64 // of the key's name
	op   *operation
	id   uint64 // unique in this Store
	read bool

	old, next rmw.Value // given to and returned by fn; for a read, both are the value read
	written   bool
	err       error // fn's own: a refusal

	fn      rmw.UpdateFunc // of a pure operation
	seed    *seed
	several *several // of an update of several keys, of which key is the first; old and next are its parts' then

	at      time.Duration // the end of the call, since Store.epoch
	ended   time.Time     // the same; set by the dispatcher
	clocked bool          // took is known
	took    time.Duration // by the path, without fn: a playback does not spend that time
	inFn    time.Duration // in the last run of fn, if clocked
	bytes   int64

	concerned int32 // comparators that compare it
}

// size is about the memory of a call.
func (c *call) size() int64 {
	n := c.old.ApproxSize() + c.next.ApproxSize() + len(c.key.Name)
	if c.several != nil {
		for _, change := range c.several.changes {
			n += change.Before.ApproxSize() + change.After.ApproxSize() + len(change.Key.Name)
		}
	}
	return int64(n)
}

func (c *call) refused() bool { return c.err != nil }

// outcome is the serving path's answer in a word.
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

// recorder runs fn for a path and keeps the last run in its call.
type recorder struct {
	call
	observed rmw.UpdateFunc // by run, which is bound once
	epoch    time.Time      // of the clock
	inFns    time.Duration  // in all runs of fn, if clocked
	run      rmw.UpdateFunc // the method record
}

func (r *recorder) record(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
	if r.seed != nil {
		ctx = r.seed.withEnv(ctx)
	}
	var began time.Duration
	if r.clocked {
		began = time.Since(r.epoch)
	}
	next, err := r.observed(ctx, cur)
	if r.clocked {
		r.inFn = time.Since(r.epoch) - began
		r.inFns += r.inFn
	}
	r.old, r.next, r.err = cur, next, err
	return next, err
}

// recorders are reused, so that recording allocates nothing.
var recorders = sync.Pool{New: func() any {
	r := &recorder{}
	r.run = r.record
	return r
}}

func (r *recorder) free() {
	*r = recorder{run: r.run}
	recorders.Put(r)
}
