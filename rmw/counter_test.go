package rmw_test

import (
	"errors"
	"math"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

func TestAddCountsEachCall(t *testing.T) {
	store, key := rmwtest.NewMemory(), rmw.Key{Name: "n", Kind: rmw.KindHash} // Add sets the kind
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			_, err := rmw.Add(t.Context(), store, key, 3)
			assert.NoError(t, err)
		})
	}
	all.Wait()
	sum, err := rmw.Add(t.Context(), store, key, -1)
	require.NoError(t, err)
	assert.EqualValues(t, 149, sum)
}

func TestAddRefusesAsINCRBYDoes(t *testing.T) {
	for _, tc := range []struct {
		text  string
		delta int64
		want  error
	}{
		{"1.5", 1, rmw.ErrUndecodable},
		{"", 1, rmw.ErrUndecodable},
		{"+5", 1, rmw.ErrUndecodable},
		{"007", 1, rmw.ErrUndecodable},
		{"9223372036854775808", 0, rmw.ErrUndecodable},
		{strconv.FormatInt(math.MaxInt64, 10), 1, rmw.ErrInvalid},
		{strconv.FormatInt(math.MinInt64, 10), -1, rmw.ErrInvalid},
		{"-1", math.MinInt64, rmw.ErrInvalid},
		{"-1", math.MaxInt64, nil},
		{"0", math.MinInt64, nil},
	} {
		store, key := rmwtest.NewMemory(), rmw.Key{Name: "n"}
		require.NoError(t, store.Set(t.Context(), "n", rmw.String(tc.text), rmw.NoTTL))
		_, err := rmw.Add(t.Context(), store, key, tc.delta)
		assert.True(t, errors.Is(err, tc.want), "%q + %d: %v", tc.text, tc.delta, err)
		if tc.want != nil {
			assert.NotContains(t, err.Error(), "007")
			v, err := store.Read(t.Context(), key)
			require.NoError(t, err)
			assert.Equal(t, tc.text, v.Text())
		}
	}
}
