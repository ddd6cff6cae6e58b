package paths_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/paths"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// The Stores of a Target share the storage; Targets share nothing.
func TestEach(t *testing.T) {
	var seen []string
	paths.Each(t, func(t *testing.T, target rmwtest.Target) {
		seen = append(seen, t.Name())
		key := rmw.Key{Name: "k"}
		v, err := target.Open().Read(t.Context(), key)
		require.NoError(t, err)
		assert.False(t, v.Exists())
		_, err = target.Open().Update(t.Context(), key, func(context.Context, rmw.Value) (rmw.Value, error) {
			return rmw.String("v"), nil
		})
		require.NoError(t, err)
		v, err = target.Open().Read(t.Context(), key)
		require.NoError(t, err)
		assert.Equal(t, "v", v.Text())
	})
	assert.Len(t, seen, 5)
}
