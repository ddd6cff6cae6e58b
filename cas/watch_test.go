package cas_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/rmw"
)

// odd is a client whose Watch does something else.
type odd struct {
	redis.UniversalClient
	watch func() error
}

func (o odd) Watch(context.Context, func(*redis.Tx) error, ...string) error { return o.watch() }

// go-redis' ClusterClient gives up redirects that way: no error, no call.
func TestWatchThatNeverCalls(t *testing.T) {
	s := cas.New(odd{watch: func() error { return nil }}, cas.Config{})
	_, err := s.Update(context.Background(), rmw.Key{Name: "k"}, to("x"))
	require.ErrorIs(t, err, rmw.ErrUnavailable)
	require.NoError(t, s.Close())
}

// A hook's panic is the caller's, not the process's.
func TestWatchThatPanics(t *testing.T) {
	s := cas.New(odd{watch: func() error { panic("a bug in a hook") }}, cas.Config{})
	assert.PanicsWithValue(t, "a bug in a hook", func() {
		_, _ = s.Update(context.Background(), rmw.Key{Name: "k"}, to("x"))
	})
	require.NoError(t, s.Close())
}

func TestNilFn(t *testing.T) {
	s := cas.New(odd{}, cas.Config{})
	_, err := s.Update(t.Context(), rmw.Key{Name: "k"}, nil)
	require.ErrorIs(t, err, rmw.ErrInvalid)
}

func TestTypedNilClient(t *testing.T) {
	var rdb *redis.Client
	_, err := cas.New(rdb, cas.Config{}).Update(t.Context(), rmw.Key{Name: "k"}, to("x"))
	require.ErrorIs(t, err, rmw.ErrInvalid)
}

func to(text string) rmw.UpdateFunc {
	return func(context.Context, rmw.Value) (rmw.Value, error) { return rmw.String(text), nil }
}
