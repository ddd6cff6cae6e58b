package shadow

import (
	"context"
	crand "crypto/rand"
	"encoding/base32"
	"math/rand/v2"
	"time"
)

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
