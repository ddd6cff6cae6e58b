package holder

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/rmw"
)

// writes returns a call whose fn returned text, or wrote nothing if text is "-".
func writes(text string, ttl time.Duration) *Call {
	c := &Call{}
	if text == "-" {
		return c
	}
	c.wrote, c.ttl = true, ttl
	if text != "" {
		c.after = rmw.String(text)
	}
	return c
}

// A batch writes the same value as its calls one by one.
func TestBatchWritesWhatItsCallsLeave(t *testing.T) {
	const m = time.Minute
	none := rmw.Value{}
	for name, tc := range map[string]struct {
		base    rmw.Value
		calls   []*Call
		value   rmw.Value
		ttl     time.Duration
		changes bool
	}{
		"nothing":          {rmw.String("a"), []*Call{writes("-", 0)}, rmw.String("a"), 0, false},
		"keeps the expiry": {rmw.String("a"), []*Call{writes("b", 0), writes("c", 0)}, rmw.String("c"), 0, true},
		"the last that sets it": {
			rmw.String("a"), []*Call{writes("b", m), writes("c", rmw.NoTTL), writes("d", 0)}, rmw.String("d"), rmw.NoTTL, true,
		},
		"only the expiry":       {rmw.String("a"), []*Call{writes("a", m)}, rmw.String("a"), m, true},
		"and back":              {rmw.String("a"), []*Call{writes("b", 0), writes("a", 0)}, rmw.String("a"), 0, false},
		"deleted":               {rmw.String("a"), []*Call{writes("b", m), writes("", 0)}, none, 0, true},
		"recreated":             {rmw.String("a"), []*Call{writes("", 0), writes("a", 0)}, rmw.String("a"), rmw.NoTTL, true},
		"recreated with expiry": {rmw.String("a"), []*Call{writes("", 0), writes("a", m)}, rmw.String("a"), m, true},
		"created":               {none, []*Call{writes("a", 0)}, rmw.String("a"), rmw.NoTTL, true},
		"created and deleted":   {none, []*Call{writes("a", m), writes("", 0)}, none, 0, false},
	} {
		b := newBatch(tc.base)
		for _, c := range tc.calls {
			b.add(c)
		}
		assert.True(t, tc.value.Equal(b.value), name)
		assert.Equal(t, tc.ttl, b.ttl, name)
		assert.Equal(t, tc.changes, b.changes(), name)
		assert.Len(t, b.calls, len(tc.calls))
		r := b.request(rmw.Key{Name: "k"})
		assert.True(t, r.Base.Equal(tc.base) && r.Next.Equal(tc.value) && r.TTL == tc.ttl, name)
	}
}

// A batch that writes nothing may rely on an earlier read only if every call had arrived by
// then.
func TestBatchKnownSince(t *testing.T) {
	b := newBatch(rmw.String("a"))
	b.add(&Call{seq: 1})
	b.add(&Call{seq: 3})
	assert.True(t, b.knownSince(4))
	assert.False(t, b.knownSince(2))
}

// A failed commit answers the calls that wrote, or all calls if the batch only verified its value.
func TestBatchFails(t *testing.T) {
	start := func(c *Call) *Call {
		c.queues, c.ctx, c.wake, c.state = &Queues{}, t.Context(), make(chan struct{}, 1), returned
		return c
	}
	b := newBatch(rmw.String("a"))
	for _, c := range []*Call{writes("b", 0), writes("-", 0), writes("c", 0)} {
		b.add(start(c))
	}
	assert.Equal(t, b.calls[1:2], b.failLocked(rmw.ErrUnavailable))
	assert.Equal(t, []state{answered, returned, answered}, []state{b.calls[0].state, b.calls[1].state, b.calls[2].state})
	b = newBatch(rmw.String("a"))
	for _, c := range []*Call{writes("-", 0), writes("-", 0)} {
		b.add(start(c))
	}
	assert.Empty(t, b.failLocked(rmw.ErrUnavailable))
	for _, c := range b.calls {
		assert.ErrorIs(t, c.err, rmw.ErrUnavailable)
	}
}
