package sealed_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/internal/testing/meter"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/sealed"
)

var background = context.Background()

// rig is a client with the hook, and one without.
type rig struct {
	t     *testing.T
	proxy *proxytest.Proxy
	meter *meter.Meter
	plain *redis.Client
	rdb   *redis.Client
}

func newRig(t *testing.T, profile *proxycompat.Profile) *rig {
	t.Helper()
	engines := 2
	if profile.Server() {
		engines = 1
	}
	p, err := proxytest.Start(proxytest.Config{Profile: profile, Engines: engines, InMemory: true})
	require.NoError(t, err)
	r := &rig{t: t, proxy: p, meter: &meter.Meter{}, plain: redis.NewClient(p.Options())}
	opts := p.Options()
	opts.Dialer = r.meter.Dialer(opts.Dialer)
	r.rdb = redis.NewClient(opts)
	r.rdb.AddHook(sealed.NewHook(r.rdb))
	t.Cleanup(func() {
		require.NoError(t, r.rdb.Close())
		require.NoError(t, r.plain.Close())
		require.NoError(t, p.Close())
	})
	require.ErrorIs(t, r.rdb.Get(background, "warm").Err(), redis.Nil)
	_, err = r.rdb.Pipelined(background, func(pipe redis.Pipeliner) error { return pipe.Del(background, "warm").Err() }) // another pool
	require.NoError(t, err)
	return r
}

// with runs a test in a bubble.
func with(t *testing.T, profile *proxycompat.Profile, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newRig(t, profile)) })
}

const nonce = "unwatch:other:1"

// seal seals a key as another process.
func (r *rig) seal(key rmw.Key) {
	r.t.Helper()
	args := seal.TakeArgs(key, nonce, seal.DecisionKey(key.Name), seal.CheckAll)
	reply, err := r.plain.Eval(background, seal.Take.Source, []string{key.Name}, args...).Slice()
	require.NoError(r.t, err)
	require.Contains(r.t, []any{int64(1), int64(6)}, reply[0])
}

// decide decides the update that has sealed a key.
func (r *rig) decide(key, record string) {
	r.t.Helper()
	require.NoError(r.t, r.plain.HSetNX(background, seal.DecisionKey(key), nonce, record).Err())
}

// open opens a key, with the value that its seal holds or with another one.
func (r *rig) open(n seal.Next) {
	n.Nonce = nonce
	require.NoError(r.t, r.plain.Eval(background, seal.Open.Source, []string{n.Key}, seal.OpenArgs(n)...).Err())
}

// trips returns the round trips of do.
func (r *rig) trips(do func()) int64 {
	before := r.meter.Read()
	do()
	return r.meter.Read().Sub(before).RoundTrips
}

// sleep passes time in a bubble.
func sleep(d time.Duration) { time.Sleep(d) }

// later calls do after d.
func later(d time.Duration, do func()) {
	go func() {
		time.Sleep(d)
		do()
	}()
}
