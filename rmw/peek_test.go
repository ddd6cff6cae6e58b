package rmw_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

func TestTypedPeek(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := rmwtest.NewMemory()
		key := rmw.Key{Name: "k", TTL: time.Hour}
		names := rmw.NewTyped(rmw.Chain(m, rmw.Log(slog.New(slog.DiscardHandler))), rmw.JSON[[]string]())
		value, left, err := names.Peek(t.Context(), key)
		require.NoError(t, err)
		assert.Zero(t, left)
		assert.Nil(t, value)
		_, _, err = names.Edit(t.Context(), key, func(_ context.Context, value *[]string, _ bool) error {
			*value = []string{"ada"}
			return nil
		})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		value, left, err = names.Peek(t.Context(), key)
		require.NoError(t, err)
		assert.Equal(t, []string{"ada"}, value)
		assert.Equal(t, 59*time.Minute, left)
		require.NoError(t, m.Set(t.Context(), "k", rmw.String("{"), rmw.NoTTL))
		_, left, err = names.Peek(t.Context(), key)
		require.ErrorIs(t, err, rmw.ErrUndecodable)
		assert.Equal(t, time.Duration(rmw.NoTTL), left)
		_, _, err = rmw.NewTyped(opaque{m}, rmw.JSON[[]string]()).Peek(t.Context(), key)
		require.ErrorIs(t, err, rmw.ErrUnsupported)
	})
}
