package lockupdate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/rmw"
)

// writer is an update that wrote text, or nothing at all if that is "-".
func writer(text string, ttl time.Duration) *update {
	if text == "-" {
		return &update{}
	}
	u := &update{wrote: true, ttl: ttl}
	if text != "" {
		u.after = rmw.String(text)
	}
	return u
}

// What a group comes to is what its members, one by one, leave.
func TestGroupComesTo(t *testing.T) {
	const m = time.Minute
	none := rmw.Value{}
	for name, tc := range map[string]struct {
		base    rmw.Value
		members []*update
		value   rmw.Value
		ttl     time.Duration
		changes bool
	}{
		"nothing":          {rmw.String("a"), []*update{writer("-", 0)}, rmw.String("a"), 0, false},
		"keeps the expiry": {rmw.String("a"), []*update{writer("b", 0), writer("c", 0)}, rmw.String("c"), 0, true},
		"the last that sets it": {
			rmw.String("a"), []*update{writer("b", m), writer("c", rmw.NoTTL), writer("d", 0)}, rmw.String("d"), rmw.NoTTL, true,
		},
		"only the expiry":      {rmw.String("a"), []*update{writer("a", m)}, rmw.String("a"), m, true},
		"and back":             {rmw.String("a"), []*update{writer("b", 0), writer("a", 0)}, rmw.String("a"), 0, false},
		"deleted":              {rmw.String("a"), []*update{writer("b", m), writer("", 0)}, none, 0, true},
		"made anew":            {rmw.String("a"), []*update{writer("", 0), writer("a", 0)}, rmw.String("a"), rmw.NoTTL, true},
		"made anew, to expire": {rmw.String("a"), []*update{writer("", 0), writer("a", m)}, rmw.String("a"), m, true},
		"created":              {none, []*update{writer("a", 0)}, rmw.String("a"), rmw.NoTTL, true},
		"created and deleted":  {none, []*update{writer("a", m), writer("", 0)}, none, 0, false},
	} {
		g := newGroup(tc.base)
		for _, u := range tc.members {
			g.add(u)
		}
		assert.True(t, tc.value.Equal(g.value), name)
		assert.Equal(t, tc.ttl, g.ttl, name)
		assert.Equal(t, tc.changes, g.changes(), name)
		assert.Len(t, g.members, len(tc.members))
	}
}

// A group that writes nothing may rest on what was read before only if every member
// had come by then.
func TestGroupKnowsSince(t *testing.T) {
	now := time.Now()
	g := newGroup(rmw.String("a"))
	g.add(&update{arrived: now})
	g.add(&update{arrived: now.Add(time.Second)})
	assert.True(t, g.knownSince(now.Add(2*time.Second)))
	assert.True(t, g.knownSince(now.Add(time.Second)))
	assert.False(t, g.knownSince(now.Add(time.Second/2)))
}

// Of a group whose commit failed, those are told who wrote; of one that only looked,
// everybody.
func TestGroupFails(t *testing.T) {
	fresh := func(u *update) *update {
		u.Store, u.ctx, u.wake, u.phase = &Store{}, t.Context(), make(chan struct{}, 1), returned
		return u
	}
	g := newGroup(rmw.String("a"))
	for _, u := range []*update{writer("b", 0), writer("-", 0), writer("c", 0)} {
		g.add(fresh(u))
	}
	assert.Equal(t, g.members[1:2], g.fail(rmw.ErrUnavailable))
	g = newGroup(rmw.String("a"))
	for _, u := range []*update{writer("-", 0), writer("-", 0)} {
		g.add(fresh(u))
	}
	assert.Empty(t, g.fail(rmw.ErrUnavailable))
	for _, u := range g.members {
		assert.ErrorIs(t, u.err, rmw.ErrUnavailable)
	}
}
