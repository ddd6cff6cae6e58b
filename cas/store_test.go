package cas_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// assertInvalid requires the Store to refuse every call, and says why.
func assertInvalid(t *testing.T, s *cas.Store, says string) {
	t.Helper()
	for _, err := range callAll(t, s) {
		require.ErrorIs(t, err, rmw.ErrInvalid, says)
		assert.ErrorContains(t, err, says)
	}
	require.NoError(t, s.Close())
}

func TestConfigValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		cfg  cas.Config
		says string // "" means valid
	}{
		"zero":             {},
		"one attempt":      {cfg: cas.Config{MaxAttempts: 1}},
		"many attempts":    {cfg: cas.Config{MaxAttempts: math.MaxInt}},
		"backoff":          {cfg: cas.Config{Backoff: rmw.Backoff{Base: 1, Max: math.MaxInt64}}},
		"no ceiling":       {cfg: cas.Config{Backoff: rmw.Backoff{Base: time.Second}}},
		"negative attempt": {cas.Config{MaxAttempts: -1}, "cas.Config.MaxAttempts is -1"},
		"negative base":    {cas.Config{Backoff: rmw.Backoff{Base: -1}}, "cas.Config.Backoff is {Base:-1ns Max:0s}"},
		"negative max":     {cas.Config{Backoff: rmw.Backoff{Max: -1}}, "cas.Config.Backoff is {Base:0s Max:-1ns}"},
	} {
		err := tc.cfg.Validate()
		if tc.says == "" {
			assert.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, rmw.ErrInvalid, name)
		assert.ErrorContains(t, err, tc.says, name)
		f := newFixture(t, proxycompat.Redis(), tc.cfg)
		assertInvalid(t, f.store, tc.says)
		assert.Empty(t, f.commands(), name)
	}
}

func TestNewWithoutAClientSaysSo(t *testing.T) {
	for _, rdb := range []redis.UniversalClient{nil, (*redis.Client)(nil)} {
		assertInvalid(t, cas.New(rdb, cas.Config{MaxAttempts: -1}), "cas.New needs a client, not nil")
	}
}

func TestNewRefusesUnfitClients(t *testing.T) {
	pipeliner := func(full bool) *redis.AutoPipeliner {
		rdb := redis.NewClient(&redis.Options{})
		t.Cleanup(func() { require.NoError(t, rdb.Close()) })
		auto, err := rdb.AutoPipelineWithOptions(&redis.AutoPipelineOptions{FullDuplex: full})
		require.NoError(t, err)
		return auto
	}
	assertInvalid(t, cas.New(pipeliner(true), cas.Config{}), "cas.New cannot use an AutoPipeliner with FullDuplex")
	ring := redis.NewRing(&redis.RingOptions{})
	t.Cleanup(func() { require.NoError(t, ring.Close()) })
	assertInvalid(t, cas.New(ring, cas.Config{}), "cas.New cannot use a redis.Ring")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := cas.New(pipeliner(false), cas.Config{})
	_, err := s.Update(ctx, key, appendText("x"))
	require.ErrorIs(t, err, context.Canceled, "not refused")
	require.NoError(t, s.Close())
}

func TestClosedStoreRefuses(t *testing.T) {
	withFixture(cas.Config{}, func(t *testing.T, f *fixture) {
		f.warm()
		require.NoError(t, f.store.Close())
		require.NoError(t, f.store.Close(), "again")
		for _, err := range callAll(t, f.store) {
			require.ErrorIs(t, err, rmw.ErrClosed)
			assert.False(t, rmw.Retryable(err))
		}
		assert.Empty(t, f.commands(), "nothing is sent")
		require.NoError(t, f.rdb.Ping(t.Context()).Err(), "the client is not the Store's to close")
	})(t)
}

// A call that was given up still has a command on its way: Close waits for it, so
// that the client may be closed after it.
func TestCloseWaitsForBackgroundWork(t *testing.T) {
	withFixture(cas.Config{}, func(t *testing.T, f *fixture) {
		f.warm()
		f.proxy.Inject(proxytest.Fault{Command: "GET", Action: proxytest.Delay, Delay: 3 * time.Second, Times: -1})
		for _, call := range []func(ctx context.Context) error{
			func(ctx context.Context) error { _, err := f.store.Read(ctx, key); return err },
			func(ctx context.Context) error { _, err := f.store.Update(ctx, key, appendText("x")); return err },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			began := time.Now()
			err := call(ctx)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.NotErrorIs(t, err, rmw.ErrOutcomeUnknown)
			assert.Equal(t, time.Second, time.Since(began), "the caller is let go at once")
		}
		began := time.Now()
		require.NoError(t, f.store.Close())
		assert.Equal(t, 2*time.Second, time.Since(began), "until the last GET is answered, and its key unwatched")
		commands := f.commands()
		assert.Equal(t, "UNWATCH", commands[len(commands)-1])
	})(t)
}
