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
	"github.com/unwatch/unwatch/rmw"
)

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

		f := newFixture(t, tc.cfg)
		_, err = f.store.Read(t.Context(), rmw.Key{Name: "k"})
		require.ErrorIs(t, err, rmw.ErrInvalid, name)
		assert.ErrorContains(t, err, tc.says, name)
		_, err = f.store.Update(t.Context(), rmw.Key{Name: "k"}, appendText("x"))
		require.ErrorIs(t, err, rmw.ErrInvalid, name)
		assert.Empty(t, f.commands(), name)
	}
}

func TestNewWithoutAClientSaysSo(t *testing.T) {
	for _, rdb := range []redis.UniversalClient{nil, (*redis.Client)(nil)} {
		s := cas.New(rdb, cas.Config{MaxAttempts: -1})
		_, err := s.Read(t.Context(), rmw.Key{Name: "k"})
		require.ErrorIs(t, err, rmw.ErrInvalid)
		assert.ErrorContains(t, err, "cas.New needs a client, not nil")
		_, err = s.Update(t.Context(), rmw.Key{Name: "k"}, appendText("x"))
		require.ErrorIs(t, err, rmw.ErrInvalid)
		require.NoError(t, s.Close())
	}
}

func TestNewRefusesFullDuplex(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for full, want := range map[bool]error{true: rmw.ErrInvalid, false: context.Canceled} {
		rdb := redis.NewClient(&redis.Options{})
		auto, err := rdb.AutoPipelineWithOptions(&redis.AutoPipelineOptions{FullDuplex: full})
		require.NoError(t, err)
		s := cas.New(auto, cas.Config{})
		_, err = s.Update(ctx, rmw.Key{Name: "k"}, appendText("x"))
		require.ErrorIs(t, err, want)
		if full {
			require.ErrorContains(t, err, "cas.New cannot use an AutoPipeliner with FullDuplex")
		}
		require.NoError(t, s.Close())
		require.NoError(t, rdb.Close())
	}
}
