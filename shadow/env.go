package shadow

import (
	"context"
	crand "crypto/rand"
	"encoding/base32"
	"math/rand/v2"
	"time"
)

// Env is what an operation takes from the world besides its input. One that takes it
// from here only can be run again, and returns the same. It is drawn once for each
// Update, however often fn runs, and is for the goroutine that runs fn.
type Env struct {
	now    time.Time
	source *rand.ChaCha8
}

// seed makes the same Env again.
type seed struct {
	now   time.Time
	bytes [32]byte
}

func newSeed() seed {
	s := seed{now: time.Now()}
	_, _ = crand.Read(s.bytes[:]) // it never fails
	return s
}

func (s seed) env() *Env { return &Env{now: s.now, source: rand.NewChaCha8(s.bytes)} }

// Now returns when the operation happens.
func (e *Env) Now() time.Time { return e.now }

// NewID returns an id of 26 letters and digits, with 128 bits of chance. Each call
// returns another one.
func (e *Env) NewID() string {
	var b [16]byte
	_, _ = e.source.Read(b[:]) // it never fails
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:])
}

// Rand returns a source of chance. It is not for secrets that must outlive the report.
func (e *Env) Rand() *rand.Rand { return rand.New(e.source) }

type envKey struct{}

// EnvOf returns the Env of the operation that fn is called for. Outside of a [Store],
// or for an operation that is not registered in [Config.Pure], it returns a new one, so
// that the same fn works there, too: take it once.
func EnvOf(ctx context.Context) *Env {
	if e, ok := ctx.Value(envKey{}).(*Env); ok {
		return e
	}
	return newSeed().env()
}

// withEnv gives one run of fn its Env.
func (s *seed) withEnv(ctx context.Context) context.Context {
	return context.WithValue(ctx, envKey{}, s.env())
}
