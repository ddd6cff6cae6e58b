package shadow

import (
	"context"
	crand "crypto/rand"
	"encoding/base32"
	"math/rand/v2"
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
	id   uint64 // unique in this Store; 0 for a finding about a key
	read bool

	old, next rmw.Value // given to and returned by fn; for a read, both are the value read
	written   bool
	err       error // fn's own: a refusal

	fn   rmw.UpdateFunc // of a pure operation
	seed *seed

	at      time.Duration // the end of the call, since Store.epoch
	ended   time.Time     // the same; set by the dispatcher
	clocked bool          // took is known
	took    time.Duration // by the path, without fn: a playback does not spend that time
	inFn    time.Duration // in the last run of fn, if clocked
	bytes   int64

	concerned int32 // comparators that compare it
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

// Env is the time, the ids and the random numbers of an operation. An operation that takes
// them from its Env only returns the same result when it runs again. All runs of fn in one
// Update have the same Env. It is not safe for concurrent use.
type Env struct {
	now    time.Time
	source *rand.ChaCha8
}

// seed creates equal Envs.
type seed struct {
	now   time.Time
	bytes [32]byte
}

func newSeed() seed {
	s := seed{now: time.Now()}
	_, _ = crand.Read(s.bytes[:]) // never fails
	return s
}

func (s seed) env() *Env { return &Env{now: s.now, source: rand.NewChaCha8(s.bytes)} }

// Now returns the time of the operation.
func (e *Env) Now() time.Time { return e.now }

// NewID returns a new id of 26 letters and digits, with 128 random bits.
func (e *Env) NewID() string {
	var b [16]byte
	_, _ = e.source.Read(b[:]) // never fails
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:])
}

// Rand returns a source of random numbers. Do not use it for secrets.
func (e *Env) Rand() *rand.Rand { return rand.New(e.source) }

type envKey struct{}

// EnvOf returns the Env of the operation that fn runs for. Without a [Store], and for an
// operation that is not listed in [Config.Pure], each call returns a new Env: call EnvOf
// once in each run of fn.
func EnvOf(ctx context.Context) *Env {
	if e, ok := ctx.Value(envKey{}).(*Env); ok {
		return e
	}
	return newSeed().env()
}

// withEnv returns the context of one run of fn.
func (s *seed) withEnv(ctx context.Context) context.Context {
	return context.WithValue(ctx, envKey{}, s.env())
}
