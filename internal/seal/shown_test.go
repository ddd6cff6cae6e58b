package seal_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/rmw"
)

// script answers calls one after the other.
type scripted []any

func (s *scripted) Send(_ context.Context, calls ...*seal.Call) error {
	for _, c := range calls {
		c.Reply, *s = (*s)[0], (*s)[1:]
	}
	return nil
}

// A writer that met the seal as well has aborted the update after its decision was forgotten: that tombstone tells nothing.
func TestShownAfterForget(t *testing.T) {
	s := &scripted{
		[]any{"tx", "x", seal.DecisionPrefix + "{k}", "string", int64(-1), "before"}, // committed already, and then opened and forgotten
		seal.Aborted, // by the writer
		[]any{"open", "string"},
	}
	v, open, err := seal.Shown(t.Context(), s, rmw.Key{Name: "k"})
	require.NoError(t, err)
	assert.True(t, open, "shows %q, which the key did not hold when the read began", v.Text())
}

// A new value that keeps the expiry of the old one ends with it, as when the key is opened then.
func TestShownAfterItsExpiry(t *testing.T) {
	for ttl, want := range map[time.Duration]string{0: "", rmw.NoTTL: "new", time.Hour: "new"} {
		s := &scripted{
			[]any{"tx", "x", seal.DecisionPrefix + "{k}", "string", int64(0), "before"},
			seal.Committed([]seal.Next{{Key: "k", Nonce: "x", Value: rmw.String("new"), TTL: ttl}}),
		}
		v, open, err := seal.Shown(t.Context(), s, rmw.Key{Name: "k"})
		require.NoError(t, err)
		assert.False(t, open)
		assert.Equal(t, want, v.Text(), ttl)
	}
}
