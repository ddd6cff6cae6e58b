package rmw_test

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// tagged is a Store that notes when a call passes it.
type tagged struct {
	rmw.Store
	name string
	log  *[]string
}

func (s tagged) Unwrap() rmw.Store { return s.Store }

func (s tagged) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	*s.log = append(*s.log, s.name+" begins")
	defer func() { *s.log = append(*s.log, s.name+" ends") }()
	return s.Store.Update(ctx, key, fn)
}

func tag(name string, log *[]string) rmw.Middleware {
	return func(next rmw.Store) rmw.Store { return tagged{next, name, log} }
}

// closable is a Store with one more ability.
type closable struct {
	tagged
	closed *bool
}

func (s closable) Close() error { *s.closed = true; return nil }

// opaque is a middleware whose author forgot Unwrap.
type opaque struct{ rmw.Store }

func TestChainFirstIsOutermost(t *testing.T) {
	var log []string
	store := rmw.Chain(rmwtest.NewMemory(), tag("first", &log), tag("second", &log), tag("third", &log))
	_, err := store.Update(t.Context(), rmw.Key{Name: "k"}, func(context.Context, rmw.Value) (rmw.Value, error) {
		log = append(log, "fn")
		return rmw.String("x"), nil
	})
	require.NoError(t, err)
	assert.Equal(t, []string{
		"first begins", "second begins", "third begins", "fn", "third ends", "second ends", "first ends",
	}, log)
}

func TestAsFindsTheOutermost(t *testing.T) {
	m := rmwtest.NewMemory()
	var log []string
	store := rmw.Chain(m, rmw.Observe(func(context.Context, rmw.Event) {}), tag("outer", &log), tag("inner", &log))

	found, ok := rmw.As[tagged](store)
	require.True(t, ok)
	assert.Equal(t, "outer", found.name)

	memory, ok := rmw.As[*rmwtest.Memory](store)
	require.True(t, ok, "sees through Observe, too")
	assert.Same(t, m, memory)
}

func TestAsFindsInterfaces(t *testing.T) {
	var log []string
	closed := false
	inner := closable{tagged{rmwtest.NewMemory(), "closable", &log}, &closed}
	store := rmw.Chain(inner, tag("outer", &log), rmw.Observe(func(context.Context, rmw.Event) {}))

	c, ok := rmw.As[io.Closer](store)
	require.True(t, ok)
	require.NoError(t, c.Close())
	assert.True(t, closed)

	_, ok = rmw.As[fmt.Stringer](store)
	assert.False(t, ok)
	_, ok = rmw.As[rmw.Store](store)
	assert.True(t, ok)
}

func TestAsEndsWhereItCannotSeeThrough(t *testing.T) {
	for name, store := range map[string]rmw.Store{
		"nil":           nil,
		"not unwrapper": opaque{rmwtest.NewMemory()},
		"unwraps nil":   tagged{name: "around nothing"},
	} {
		m, ok := rmw.As[*rmwtest.Memory](store)
		assert.False(t, ok, name)
		assert.Nil(t, m, name)
	}
}
